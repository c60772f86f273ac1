"""The manual's example programs against live processes: our own stacks, gdb's stacks, managed frames, an event loop.

Needs MIXSTACK_BIN (the folder of the programs) and the debuggees, which it builds when they are missing.
"""
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import debuggee_build  # noqa: E402
import processes  # noqa: E402
import witnesses  # noqa: E402

PATIENCE = 5.0 if os.environ.get("MIXSTACK_PREBUILT") else 1.0  # emulated, a walk takes longer
BIN = pathlib.Path(os.environ.get("MIXSTACK_BIN", HERE.parents[1] / "build/dev/bin"))


def run(program, *arguments, timeout=60):
    done = subprocess.run([BIN / f"swk_{program}", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def stacks(output):
    """Thread id -> frames (pc, sp, name), as third_party prints them."""
    threads, frames = {}, None
    for line in output.splitlines():
        if line.startswith("Thread "):
            frames = threads.setdefault(int(line.split()[1]), [])
        elif line.startswith("Found "):
            _, pc, sp, name = line.split(" ", 3)
            frames.append((int(pc, 16), int(sp, 16), name))
    return threads


def gdb_stacks(pid):
    """Thread id -> list of pc, by gdb."""
    return {tid: [frame["pc"] for frame in stack["frames"]] for tid, stack in witnesses.gdb_stacks(pid).items()}


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        debuggee_build.native()
        debuggee_build.dotnet(debuggee_build.REPOSITORY / "tests" / "debuggees" / "Scenarios",
                              debuggee_build.SCENARIOS.parent)

    def test_this_thread(self):
        status, out, err = run("this_thread")
        self.assertEqual(status, 0, err)
        names = re.findall(r"^Found function (.*)$", out, re.M)
        self.assertEqual(names[0], "main")
        self.assertIn("_start", names[-1])

    def test_third_party_is_what_gdb_says(self):
        with processes.native("plain", 3) as debuggee:
            time.sleep(0.3)
            status, out, err = run("third_party", debuggee.pid)
            self.assertEqual(status, 0, err + out)
            ours = {tid: [pc for pc, _, _ in frames] for tid, frames in stacks(out).items()}
            theirs = gdb_stacks(debuggee.pid)
            self.assertEqual(len(ours), 4)
            self.assertEqual(ours, theirs)
            self.assertIn("plain::Square<double>::stand(int)", out)

    def test_signal_handlers(self):
        for way in ((), ("alt",)):
            with processes.native("handler", *way) as debuggee:
                status, out, err = run("third_party", debuggee.pid)
                self.assertEqual(status, 0, err + out)
                ours = {tid: [pc for pc, _, _ in frames] for tid, frames in stacks(out).items()}
                self.assertEqual(ours, gdb_stacks(debuggee.pid))
                self.assertIn("fault_at_first_instruction", out)

    def test_managed_frames_have_names(self):
        with processes.scenario("marshalling") as debuggee:
            status, out, err = run("third_party", debuggee.pid)
            self.assertEqual(status, 0, err + out)
            whole = [frames for frames in stacks(out).values()]
            mixed = next(f for f in whole if any("scen_call_string" in name for _, _, name in f))
            names = [name for _, _, name in mixed]
            managed = [i for i, n in enumerate(names) if n.startswith("Scenarios.")]
            native = [i for i, n in enumerate(names) if n.startswith("scen_")]
            self.assertTrue(native and managed)
            # native, managed, native, managed: the callback lies between two native functions
            self.assertLess(native[0], managed[0])
            self.assertLess(managed[0], names.index("scen_call_string"))
            self.assertLess(names.index("scen_call_string"), managed[-1])
            self.assertTrue(any("Main(string[])" in out_name for f in whole for _, _, out_name in f))

    def test_sampling(self):
        with processes.native("plain", 1) as debuggee:
            status, out, err = run("sampling", debuggee.pid, 5, 20)
            self.assertEqual(status, 0, err)
            self.assertEqual(len(re.findall(r"frames$", out, re.M)), 5)
            self.assertTrue(debuggee.is_alive())

    def test_event_loop_ends_with_the_process(self):
        with processes.native("plain", 1) as debuggee:
            threading.Timer(PATIENCE, debuggee._process.kill).start()
            status, out, err = run("event_loop", debuggee.pid, 50)
            self.assertEqual(status, 0, err)
            walks, events = map(int, re.findall(r"\d+", out))
            self.assertGreater(walks, 3)
            self.assertGreater(events, 0)

    def test_errors_are_said(self):
        status, _, err = run("third_party", 0x3ffffff0)
        self.assertEqual(status, 1)
        self.assertIn("no such process", err)


if __name__ == "__main__":
    unittest.main()
