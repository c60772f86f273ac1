"""`mixstack dump --no-stop`: the stacks of a dump with a stop, and the process does not notice."""
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase
import harness

NOBODY = 65534


def has_rights():
    """CAP_SYS_ADMIN, or CAP_BPF and CAP_PERFMON; the numbers are those of capability.h."""
    status = pathlib.Path("/proc/self/status").read_text()
    capabilities = int(re.search(r"^CapEff:\s*(\w+)", status, re.M)[1], 16)
    return bool(capabilities >> 21 & 1) or bool(capabilities >> 38 & 1 and capabilities >> 39 & 1)


def why_not():
    """Why this machine does not let anybody look without a stop, or None."""
    major, minor = map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
    if (major, minor) < (5, 18):
        return "a kernel before 5.18"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "a kernel that does not describe its types"
    return None if has_rights() else "no right to BPF"


def switches(pid):
    """Per thread how often it left a processor, and who traces it."""
    told = {}
    for tid in processes.thread_states(pid):
        status = pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text()
        told[tid] = re.findall(r"^(?:TracerPid|\w*ctxt_switches):\s*(\d+)", status, re.M)
    return told


def stacks(dump):
    """What two dumps of the same standing threads agree in."""
    return {t["tid"]: (t["stop_reason"], t["syscall"] and t["syscall"]["name"], t["managed"] and t["managed"]["name"],
                       [(f["kind"], f["ip"], f["sp"], f["name"], f["trust"]) for f in t["frames"]])
            for t in dump["threads"]}


class Unstopped(LiveCase):
    def setUp(self):
        super().setUp()
        if why_not():
            self.skipTest(why_not())

    def dump(self, pid, *options, expected=(0,)):
        status, out, error, _ = mixstack_dump.run("dump", pid, "--json", "--no-stop", *options)
        self.assertIn(status, expected, error)
        return json.loads(out)

    @staticmethod
    def stands_still(pid):
        before = switches(pid)
        time.sleep(0.3)
        return switches(pid) == before and set(processes.thread_states(pid).values()) == {"S"}

    def same_as_with_a_stop(self, target):
        """Threads that wait for good: the same frames, ours first, for a stop makes every thread run."""
        self.wait_until(lambda: set(processes.thread_states(target.pid).values()) == {"S"}, "all threads to wait")
        ours, theirs = None, None
        for _ in range(20):  # timers of the runtime
            ours = self.dump(target.pid, expected=(0, 7))
            theirs = mixstack_dump.dump(target.pid)
            if stacks(ours) == stacks(theirs):
                break
        self.assertEqual(stacks(ours), stacks(theirs))
        self.assertEqual(ours["process"]["consistency"], "not_stopped")
        self.assertEqual(ours["process"]["pause_ns"], 0)
        return ours


class Native(Unstopped):
    needs_dotnet = False

    def test_nobody_notices(self):
        with processes.native("waits") as target:
            self.wait_until(lambda: self.stands_still(target.pid), "all threads to wait")
            before = switches(target.pid)
            dump = self.dump(target.pid)
            self.assertEqual(switches(target.pid), before)
            names = [f["name"] for t in dump["threads"] for f in t["frames"]]
            for function in ("waits_in_epoll", "waits_for_a_signal", "waits_in_poll", "waits_in_read"):
                self.assertIn(function, names)
            self.assertEqual({t["stop_reason"] for t in dump["threads"]}, {"end_of_stack"})
            self.assertEqual(target.ask(""), "0")
            mixstack_dump.dump(target.pid)  # the test can fail: a stop is noticed
            self.wait_until(lambda: int(target.ask("")) > 0, "an interrupted call")

    def test_the_same_as_with_a_stop_and_as_gdb(self):
        with processes.native("guest", "threads", 120, 0) as target:
            ours = self.same_as_with_a_stop(target)
            self.assertEqual(len(ours["threads"]), 121)
            target.stop()
            gdb = harness.gdb(target.pid)
            self.assertEqual(set(gdb), {t["tid"] for t in ours["threads"]})
            for thread in ours["threads"]:
                self.assertEqual([int(f["ip"], 16) for f in thread["frames"]],
                                 [f["pc"] for f in gdb[thread["tid"]]["frames"]])

    def test_threads_that_compute_are_left_out_and_that_is_said(self):
        with processes.native("waits", 2) as target:
            status, out, error, _ = mixstack_dump.run("dump", target.pid, "--no-stop")
            self.assertIn("waits_in_epoll", out)
            dump = self.dump(target.pid, expected=(0, 7))
            left_out = [t for t in dump["threads"] if t["capture_error"]]
            for thread in left_out:
                self.assertEqual(thread["capture_error"]["code"], "thread_not_stopped")
                self.assertEqual(thread["capture_error"]["value"], "0x" + 16 * "f", "that it was running")
            # Two threads that compute have two processors, or one of them waits for one and can be looked at.
            for thread in dump["threads"]:
                if thread["frames"] and any(f["name"] == "computes" for f in thread["frames"]):
                    self.assertEqual(thread["stop_reason"], "end_of_stack")
            self.assertEqual(target.ask(""), "0")

    def test_a_stack_served_by_userfaultfd(self):
        try:
            target = processes.native("guest", "served_stack")
        except processes.ProcessError:
            self.skipTest("no right to userfaultfd")
        with target:
            dump = self.dump(target.pid, expected=(0, 7))
            self.assertTrue(any("guest_innermost" in f["name"] for t in dump["threads"] for f in t["frames"]))

    def test_single_threads(self):
        with processes.native("guest", "threads", 4, 0) as target:
            tid = max(processes.thread_states(target.pid))
            self.assertEqual([t["tid"] for t in self.dump(target.pid, "-t", tid)["threads"]], [tid])

    def test_a_process_in_another_pid_namespace(self):
        command = ["unshare", "--pid", "--fork", "--kill-child", debuggee_build.NATIVE / "waits"]
        try:
            target = processes.Debuggee(command)
        except processes.ProcessError:
            self.skipTest("no right to make a namespace")
        with target:
            [pid] = pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()
            dump = self.dump(pid)
            self.assertEqual(len(dump["threads"]), 5)
            self.assertEqual(min(t["ns_tid"] for t in dump["threads"]), 1)
            self.assertEqual({t["stop_reason"] for t in dump["threads"]}, {"end_of_stack"})

    def test_no_process(self):
        status, _, error, _ = mixstack_dump.run("dump", 2**22 - 1, "--no-stop")
        self.assertEqual(status, 3, error)


class Managed(Unstopped):
    def test_the_same_as_with_a_stop(self):
        for name in ("sleep", "locks"):
            if name not in processes.scenario_names():
                continue
            with self.subTest(name), processes.scenario(name) as target:
                self.same_as_with_a_stop(target)


    def test_a_thread_that_cannot_be_stopped(self):
        """Made by vfork, its child runs: the parent waits uninterruptibly, and a stop would have to wait, too."""
        with processes.scenario("vfork") as target:
            self.wait_until(lambda: "D" in processes.thread_states(target.pid).values(), "a thread in vfork")
            waiting = [t for t in self.dump(target.pid, expected=(0, 7))["threads"] if t["kernel_state"] == "D"]
            self.assertTrue(waiting)
            for thread in waiting:
                self.assertIsNone(thread["capture_error"])
                self.assertEqual(thread["stop_reason"], "end_of_stack")
                self.assertTrue(any(f["kind"] == "managed" for f in thread["frames"]))


class Rights(LiveCase):
    needs_dotnet = False

    @unittest.skipUnless(os.geteuid() == 0, "needs root to lose rights")
    def test_without_rights(self):
        with processes.native("waits") as target:
            done = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                                   mixstack_dump.binary(), "dump", str(target.pid), "--no-stop"],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("CAP_BPF", done.stderr + done.stdout)

    def test_not_with_a_core(self):
        status, _, error, _ = mixstack_dump.run("dump", "--core", "/nowhere", "--no-stop")
        self.assertEqual((status, "without a core" in error), (2, True), error)


if __name__ == "__main__":
    unittest.main()
