"""The agent in a hostile house: signals at a high rate while a program does what has broken other profilers, and checks
its own results."""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import LiveCase, alone
import mixstack_dump
import processes
import test_agent
import test_agent_control

# Storms (tests/debuggees/Scenarios/Storms.cs) that go together: threads of each.
STORMS = {
    "faults": ("null:3", "divide:1", "sum:1"),
    "loader_and_allocator": ("dlopen:2", "malloc:2", "sum:1"),
    "threads_and_children": ("thread:2", "spawn:1", "fork:1", "sum:1"),
    "exceptions_and_suspensions": ("throw:2", "collect:3", "sum:1"),
    "waits": ("poll:4", "sum:1"),
    "alternate_stacks": ("altstack:2", "null:1", "throw:1"),
}
SECONDS = float(os.environ.get("MIXSTACK_STORM_SECONDS", "4"))
PROCESSES = 8


class Sampled(LiveCase):
    """Programs with the agent in them from their start."""

    RATES = {"MIXSTACK_AGENT_HZ": "2000", "MIXSTACK_AGENT_WALL": "250", "MIXSTACK_AGENT_WALL_THREADS": "64"}

    def setUp(self):
        super().setUp()
        if test_agent.library() is None:
            self.skipTest("no libmixstack_agent.so beside the command")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mixstack-hostile-")))

    def environment(self, **more):
        return {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f10}",
                "CORECLR_PROFILER_PATH": str(test_agent.library()), **self.RATES, **more}

    def report(self, pid):
        return test_agent_control.AgentControl.report(self, pid)


class Storms(Sampled):
    @staticmethod
    def stormed(debuggee):
        """{name: (rounds, wrong ones)}"""
        parts = [part.split(":") for part in debuggee.ask("stormed").split()[1:]]
        return {name: (int(rounds), int(wrong)) for name, rounds, wrong in parts}

    def weather(self, *storms):
        with processes.scenario("storms", *storms, environment=self.environment()) as debuggee:
            end = time.monotonic() + SECONDS
            names = {storm.partition(":")[0] for storm in storms}
            self.wait_until(lambda: time.monotonic() > end and self.stormed(debuggee).keys() >= names, "every storm")
            done, report = self.stormed(debuggee), self.report(debuggee.pid)
            # A signal that comes just while a wait begins cuts it short: one in some hundred thousand instructions.
            may_be = {"poll": 1 + done.get("poll", (0, 0))[0] // 200}
            self.assertEqual({name: wrong for name, (_, wrong) in done.items() if wrong > may_be.get(name, 0)}, {}, "wrong results")
            self.assertGreater(report["samples"], 500)
            self.assertEqual(test_agent_control.AgentControl.quit(debuggee), 0)
        rounds = ", ".join(f"{name} {rounds}" for name, (rounds, _) in done.items())
        print(f"            {report['samples']} samples, {report['cut']} cut, {report['lost']} lost; rounds: {rounds}", flush=True)


def _make(storms):
    return lambda self: self.weather(*storms)


for _name, _storms in STORMS.items():
    _test = _make(_storms)
    if _name == "waits":  # a thread that waits for a processor has its wait still to begin: others' load cuts more of them
        _test = alone("counts waits that a signal cuts short")(_test)
    setattr(Storms, f"test_{_name}", _test)


class Ends(Sampled):
    """How a process ends is its own affair."""


    def end_of(self, *arguments, sampled):
        """(status, standard error) of a scenario that ends by itself."""
        names = ("DOTNET_gcServer", "DOTNET_EnableDiagnostics")
        environment = {n: v for n, v in os.environ.items() if n not in names} | {"DOTNET_DbgEnableMiniDump": "0"}
        if sampled:
            environment |= self.environment()
        done = subprocess.run([str(processes.debuggee_build.SCENARIOS), *arguments], env=environment, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
        return done.returncode, done.stderr

    @staticmethod
    def shape(text):
        """The message without what differs from run to run: how often the recursion was counted; with musl, where thread
        data lie at the top of a stack, which of the two methods came last, too."""
        text = re.sub(r"Repeated \d+ times|0x[0-9a-f]+", "", text)
        return re.sub(r".*Crashes\.P[io]ng\(.*\n", "", text) if "MIXSTACK_MUSL" in os.environ else text

    def test_a_stack_overflow_says_what_it_always_says(self):
        expected = self.end_of("crash_stack_overflow", sampled=False)
        self.assertIn("Stack overflow", expected[1])
        for _ in range(4):
            status, said = self.end_of("crash_stack_overflow", sampled=True)
            self.assertEqual(status, expected[0])
            self.assertEqual(self.shape(said), self.shape(expected[1]))

    def test_an_unhandled_exception_says_what_it_always_says(self):
        expected = self.end_of("crash_unhandled", sampled=False)
        status, said = self.end_of("crash_unhandled", sampled=True)
        self.assertEqual((status, said), expected)


class SystemCalls(Sampled):
    RATES = {"MIXSTACK_AGENT_HZ": "200", "MIXSTACK_AGENT_WALL": "50"}
    # What docs/agent.md says a handler asks the kernel.
    LISTED = {"gettid", "rt_sigprocmask", "process_vm_readv", "getpid", "mmap", "mprotect", "sigaltstack"}
    ONCE = {"mmap", "mprotect", "sigaltstack"}  # a larger alternate stack, once for a thread

    def test_of_a_handler_are_the_listed_ones(self):
        """strace sees each signal delivered, and what the thread asks for until it returns from the handler."""
        if shutil.which("strace") is None:
            self.skipTest("strace is not installed")
        trace = self.folder / "trace"
        with processes.scenario("storms", "throw:1", "sum:1", "malloc:1", environment=self.environment()) as debuggee:
            tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", str(trace), "-p", str(debuggee.pid)], stderr=subprocess.PIPE)
            try:
                self.wait_until(lambda: trace.exists() and trace.read_text(errors="replace").count("--- SIGPROF") > 300, "signals")
            finally:
                tracer.send_signal(signal.SIGINT)
                _, said = tracer.communicate(timeout=60)
        calls, handlers = self.in_handlers(trace.read_text(errors="replace"))
        print(f"            {handlers} handlers: {dict(calls)}", flush=True)
        self.assertGreater(handlers, 100, said)
        self.assertEqual({name for name in calls if name not in self.LISTED}, set())
        for name in self.ONCE:
            self.assertLess(calls[name], 64, "not for every sample")

    def test_the_kernel_refuses_all_others(self):
        """A thread whose every other system call would end the process (seccomp) is sampled, and lives."""
        out = self.folder / "stacks"
        with processes.scenario("confined", environment=self.environment(MIXSTACK_AGENT_OUT=str(out))) as debuggee:
            self.wait_until(lambda: self.report(debuggee.pid)["samples"] > 300 or not debuggee.is_alive(), "300 samples")
            self.assertTrue(debuggee.is_alive(), "its handler asked for something that is not listed")
            debuggee._process.stdin.write(b"quit\n")
            debuggee._process.stdin.flush()
            self.assertEqual(debuggee.wait(60), 0)
        ends = (";scen_spin_confined;scen_spin", ";scen_spin_confined")  # Clang makes one function of the two
        inside = [line for line in out.read_text().splitlines() if line.rpartition(" ")[0].endswith(ends)]
        self.assertTrue(any("SignalCosts" in line for line in inside), inside)

    def test_and_would_end_it(self):
        """The same without gettid, for which every sample asks: the test before does see what it looks for."""
        with self.assertRaisesRegex(processes.ProcessError, f"status -{int(signal.SIGSYS)}$"):  # perhaps before it is ready
            with processes.scenario("confined", "strictly", environment=self.environment()) as debuggee:
                raise processes.ProcessError(f"ended with status {debuggee.wait(20)}")

    @staticmethod
    def in_handlers(text):
        """Names of system calls between the delivery of SIGPROF and the return, counted; how many handlers ended."""
        calls, inside, handlers = collections.Counter(), set(), 0
        for line in text.splitlines():
            tid, _, what = line.partition(" ")
            what = what.strip()
            if what.startswith("--- SIGPROF"):
                inside.add(tid)
            elif tid in inside and what.startswith("rt_sigreturn"):
                inside.remove(tid)
                handlers += 1
            elif tid in inside and not what.startswith(("---", "+++", "<...")):
                calls[what.partition("(")[0]] += 1
        return calls, handlers


class Crowd(Sampled):
    RATES = {"MIXSTACK_AGENT_HZ": "250", "MIXSTACK_AGENT_WALL": "100", "MIXSTACK_AGENT_WALL_THREADS": "64"}

    def test_500_threads(self):
        """All of which work now and then. scripts/nightly lets them for ten minutes."""
        count, busy = (100, 4) if test_agent.IS_EMULATED else (500, 20)  # more do not all begin within 90 s there
        with processes.scenario("storms", f"rest:{count - busy}", f"sum:{busy}", environment=self.environment()) as debuggee:
            end = time.monotonic() + SECONDS
            self.wait_until(lambda: time.monotonic() > end and self.report(debuggee.pid)["samples"] > 500, "samples", SECONDS + 60)
            report, done = self.report(debuggee.pid), Storms.stormed(debuggee)
            self.assertEqual((done["sum"][1], done["rest"][1]), (0, 0))
            self.assertGreater(done["rest"][0], count - busy)
            self.assertGreaterEqual(report["threads_timed"], count)
            self.assertEqual(report["threads_untimed"], 0)
            self.assertEqual(test_agent_control.AgentControl.quit(debuggee), 0)
        print(f"            {report['samples']} samples, {report['cut']} cut, {report['lost']} lost", flush=True)

    def test_attached_while_it_storms(self):
        """Threads that were there before have small alternate stacks until they are seen for the first time."""
        with processes.scenario("storms", "null:2", "throw:1", "malloc:1", "sum:1") as debuggee:
            for _ in range(5):
                status, _, error = test_agent_control.control("attach", debuggee.pid, "--hz", 1000, "--wall", 100)
                self.assertEqual(status, 0, error)
                self.wait_until(lambda: self.report(debuggee.pid)["samples"] > 100, "samples")
                status, _, error = test_agent_control.control("stop", debuggee.pid)
                self.assertEqual(status, 0, error)
            self.assertEqual([name for name, (_, wrong) in Storms.stormed(debuggee).items() if wrong], [])
            self.assertEqual(test_agent_control.AgentControl.quit(debuggee), 0)

    def test_attached_where_faults_are_handled(self):
        """Each signal is the first one of a thread that may be inside the runtime's handler, where no other has room."""
        for _ in range(PROCESSES):
            with processes.scenario("storms", "null:16") as debuggee:
                status, _, error = test_agent_control.control("attach", debuggee.pid, "--hz", 1000, "--wall", 200)
                self.assertEqual(status, 0, error)
                self.wait_until(lambda: self.report(debuggee.pid)["samples"] > 100, "samples")
                self.assertEqual([name for name, (_, wrong) in Storms.stormed(debuggee).items() if wrong], [])
                self.assertEqual(test_agent_control.AgentControl.quit(debuggee), 0)


if __name__ == "__main__":
    unittest.main()
