"""The article's three programs (demos/article): the mixed stack, its !clrstack form, sampling, and what is missing without."""
import os
import pathlib
import re
import subprocess
import unittest

import debuggee_build
import mixstack_dump

RUN = debuggee_build.REPOSITORY / "demos" / "article" / "run"


def walkers():
    """The folder with mixed_walker beside the tested mixstack, or None."""
    binary = mixstack_dump.binary()
    if binary is None:
        return None
    folder = pathlib.Path(binary).resolve().parents[1] / "demos"
    return folder if (folder / "mixed_walker").exists() else None


@unittest.skipUnless(debuggee_build.have_dotnet(), "dotnet is not installed")
class Article(unittest.TestCase):
    def setUp(self):
        if walkers() is None:
            self.skipTest("mixed_walker is not built (target demos)")
        if not (walkers() / "native_walker").exists():
            self.skipTest("native_walker is not built: libdw-dev is not installed")

    def test_shows_the_whole_stack_and_what_others_miss(self):
        done = subprocess.run([RUN], env=dict(os.environ, WALKERS=str(walkers())), capture_output=True, text=True,
                              timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = dict(zip(("target", "own", "native", "mixed", "clrstack", "sampled", "end"), done.stdout.split("== ")[1:]))
        expected = ["mixed_read_line", "MixedTarget.Adder<long>.AddA(int)", "MixedTarget.Adder<long>.Add(int, int)",
                    "MixedTarget.ManagedLib.AddAB(int, int)", "mixed_lib::add_abc(", "mixed_lib::add_abcd(",
                    "MixedTarget.ManagedLib.AddABCDE(ReadOnlySpan<int>)",
                    "MixedTarget.ManagedLib.AddABCDEF(ReadOnlySpan<int>)", "MixedTarget.ManagedLib.AddAll(int*, int)",
                    "native_add_all(", "mixed_target!main", "_start"]
        lines = iter(parts["mixed"].splitlines())
        for name in expected:
            self.assertTrue(any(name in line for line in lines), f"{name} is missing or out of order:\n{parts['mixed']}")
        self.assertNotIn("goes on", parts["mixed"])
        self.assertRegex(parts["mixed"].splitlines()[1], r"^Process \d+: managed, CLR \d+\.\d+\.\d+$")
        self.check_own_view(parts["own"], parts["mixed"])
        self.assertIn("??", parts["native"])
        self.assertNotIn("AddABCDE", parts["native"])
        self.assertIn("[InlinedCallFrame: ", parts["clrstack"])
        self.assertIn("MixedTarget.Adder<long>.AddA(int)", parts["clrstack"])
        self.assertIn("10  MixedTarget.Adder<long>.AddA(int)", parts["sampled"])
        self.assertIn("sum 29", parts["end"])

    def check_own_view(self, own, mixed):
        """Every method that the runtime itself names, in its order, and what glibc sees before managed code begins.
        The runtime lists inlined P/Invokes, too, which are no frames (of `Native`)."""
        managed, native = own.split("-- native (backtrace):")
        methods = re.findall(r"^MixedTarget\.(?!Native\b)(?:\w+)(?:`1\[[^]]*\])?\.(\w+)$", managed, re.MULTILINE)
        self.assertEqual(methods[0:2], ["AddA", "Add"])
        self.assertEqual(methods[-1], "AddAll")
        ours = re.findall(r"^MixedTarget\.[^(]*\.(\w+)\(", mixed, re.MULTILINE)
        self.assertEqual(ours, methods)
        self.assertIn("mixed_print_native_view", native)
        self.assertIn("?? (no image)", native)
        self.assertNotIn("main", native.split("?? (no image)")[0])
