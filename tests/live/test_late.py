"""Threads that do not come to stop because no processor is given to them: a dump has them all the same."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import unittest

import jsonschema

import debuggee_build
import dump_schema
import mixstack_dump
import processes
from harness import LiveCase, alone
from test_guest import CgroupV1
from test_unstopped import NOBODY, why_not

THREADS = 8
WAIT = ("--wait", "100ms")  # they would hardly stop in the two seconds that are the default, either
LEAST, MOST = 3, 25         # dumps


@contextlib.contextmanager
def busy_processors():
    """Two processes of the usual priority for each processor."""
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * os.cpu_count())]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def depths(target):
    """Of each computing thread how many calls lie below its innermost one, as it says itself."""
    return {int(tid): int(depth) for _, tid, depth in (line.split() for line in target.lines)}


@alone("keeps all processors busy")
class WithoutAProcessor(LiveCase):
    needs_dotnet = False

    def assert_is_true(self, thread, depth):
        self.assertTrue(thread["captured"], thread["capture_error"])
        self.assertEqual(thread["stop_reason"], "end_of_stack")
        names = [f["name"] for f in thread["frames"]]
        self.assertEqual(names[:depth + 1], ["idle_spins"] + depth * ["idle_nested"])
        self.assertNotIn("idle_nested", names[depth + 1:])
        self.assertEqual(os.sched_getscheduler(thread["tid"]), os.SCHED_IDLE, "nobody changes its priority")

    @unittest.skipIf(why_not(), why_not())
    def test_no_thread_is_missing(self):
        with processes.native("idle", THREADS) as target, busy_processors():
            truth = depths(target)
            looks = 0
            for done in range(MOST):
                if done >= LEAST and looks > 0:
                    break
                status, out, error, _ = mixstack_dump.run("dump", target.pid, "--json", *WAIT)
                dump = json.loads(out)
                jsonschema.validate(dump, dump_schema.strict())
                self.assertEqual(status, 0, error or dump["diagnoses"])
                self.assertEqual({t["tid"] for t in dump["threads"]}, set(truth) | {target.pid})
                self.assertEqual(dump["process"]["threads_not_stopped"], 0)
                for thread in dump["threads"]:
                    if thread["tid"] in truth:
                        self.assert_is_true(thread, truth[thread["tid"]])
                    if thread.get("not_stopped"):
                        looks += 1
                        self.assertGreater(thread["late_ns"], 100_000_000)
            self.assertGreater(looks, 0, "every thread came to stop in each dump: nothing was tested")
            for tid in truth:
                status = pathlib.Path(f"/proc/{target.pid}/task/{tid}/status").read_text()
                self.assertEqual(re.search(r"^TracerPid:\s*(\d+)", status, re.M)[1], "0")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to lose rights")
    def test_without_rights_it_is_said_what_would_help(self):
        def as_nobody(*command):
            return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *map(str, command)]

        with processes.Debuggee(as_nobody(debuggee_build.NATIVE / "idle", THREADS)) as target, busy_processors():
            for _ in range(MOST):
                done = subprocess.run(as_nobody(mixstack_dump.binary(), "dump", target.pid, *WAIT), text=True,
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
                if done.returncode == 4:
                    self.skipTest("a user may not trace a process of its own here")
                if "did not stop in time" in done.stdout:
                    self.assertEqual(done.returncode, 7)
                    self.assertIn("could be looked at without a stop", done.stdout + done.stderr)
                    self.assertNotIn(", looked at without a stop", done.stdout)
                    return
            self.fail("every thread came to stop in each dump: nothing was tested")


@alone("gives its target a thousandth of a processor")
class Managed(LiveCase):
    @unittest.skipIf(why_not(), why_not())
    def test_managed_threads_are_whole(self):
        """Threads that compute in cooperative mode, and others that our request to stop has woken from their calls."""
        with CgroupV1(self, "cpu") as group, \
                processes.scenario("spin", environment={"DOTNET_TieredCompilation": "0"}) as target:
            before = {t["tid"]: t for t in mixstack_dump.dump(target.pid)["threads"]}
            group.write("cpu.cfs_period_us", 1_000_000)
            group.write("cpu.cfs_quota_us", 1000)
            group.write("cgroup.procs", target.pid)
            looks = set()
            for _ in range(MOST):
                status, out, error, _ = mixstack_dump.run("dump", target.pid, "--json", "--wait", "20ms")
                dump = json.loads(out)
                self.assertEqual(status, 0, error or dump["diagnoses"])
                for thread in dump["threads"]:
                    self.assertEqual(thread["stop_reason"], "end_of_stack")
                    if thread.get("not_stopped") and thread["tid"] in before:
                        self.assert_same(thread, before[thread["tid"]])
                        looks.add(thread["name"])
                if {"spin", "spin-optimized"} <= looks:
                    break
            self.assertLessEqual({"spin", "spin-optimized"}, looks)
            group.write("cpu.cfs_quota_us", -1)

    def assert_same(self, thread, stopped):
        """Its callers, and what the runtime knows of it; a thread that computes is in another innermost frame each time."""
        def outer(t):
            return [(f["kind"], f["name"], f["trust"]) for f in t["frames"][-5:]]

        self.assertEqual(outer(thread), outer(stopped))
        self.assertEqual(thread["managed"] and thread["managed"]["id"], stopped["managed"] and stopped["managed"]["id"])
        if thread["name"].startswith("spin"):
            self.assertTrue(any("Scenarios.Spinning." in f["name"] for f in thread["frames"]))
            self.assertEqual(thread["managed"]["gc_mode"], "cooperative")


if __name__ == "__main__":
    unittest.main()
