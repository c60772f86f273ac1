"""Who runs the tests loses none: workers that die or hang, tests that fail once, programs that crash in the middle."""
import os
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "scripts")]

import flaky_list  # noqa: E402
import run_unit_tests  # noqa: E402
import worker_pool  # noqa: E402

MODULE = '''
import os, pathlib, signal, subprocess, time, unittest

class Ends(unittest.TestCase):
    def test_good(self):
        print("said")
    def test_fails(self):
        self.fail("why")
    def test_skips(self):
        self.skipTest("no")
    def test_dies(self):
        subprocess.Popen(["sleep", "1000"])
        os._exit(3)
    def test_hangs(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGTERM])
        pathlib.Path("{folder}/pid").write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
        time.sleep(1000)
    def test_is_late(self):
        time.sleep(1000)

class Together(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.one = 1
    def test_a(self):
        os._exit(3)
    def test_b(self):
        self.assertEqual(self.one, 1)

class NoSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os._exit(3)
    def test_a(self):
        pass
'''
# Talks like a program of unit tests; a case that is called so crashes.
PROGRAM = '''#!/usr/bin/env python3
import os, re, sys
flags = open(next(a for a in sys.argv if a.startswith("--gtest_flagfile=")).partition("=")[2]).read()
cases = flags.strip().partition("=")[2].split(":")
print("Note: Google Test filter", flush=True)
for case in cases:
    print(f"[ RUN      ] {case}", flush=True)
    if "crash" in case:
        os.kill(os.getpid(), 11)
    print("words ", end="")
    print(f"[{'  FAILED  ' if 'bad' in case else '       OK '}] {case} (0 ms)", flush=True)
print(f"[==========] {len(cases)} tests from 1 test suite ran. (0 ms total)")
sys.exit(any("bad" in case for case in cases))
'''


class Workers(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        (pathlib.Path(self.folder) / "of_workers.py").write_text(MODULE.replace("{folder}", self.folder))
        self.enterContext(unittest.mock.patch.dict(os.environ, PYTHONPATH=self.folder))
        self.enterContext(unittest.mock.patch.object(worker_pool, "GRACE", 1))
        self.told = {}

    def run_tests(self, *units, limit=60, workers=2):
        pool = worker_pool.Pool(limit, lambda event: self.told.update({event["test"].rpartition(".")[2]: event}))
        try:
            pool.run([worker_pool.Unit({f"of_workers.{name}": limit for name in unit}) for unit in units], workers)
        finally:
            pool.close()
        return {name: event["outcome"] for name, event in self.told.items()}

    def test_each_is_told(self):
        outcomes = self.run_tests(["Ends.test_good"], ["Ends.test_fails"], ["Ends.test_skips"])
        self.assertEqual(outcomes, {"test_good": "passed", "test_fails": "failed", "test_skips": "skipped"})
        self.assertEqual((self.told["test_fails"]["failure"], self.told["test_skips"]["skips"]), ("why", 1))
        self.assertRegex(self.told["test_good"]["text"], r"^said\nok +\d+\.\d s  of_workers\.Ends\.test_good\n$")

    def test_one_that_dies_loses_nothing_else(self):
        outcomes = self.run_tests(["Ends.test_dies"], ["Together.test_a", "Together.test_b"], ["Ends.test_good"], workers=1)
        self.assertEqual(outcomes, {"test_dies": "failed", "test_a": "failed", "test_b": "passed", "test_good": "passed"})
        self.assertIn("status 3", self.told["test_dies"]["failure"])

    def test_one_that_hangs_is_killed_with_what_it_started(self):
        self.assertEqual(self.run_tests(["Ends.test_hangs"], ["Ends.test_good"], limit=1, workers=1),
                         {"test_hangs": "failed", "test_good": "passed"})
        pid = (pathlib.Path(self.folder) / "pid").read_text()
        state = pathlib.Path(f"/proc/{pid}/stat")
        self.assertTrue(not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z")

    def test_one_that_is_late_is_interrupted(self):
        self.run_tests(["Ends.test_is_late"], limit=1)
        self.assertEqual(self.told["test_is_late"]["failure"], "longer than 1 s")

    def test_a_set_up_that_dies_fails_its_tests(self):
        self.assertEqual(self.run_tests(["NoSetUp.test_a"]), {"test_a": "failed"})


class Programs(unittest.TestCase):
    def setUp(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "program"
        path.write_text(PROGRAM)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.program = run_unit_tests.Program(str(path), {})
        self.totals = run_unit_tests.Totals()

    def test_a_crash_in_the_middle(self):
        cases = ["A.one", "A.crash", "A.two", "A.bad", "B.crash", "B.last"]
        with unittest.mock.patch("builtins.print"):
            run_unit_tests.run_program(self.program, cases, self.totals)
        self.assertEqual((self.totals.passed, set(self.totals.failed)), (3, {"A.crash", "A.bad", "B.crash"}))
        self.assertIn("ended with status -11", self.totals.failed["A.crash"][0])

    def test_a_program_that_does_not_start(self):
        self.program.path = "/bin/false"
        with unittest.mock.patch("builtins.print"):
            run_unit_tests.run_program(self.program, ["A.one", "A.two"], self.totals)
        self.assertEqual(set(self.totals.failed), {"A.one", "A.two"})


class Flaky(unittest.TestCase):
    def test_a_failure_is_kept_bounded(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "flaky.txt"
        with unittest.mock.patch.object(flaky_list, "PATH", path), unittest.mock.patch("builtins.print") as said:
            flaky_list.note("live/test_x.Y.test_z", "begin" + "x" * 10_000 + "end")
        text = path.read_text()
        self.assertRegex(text, r"(?s)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d live/test_x\.Y\.test_z\n       begin.*end\n$")
        self.assertLess(len(text), 3000)
        self.assertIn("FAILED ONCE, passed alone: live/test_x.Y.test_z", said.call_args[0][0])


if __name__ == "__main__":
    unittest.main()
