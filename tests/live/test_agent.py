"""The profiler inside a .NET process: stacks that its signal handler walked, against a dump of the same threads."""
import glob
import os
import pathlib
import socket
import struct
import tempfile
import unittest

import debuggee_build
from harness import LiveCase
import mixstack_dump
import processes


# Emulated, a sample costs as much as its period at the usual rate, and a start takes many seconds of CPU time.
IS_EMULATED = "MIXSTACK_ARM64" in os.environ
HERTZ, SECONDS = ("100", 4.0) if IS_EMULATED else ("500", 1.0)


def library():
    """Beside the command under test, or None. That for musl where the programs are (scripts/test_musl)."""
    name = "libmixstack_agent-musl.so" if "MIXSTACK_MUSL" in os.environ else "libmixstack_agent.so"
    path = mixstack_dump.binary().resolve().parent.parent / "lib" / name
    return path if path.exists() else None


def methods(thread):
    """The managed methods of a dumped thread, outermost first, as metadata calls them, without their parameters."""
    return [f["raw_name"].partition("(")[0] for f in reversed(thread["frames"]) if f["kind"] == "managed"]


def attach(pid, path, **settings):
    """AttachProfiler over the diagnostics socket (docs/design/features/... ipc protocol: command set 3, command 1)."""
    text = "".join(f"{name}={value}\n" for name, value in settings.items()).encode()
    name = str(path)
    payload = struct.pack("<I16sI", 10_000, bytes(range(16)), len(name) + 1) + (name + "\0").encode("utf-16-le")
    payload += struct.pack("<I", len(text)) + text
    header = b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 3, 1, 0)
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(30)
        # Processes that were killed have left theirs.
        link.connect(max(glob.glob(f"{tempfile.gettempdir()}/dotnet-diagnostic-{pid}-*-socket"), key=os.path.getmtime))
        link.sendall(header + payload)
        answer = link.recv(64)
    return struct.unpack_from("<i", answer, 20)[0]


class Agent(LiveCase):
    def setUp(self):
        super().setUp()
        if library() is None:
            self.skipTest("no libmixstack_agent.so beside the command")
        self.folder = tempfile.TemporaryDirectory(prefix="mixstack-agent-")
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name) / "stacks.txt"

    def environment(self, **more):
        return {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f10}",
                "CORECLR_PROFILER_PATH": str(library()), "MIXSTACK_AGENT_HZ": HERTZ,
                "MIXSTACK_AGENT_OUT": str(self.out), **more}

    def stacks(self, name, thread, attached=False, **more):
        """What a dump says of a thread, and {stack: samples} of the agent."""
        environment = self.environment(**more)
        settings = {n: v for n, v in environment.items() if n.startswith("MIXSTACK_")}
        with processes.scenario(name, environment=None if attached else environment) as debuggee:
            if attached:
                self.assertEqual(attach(debuggee.pid, library(), **settings), 0)
            shown = self.shown(debuggee.pid, thread)
            self.let_run(debuggee)
            debuggee._process.stdin.write(b"quit\n")
            debuggee._process.stdin.flush()
            self.assertEqual(debuggee.wait(60), 0)
        return shown, self.counts()

    def shown(self, pid, thread):
        """A thread of a dump in which it stopped in time: on a busy machine the first may be one in which it did not."""
        for _ in range(10):
            dump = mixstack_dump.dump(pid)
            found = next(t for t in dump["threads"] if (t.get("managed") or {}).get("name") == thread)
            if methods(found):
                break
        return found

    def counts(self):
        """{stack: samples} of what the agent wrote."""
        counts = {}
        for line in self.out.read_text().splitlines():
            stack, _, count = line.rpartition(" ")
            counts[tuple(stack.split(";"))] = int(count)
        return counts

    @staticmethod
    def cpu_time(pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def let_run(self, debuggee, times=1):
        """Until it has used CPU time enough for what is expected of samples; a start that takes long is not counted."""
        end = (self.cpu_time(debuggee.pid) if IS_EMULATED else 0) + times * SECONDS
        self.wait_until(lambda: self.cpu_time(debuggee.pid) > end, "CPU time")

    def check_most(self, expected, counts):
        """Most samples of a thread hold what a dump shows of it, or all of that but the last: a sample may be taken in the
        last caller, too. Whose samples they are its outermost methods tell."""
        mine = sum(n for s, n in counts.items() if self.holds(s, expected[:3]))
        same = sum(n for s, n in counts.items() if self.holds(s, expected) or self.holds(s, expected[:-1]))
        self.assertGreater(mine, 30, f"{expected[:3]} is in few of\n{list(counts)[:5]}")
        self.assertGreater(same, mine // 2, f"{expected} is not among\n{list(counts)[:5]}")

    @staticmethod
    def holds(stack, part):
        return any(list(stack[i:i + len(part)]) == part for i in range(len(stack) - len(part) + 1))

    def test_the_handler_walks_what_a_dump_shows(self):
        """Native frames below, the runtime's between, precompiled and jitted methods above: one stack."""
        for thread in ("spin", "spin-optimized"):
            shown, counts = self.stacks("spin", thread)
            expected = methods(shown)
            self.assertGreater(len(expected), 3)
            self.check_most(expected, counts)
            native = next(s for s in counts if self.holds(s, expected[:-1]))
            self.assertTrue(any("libcoreclr.so" in f for f in native[:native.index(expected[0])]), native)

    def test_attached_it_knows_what_was_compiled_before(self):
        shown, counts = self.stacks("spin", "spin", attached=True)
        expected = methods(shown)
        self.check_most(expected, counts)

    def test_a_dynamic_method_has_its_frame_and_its_name(self):
        shown, counts = self.stacks("spin_dynamic", "spin-dynamic")
        expected = methods(shown)
        self.assertIn("DynamicClass.spins in <here>", expected)
        self.check_most(expected, counts)

    def test_attached_it_learns_of_a_dynamic_method_when_it_sees_it(self):
        """The runtime does not enumerate those that were there before. The first stack with one is in doubt, others are not."""
        shown, counts = self.stacks("spin_dynamic", "spin-dynamic", attached=True)
        expected = ["[dynamic]" if name.startswith("DynamicClass.") else name for name in methods(shown)]
        self.assertIn("[dynamic]", expected)
        self.check_most(expected, counts)
        mine = {s: n for s, n in counts.items() if self.holds(s, expected[:2])}
        sure = sum(n for s, n in mine.items() if not any("in doubt" in f for f in s))
        self.assertGreater(sure, sum(mine.values()) * 3 // 4, list(mine)[:3])

    def check_stubs(self, scenario, thread, caller):
        """All samples of the thread hold its callers, those in a stub included, from where they are found by evidence;
        answers how many were in one."""
        shown, counts = self.stacks(scenario, thread)
        names = methods(shown)
        expected = names[:names.index(caller) + 1]
        mine = {s: n for s, n in counts.items() if self.holds(s, expected[-1:])}
        whole = sum(n for s, n in mine.items() if self.holds(s, expected))
        self.assertEqual(whole, sum(mine.values()), f"{expected} is not all of\n{list(mine)[:5]}")
        if not IS_EMULATED:  # there most samples are of the start
            self.assertGreater(whole, sum(counts.values()) * 3 // 4, f"{expected} is missing in\n{list(counts)[:5]}")
        doubt = (caller, "[in doubt up to here]", "[unknown]")
        return sum(n for s, n in mine.items() if s[-3:] == doubt)

    def test_write_barriers_lead_to_who_stores(self):
        """Copies of a helper in memory that nobody describes, in which most of the time is spent."""
        inside = self.check_stubs("barrier_field", "barrier", "Scenarios.Spinning.StoreFields")
        self.assertGreater(inside, 20)

    def test_stubs_lead_to_who_calls(self):
        inside = self.check_stubs("spin_stubs", "stubs", "Scenarios.Spinning.CallThroughStubs")
        self.assertGreater(inside, 5)

    def test_a_composite_image_has_rules(self):
        if "MIXSTACK_MUSL" in os.environ:
            self.skipTest("the composite program runs on glibc")
        try:
            program = debuggee_build.composite()
        except RuntimeError as error:
            self.skipTest(f"no composite image can be made: {str(error)[-200:]}")
        with processes.Debuggee([program], self.environment()) as debuggee:
            self.let_run(debuggee)
            debuggee._process.stdin.write(b"\n")
            debuggee._process.stdin.flush()
            self.assertEqual(debuggee.wait(60), 0)
        counts = self.counts()
        # What the compiler put into one another between them differs from build to build.
        expected = ["System.Collections.Generic.List`1.ForEach", "Program.Spin"]
        same = sum(n for s, n in counts.items() if self.holds(s, expected) and
                   "libcoreclr.so" in s[:s.index(expected[0])] and "System.Threading.Thread.StartCallback" in s)
        self.assertGreater(same, sum(counts.values()) // 2, f"{expected} is not among\n{list(counts)[:5]}")

    def test_switched_off_walks_follow_frame_pointers(self):
        """Native unwinding and frame records, without rules of managed code: enough where every method keeps one. (An
        OSR body shares one with the body below it: the other thread of this scenario loses a frame and has one twice.)"""
        shown, counts = self.stacks("spin", "spin-optimized", MIXSTACK_HYBRID_UNWINDING="0")
        expected = methods(shown)
        self.check_most(expected, counts)

    def test_no_scenario_dies_of_being_sampled(self):
        """Suspensions, exceptions in flight, code made and freed while every thread is sampled."""
        storms = ("exception_storm", "barrier_field")
        if not IS_EMULATED:  # where these do not begin within minutes
            storms += ("gc_storm", "churn", "traffic")
        for name in storms:
            with self.subTest(name), processes.scenario(name, environment=self.environment()) as debuggee:
                self.let_run(debuggee, 2)
                debuggee._process.stdin.write(b"quit\n")
                debuggee._process.stdin.flush()
                self.assertEqual(debuggee.wait(60), 0, name)


if __name__ == "__main__":
    unittest.main()
