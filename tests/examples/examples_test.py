"""Every program of examples/ against real processes and cores. BUILD names the build folder."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import cores  # noqa: E402
import debuggee_build  # noqa: E402
import processes  # noqa: E402

BUILD = pathlib.Path(os.environ["BUILD"]).resolve()
EXAMPLES = BUILD / "examples"
LIBRARY = {"MIXSTACK_LIBRARY": str(BUILD / "lib/libmixstack.so.0")}
HAS_SCENARIOS = debuggee_build.SCENARIOS.exists()
HAS_NATIVE = (debuggee_build.NATIVE / "plain").exists()


def run(*command, environment=None, timeout=90, cwd=None):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **(environment or {})}, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def in_order(text, *words):
    """Whether the words occur in this order, each on a line of its own."""
    lines = iter(text.splitlines())
    return all(any(word in line for line in lines) for word in words)


class Examples(unittest.TestCase):
    def in_order(self, text, *words):
        self.assertTrue(in_order(text, *words), f"{words} in\n{text}")

    def recorded(self, out):
        """A second of wall time of several threads: 100 samples of each on a quiet machine."""
        self.assertIn("why", out)
        self.assertGreater(int(re.search(r"^recorded: (\d+) samples", out, re.M).group(1)), 20)

    def test_crash_handler(self):
        for way, ending in (("segv", signal.SIGSEGV), ("abort", signal.SIGABRT), ("overflow", signal.SIGSEGV)):
            with self.subTest(way), tempfile.TemporaryDirectory() as folder:
                status, out, _ = run("prlimit", "--core=0", EXAMPLES / "crash_handler", way, cwd=folder)
                self.assertEqual(status, -ending)  # it ends as it would have without the handler
                self.assertTrue(out.startswith("crashed: thread "), out)
                self.in_order(out, "on_crash(int)", "recurse" if way == "overflow" else "crash(char const*)")
                if way != "overflow":
                    self.in_order(out, "crash(char const*)", "main", "_start")
                    self.assertNotIn("---", out)

    def test_custom_stepper(self):
        status, out, error = run(EXAMPLES / "custom_stepper")
        self.assertEqual(status, 0, out + error)
        without, _, with_it = out.partition("with the stepper")
        self.assertNotIn("jitted()", without)
        self.in_order(with_it, "pause", "jitted()", "main", "_start")

    @unittest.skipUnless(HAS_NATIVE, "the native debuggees are not built")
    def test_watchdog_reports_a_process_that_does_not_move(self):
        with processes.native("plain") as child:
            status, out, error = run(EXAMPLES / "watchdog", child.pid, 1)
            self.assertEqual(status, 1, out + error)
            self.assertIn(f"process {child.pid} has not moved for 1 s", out)
            self.in_order(out, "plain::stand_still", "qsort", "plain::run(int)", "main")
            self.assertTrue(child.is_alive())

    def test_watchdog_lets_a_process_go_that_moves_and_ends(self):
        with subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt 20 ]; do sleep 0.1; i=$((i+1)); done"]) as child:
            status, out, _ = run(EXAMPLES / "watchdog", child.pid, 30)
            self.assertEqual((status, out), (0, f"process {child.pid} ended\n"))
        self.assertEqual(run(EXAMPLES / "watchdog", 2**31 - 1)[0], 2)

    def test_core_triage_of_a_crash(self):
        obstacle = cores.kernel_obstacle()
        if obstacle:
            self.skipTest(obstacle)
        with cores.folder() as folder, cores.kernel_writes_files():
            child = subprocess.Popen([EXAMPLES / "crash_handler", "segv"], cwd=folder, stdout=subprocess.DEVNULL,
                                     preexec_fn=lambda: cores.allow(os.getpid()))
            self.assertEqual(child.wait(60), -signal.SIGSEGV)
            core = cores.find_kernel_core(child.pid, folder)
            status, out, error = run(EXAMPLES / "core_triage", core)
        self.assertEqual(status, 1, error)
        self.assertTrue(out.startswith("CRASH by signal 11 in thread"), out)
        self.in_order(out, "crash(char const*)", "main", "_start")

    def test_core_triage_without_a_crash(self):
        with cores.folder() as folder:
            with subprocess.Popen(["sleep", "600"]) as child:
                try:
                    cores.gcore(child.pid, folder / "core")
                finally:
                    child.kill()
            status, out, error = run(EXAMPLES / "core_triage", folder / "core")
            self.assertEqual(status, 0, error)
            self.in_order(out, "nanosleep", "_start")
            self.assertNotIn("CRASH", out)
            (folder / "garbage").write_bytes(b"no core" * 1000)
            self.assertEqual(run(EXAMPLES / "core_triage", folder / "garbage")[0], 2)

    @unittest.skipUnless(HAS_SCENARIOS, "the scenarios are not built")
    def test_core_triage_of_a_dotnet_crash(self):
        with cores.folder() as folder, processes.scenario("nested_exceptions") as child:
            core = folder / "core"
            cores.createdump(child.pid, core)
            status, out, error = run(EXAMPLES / "core_triage", core)
        self.assertEqual(status, 0, error)
        self.assertIn("exception: ", out)
        self.assertIn("  #0  ", out)

    @unittest.skipUnless(HAS_SCENARIOS, "the scenarios are not built")
    def test_c_and_python_on_a_dotnet_process(self):
        with processes.scenario("reverse_pinvoke") as child:
            for command in ([EXAMPLES / "c_example"], [sys.executable, ROOT / "examples/python/mixstack_example.py"]):
                status, out, error = run(*command, child.pid, environment=LIBRARY)
                self.assertEqual(status, 0, error)
                self.in_order(out, "scen_", "Interop", "thread", "recorded: ", "top: ")
                self.recorded(out)
                self.assertGreaterEqual(int(re.search(r"^top: (\d+) threads", out, re.M).group(1)), 2)
        self.assertEqual(run(EXAMPLES / "c_example", 2**31 - 1)[0], 2)

    @unittest.skipUnless(HAS_NATIVE, "the native debuggees are not built")
    def test_live_top_names_what_runs_and_ends_with_the_process(self):
        with processes.native("plain") as child:
            status, out, error = run(EXAMPLES / "live_top", child.pid, 1)
            self.assertEqual(status, 0, error)
            self.assertGreater(int(re.search(r"^1 s, (\d+) samples of (\d+) threads", out).group(1)), 20)
        with subprocess.Popen([sys.executable, "-c", "import time\nend = time.time() + 1.5\nwhile time.time() < end: pass"]) as child:
            status, out, _ = run(EXAMPLES / "live_top", child.pid, 60)
            self.assertEqual(status, 1)
            self.assertIn(" ms  ", out)
        self.assertEqual(run(EXAMPLES / "live_top", 2**31 - 1)[0], 2)

    @unittest.skipUnless(HAS_SCENARIOS and shutil.which("dotnet"), "no .NET SDK")
    def test_dotnet_dumps_another_process(self):
        out_folder = ROOT / "build/examples/dotnet"
        status, out, error = run("dotnet", "build", "-c", "Release", "-o", out_folder, "-nodeReuse:false",
                                 "-p:UseSharedCompilation=false", f"-p:BaseIntermediateOutputPath={ROOT}/build/examples/obj/",
                                 ROOT / "examples/dotnet/Example.csproj",
                                 environment={"DOTNET_NOLOGO": "1", "DOTNET_CLI_TELEMETRY_OPTOUT": "1"}, timeout=300)
        self.assertEqual(status, 0, out + error)
        with processes.scenario("reverse_pinvoke") as child:
            status, out, error = run("dotnet", out_folder / "Example.dll", child.pid, environment=LIBRARY)
        self.assertEqual(status, 0, error)
        self.assertIn("managed thread 1", out)
        self.in_order(out, "managed thread", "Interop", "why: ", "recorded: ")
        self.recorded(out)
        status, _, error = run("dotnet", out_folder / "Example.dll", 2**31 - 1, environment=LIBRARY)
        self.assertEqual(status, 2)
        self.assertIn("no_such_process", error)


if __name__ == "__main__":
    unittest.main()
