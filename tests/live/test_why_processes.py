"""`mixstack why`: other processes, crashes, locks that many want, a pool that grows, and what comes before Main."""
import json
import pathlib
import sys
import tempfile
import time
import unittest

import cores
import debuggee_build
import mixstack_dump
import processes
from why_case import FINE, NOT_KNOWN, STUCK, WhyCase


class Processes(WhyCase):
    def wait_of(self, answer, name):
        return next(t["wait"] for t in answer["threads"] if t["name"] == name)

    def test_cycles_over_processes(self):
        for scenario in ("file_lock_cycle", "full_pipe"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                status, answer = self.until_stuck(debuggee)
                self.assertEqual([(v["kind"], v["is_certain"]) for v in answer["verdicts"]], [("process_cycle", False)])
                self.assertEqual(status, STUCK)
                [child] = self.wait_of(answer, "parent")["processes"]
                self.assertEqual((str(child["pid"]), child["waits_for_us"]), (self.truth(debuggee)["parent"][1], "is_held_up"))

    def test_who_holds_the_lock_of_a_file(self):
        with processes.scenario("file_lock_held") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            wait = self.wait_of(answer, "parent")
            self.assertEqual((wait["kind"], [p["holds"] for p in wait["processes"]]), ("file", [True]))
            self.assertIn(self.truth(debuggee)["parent"][1], wait["detail"])

    def test_words_that_are_waited_for_are_no_cycle(self):
        with processes.scenario("coprocess") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            self.assertEqual({p["waits_for_us"] for p in self.wait_of(answer, "parent")["processes"]}, {"may"})

    def test_a_child_that_is_stopped(self):
        with processes.scenario("stopped_child") as debuggee:
            status, answer = self.until_stuck(debuggee)
            self.assertEqual([(v["kind"], v["is_certain"]) for v in answer["verdicts"]], [("stopped_process", True)])
            self.assertEqual(status, STUCK)


# A thread waits for a lock of `first`, whose holder waits for one of `second`, whose holder writes what the first one
# does not read.
CHAIN = """
import fcntl, os, sys, time
first, second = sys.argv[1:]
open(first, "w"), open(second, "w")
def lock_and_keep(path):
    kept.append(open(path, "r+"))
    fcntl.lockf(kept[-1], fcntl.LOCK_EX)
kept, (reads, writes), (ready, says) = [], os.pipe(), os.pipe()
if os.fork() == 0:
    os.close(reads), os.close(writes)
    lock_and_keep(first)
    os.write(says, b"1")
    time.sleep(1)
    lock_and_keep(second)
    os._exit(0)
if os.fork() == 0:
    os.close(reads)
    lock_and_keep(second)
    os.write(says, b"2")
    os.write(writes, bytes(1 << 20))
    os._exit(0)
os.close(writes)
while len(os.read(ready, 1)) + len(os.read(ready, 1)) < 2: pass
print("READY", os.getpid(), flush=True)
lock_and_keep(first)
"""
# Each of two processes writes to a connection what the other one does not read.
TCP = """
import os, socket
listens = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    address = listens.getsockname()
    listens.close()
    link = socket.create_connection(address)
else:
    link = listens.accept()[0]
    listens.close()
    print("READY", os.getpid(), flush=True)
link.sendall(bytes(1 << 26))
"""


class WithoutARuntime(WhyCase):
    needs_dotnet = False

    def cycle_of(self, *command):
        with processes.Debuggee([sys.executable, "-c", *command]) as debuggee:
            for _ in range(100):  # until all of them wait; before, little is known without a runtime
                status, out, _, _ = mixstack_dump.run("why", debuggee.pid, "--json")
                answer = json.loads(out)
                if answer["verdicts"]:
                    break
                time.sleep(0.2)
            self.assertEqual((status, [v["kind"] for v in answer["verdicts"]]), (STUCK, ["process_cycle"]))
            [other] = answer["threads"][0]["wait"]["processes"]
            return other

    def test_a_cycle_over_three_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            other = self.cycle_of(CHAIN, f"{folder}/first", f"{folder}/second")
            self.assertEqual(other["waits_for_us"], "is_held_up")
            self.assertRegex(other["doing"], r"that process \d+ .*, which waits until this process reads")

    def test_a_cycle_over_a_connection(self):
        self.assertEqual(self.cycle_of(TCP)["waits_for_us"], "is_held_up")


class Standing(WhyCase):
    def test_a_contended_lock_is_not_denied(self):
        with processes.scenario("contended") as debuggee:
            for _ in range(5):
                status, answer = self.why(debuggee.pid, "--sample", "0")
                self.assertEqual((status, answer["verdicts"]), (FINE, []))
                [lock] = answer["contended"]
                names = {t["tid"]: t["name"] for t in answer["threads"]}
                self.assertEqual((lock["kind"], lock["type"]), ("monitor", "System.Object"))
                self.assertGreaterEqual(len(lock["threads"]), 4)
                self.assertTrue(all(names[tid].startswith("booker") for tid in lock["threads"] + lock["owners"]), lock)

    def test_before_main(self):
        hook = {"DOTNET_STARTUP_HOOKS": str(pathlib.Path(debuggee_build.SCENARIOS).with_name("Scenarios.dll"))}
        with processes.Debuggee([debuggee_build.SCENARIOS, "sleep"], hook) as debuggee:
            text = mixstack_dump.run("why", debuggee.pid)[1]
            self.assertRegex(text, r"(?m)^Main has not begun: a startup hook runs on thread \d+")


class Ended(WhyCase):
    def test_a_small_core_does_not_say_that_nothing_is_stuck(self):
        for scenario in ("deadlock", "deadlock_mutex"):
            for kind in "nt":
                with self.subTest(scenario + kind), processes.scenario(scenario) as debuggee, tempfile.TemporaryDirectory() as folder:
                    core = cores.createdump(debuggee.pid, pathlib.Path(folder) / "core", kind)
                    status, out, error, _ = mixstack_dump.run("why", core, "--json")
                    self.assertEqual(status, NOT_KNOWN, out + error)
                    answer = json.loads(out)
                    self.assertEqual((answer["is_known"], answer["verdicts"]), (False, []))


if __name__ == "__main__":
    unittest.main()
