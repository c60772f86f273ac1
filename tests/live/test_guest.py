"""The target is a guest's house: nothing in it changes because we look, it is never held for long, and no thread of it
is missing."""
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness import LiveCase, alone
import debuggee_build
import mixstack_dump
import processes


def memory_of(pid):
    """What the kernel counts of a process's memory: KB by kind, and its page faults."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    sizes = dict(re.findall(r"^(VmRSS|RssAnon|RssFile|RssShmem|VmSwap|VmPTE):\s+(\d+)", status, re.M))
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return {**sizes, "minor faults": stat[7], "major faults": stat[9]}


def names_of(thread):
    return [frame["name"] for frame in thread["frames"]]


class Guest(LiveCase):
    needs_dotnet = False

    def dump(self, pid, *options, timeout=60.0):
        """With the limits that users get."""
        status, out, error, seconds = mixstack_dump.run("dump", pid, "--json", *options, timeout=timeout)
        self.assertIn(status, (0, 7), error)
        self.seconds, self.status = seconds, status
        return json.loads(out)

    def thread_in(self, dump, function):
        found = [t for t in dump["threads"] if any(function in n for n in names_of(t))]
        self.assertEqual(len(found), 1, [names_of(t) for t in dump["threads"]])
        return found[0]


class Memory(Guest):
    """No page comes into being."""

    def unchanged(self, pid, *options, rounds=5):
        self.wait_until(lambda: set(processes.thread_states(pid).values()) == {"S"}, "all threads to wait")
        before, states = memory_of(pid), processes.thread_states(pid)
        for _ in range(rounds):
            dump = self.dump(pid, *options)
        self.wait_until(lambda: processes.thread_states(pid) == states, "the threads' states of before")
        self.assertEqual(memory_of(pid), before)
        return dump

    def test_a_stack_in_shared_memory(self):
        with processes.native("guest", "shared_stack") as target:
            dump = self.unchanged(target.pid)
            self.assertIn("guest_fiber_main", names_of(self.thread_in(dump, "guest_innermost")))

    def test_fibers_in_an_arena(self):
        with processes.native("guest", "arena", 64, 4) as target:
            self.unchanged(target.pid)

    def test_a_stack_served_by_userfaultfd(self):
        try:
            target = processes.native("guest", "served_stack")
        except processes.ProcessError:
            self.skipTest("no right to userfaultfd")
        with target:
            dump = self.unchanged(target.pid)
            self.assertLess(self.seconds, 5)
            self.assertIn("guest_innermost", names_of(self.thread_in(dump, "guest_innermost")))

    def test_ordinary_threads(self):
        with processes.native("guest", "threads", 20, 0) as target:
            dump = self.unchanged(target.pid)
            self.assertEqual(len(dump["threads"]), 21)
            self.assertEqual({t["stop_reason"] for t in dump["threads"]}, {"end_of_stack"})

    def test_in_a_cgroup_that_has_no_room(self):
        """A cgroup of 24 MB and a stack in a shared mapping of 64 MB."""
        with CgroupV1(self, "memory") as group:
            group.write("memory.limit_in_bytes", 24 << 20)
            with processes.native("guest", "shared_stack") as target:
                group.write("cgroup.procs", target.pid)
                for _ in range(15):
                    self.dump(target.pid)
                self.assertTrue(target.is_alive())


class Account(Guest):
    """`mixstack memory` of a process without a runtime: glibc alone knows where a stack ends."""

    # A mapping of its own, and then a thread, whose stack the kernel puts right below it: to some kernels these are one
    # mapping (Linux 6.1), to others two.
    PROGRAM = """
import mmap, os, threading, time
above = []
for _ in range(4):
    above.append(mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    above[-1].write(bytes([1]) * (4 << 20))
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print("READY", os.getpid(), flush=True)
time.sleep(1000)
"""

    def test_what_lies_above_a_stack_is_not_of_it(self):
        with processes.Debuggee([sys.executable, "-c", self.PROGRAM]) as target:
            target.stop()
            status, out, error, _ = mixstack_dump.run("memory", target.pid, "--json")
            self.assertEqual(status, 0, error)
            account = json.loads(out)["account"]
            rollup = pathlib.Path(f"/proc/{target.pid}/smaps_rollup").read_text()
            resident = int(re.search(r"^Rss:\s+(\d+)", rollup, re.M)[1]) * 1024
            self.assertEqual(sum(line["resident"] for line in account["lines"]), account["resident"])
            self.assertEqual((account["resident"], account["resident_by_kernel"]), (resident, resident))
            kinds = {}
            for line in account["lines"]:
                kinds[line["kind"]] = kinds.get(line["kind"], 0) + line["resident"]
            huge = processes.huge_pages_in_stacks(target.pid)
            self.assertLess(kinds["stack"], (1 << 20) + huge, kinds)
            self.assertGreaterEqual(kinds["unknown"], 4 * (4 << 20), kinds)


class Swap(Guest):
    """With MIXSTACK_TEST_SWAP=1, as root: adds a swap file of 512 MB to the machine while it runs."""

    def setUp(self):
        super().setUp()
        if not os.environ.get("MIXSTACK_TEST_SWAP"):
            self.skipTest("MIXSTACK_TEST_SWAP is not set: the machine's swap is not touched")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "swap"
        for command in (["fallocate", "-l", "512M", file], ["chmod", "600", file], ["mkswap", file], ["swapon", file]):
            done = subprocess.run(command, capture_output=True)
            if done.returncode != 0:
                self.skipTest(f"{command[0]}: {done.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["swapoff", file], check=True)

    def test_little_is_brought_back_and_that_is_said(self):
        """Sixteen deep stacks of 8 MB, all in swap, in a cgroup that has room for half of them."""
        guest = debuggee_build.NATIVE / "guest"
        with CgroupV1(self, "memory") as group, processes.Debuggee(
                ["sh", "-c", f"echo $$ > {group.path}/cgroup.procs; exec {guest} deep_threads 16 8"]) as target:
            for limit in (1 << 20, 64 << 20):
                with contextlib.suppress(OSError):  # all that can be is in swap then
                    group.write("memory.limit_in_bytes", limit)
            swapped = memory_of(target.pid)
            if int(swapped["VmSwap"]) < 64 << 10:
                self.skipTest(f"the kernel did not swap: {swapped}")
            dump = self.dump(target.pid)
            self.assertEqual(self.status, 7)
            self.assertIn(("limit_exceeded", hex(4 << 20)), [(d["error"]["code"], d["error"]["value"]) for d in dump["diagnoses"]])
            self.assertLess(int(swapped["VmSwap"]) - int(memory_of(target.pid)["VmSwap"]), (4 << 10) + 256)
            self.assertTrue(target.is_alive())


class DotnetMemory(LiveCase):
    def test_an_idle_process(self):
        """The runtime's own threads may work meanwhile: what dumps make grow would grow in every round."""
        with processes.scenario("sleepers") as target:
            mixstack_dump.dump(target.pid)
            growth = []
            while len(growth) < 6 and (not growth or min(growth) >= 64):
                before = int(memory_of(target.pid)["VmRSS"])
                for _ in range(10):
                    mixstack_dump.dump(target.pid)
                growth.append(int(memory_of(target.pid)["VmRSS"]) - before)
            self.assertLess(min(growth), 64, growth)


class Stacks(Guest):
    def test_more_of_a_fiber_than_one_copy_holds(self):
        with processes.native("guest", "deep_fiber") as target:
            thread = self.thread_in(self.dump(target.pid), "guest_innermost")
            self.assertEqual(names_of(thread)[1:4], ["guest_innermost", "guest_deep", "guest_fiber_main"])
            self.assertGreater(thread["late_ns"], 0)

    def test_fibers_of_a_large_arena(self):
        """How long they stand still is measured in bench/dump_bench.py."""
        with processes.native("guest", "arena", 250, 16) as target:
            dump = self.dump(target.pid)
            fibers = [names_of(t) for t in dump["threads"] if "guest_innermost" in names_of(t)]
            self.assertEqual(len(fibers), 16)
            self.assertTrue(all("guest_fiber_main" in names for names in fibers), fibers)

    def test_a_process_whose_main_thread_has_ended(self):
        with processes.native("guest", "leader_ends") as target:
            self.wait_until(lambda: pathlib.Path(f"/proc/{target.pid}/stat").read_text().rpartition(") ")[2][0] == "Z",
                            "the main thread's end")
            dump = self.dump(target.pid)
            walked = [t for t in dump["threads"] if "guest_innermost" in names_of(t)]
            self.assertEqual(len(walked), 2, dump["threads"])


class CgroupV1:
    """A group of one controller, made for a test and removed after it."""

    def __init__(self, case, controller):
        self.path = pathlib.Path(f"/sys/fs/cgroup/{controller}/mixstack-test-{os.getpid()}")
        try:
            self.path.mkdir()
        except OSError as refused:
            case.skipTest(f"no cgroup of {controller} can be made: {refused}")
        self.wanted = {"memory": "memory.limit_in_bytes", "cpu": "cpu.cfs_quota_us"}[controller]
        if not (self.path / self.wanted).exists():
            self.path.rmdir()
            case.skipTest(f"no {self.wanted} here")

    def write(self, name, value):
        (self.path / name).write_text(f"{value}\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.05)


@alone("gives its target little of the machine, or loads all of it")
class Threads(Guest):
    """No thread is missing, however little the target may run."""

    OTHERS = 4  # runnable threads per processor that are not ours

    def patience(self, own):
        """With tests beside us a tenth of a processor can be nothing for the two seconds that are the default."""
        runnable = int(pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[0])
        return () if runnable - own <= self.OTHERS * os.cpu_count() else ("--wait", "30s")

    def complete(self, target, threads, rounds, own=5):
        for _ in range(rounds):
            dump = self.dump(target.pid, *self.patience(own))
            self.assertEqual(self.status, 0, [(t["tid"], t["stop_reason"]) for t in dump["threads"]
                                              if t["stop_reason"] != "end_of_stack"])
            self.assertEqual(len(dump["threads"]), threads)
            self.assertEqual([t["tid"] for t in dump["threads"] if not t["captured"]], [])
            self.assertEqual({t["stop_reason"] for t in dump["threads"]}, {"end_of_stack"})

    def under_quota(self, percent, sleeping, spinning):
        with CgroupV1(self, "cpu") as group:
            group.write("cpu.cfs_period_us", 100_000)
            group.write("cpu.cfs_quota_us", 1000 * percent)
            with processes.native("guest", "threads", sleeping, spinning) as target:
                group.write("cgroup.procs", target.pid)
                time.sleep(0.3)
                self.complete(target, sleeping + spinning + 1, 8)

    def test_half_a_cpu(self):
        self.under_quota(50, 3, 1)

    def test_a_fifth_of_a_cpu(self):
        self.under_quota(20, 3, 2)

    def test_a_tenth_of_a_cpu(self):
        self.under_quota(10, 3, 2)

    def test_a_tenth_of_a_cpu_and_300_threads(self):
        self.under_quota(10, 297, 2)

    def test_a_busy_machine(self):
        others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(20)]
        try:
            with processes.native("guest", "threads", 20, 4) as target:
                self.complete(target, 25, 8, own=25)
        finally:
            for other in others:
                other.kill()
                other.wait()


class Ends(Guest):
    def test_interrupted_at_any_moment(self):
        """Ctrl-C ends the command within a second, and the target runs on, untraced."""
        with processes.native("guest", "threads", 40, 1) as target:
            for _ in range(40):
                command = subprocess.Popen([str(mixstack_dump.binary()), "dump", str(target.pid)],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.uniform(0, 0.02))
                command.send_signal(random.choice((signal.SIGINT, signal.SIGTERM)))
                try:
                    command.wait(timeout=2)
                except subprocess.TimeoutExpired:
                    self.assert_was_not_run(command.pid)
                    command.wait(timeout=10)
            self.wait_until(lambda: "t" not in processes.thread_states(target.pid).values(), "all threads to run")

    def assert_was_not_run(self, pid):
        """A command that is still there has ended already, or a busy machine kept it waiting for a CPU for a second."""
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if stat[0] != "Z":
            waited = int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[1])
            self.assertGreater(waited, 1_000_000_000, stat[0])

    def test_stopped_at_any_moment(self):
        """SIGSTOP of the command does not keep the target stopped."""
        with processes.native("guest", "threads", 300, 1) as target:
            for _ in range(20):
                command = subprocess.Popen([str(mixstack_dump.binary()), "dump", str(target.pid)],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    time.sleep(random.uniform(0, 0.03))
                    command.send_signal(signal.SIGSTOP)
                    self.wait_until(lambda: "t" not in processes.thread_states(target.pid).values(),
                                    "all threads to run while the command is stopped", timeout=10)
                finally:
                    command.kill()
                    command.wait()


class Libraries(Guest):
    """Libraries that are loaded and unloaded while we dump."""

    def test_two_in_the_same_place(self):
        libraries = [debuggee_build.NATIVE / f"libplugin{n}.so" for n in (1, 2)]
        right = {("alpha_inner", "alpha_outer", "plugin_work"), ("beta_inner", "plugin_work")}
        stacks = good = 0
        with processes.native("guest", "alternate", *libraries) as target:
            for _ in range(200):
                thread = self.dump(target.pid)["threads"][0]
                frames = thread["frames"]
                names = names_of(thread)
                if not {"guest_leaf", "plugin_work"} & set(names):
                    continue  # it was loading or unloading
                in_plugin = tuple(f["name"] for f in frames if "libplugin" in f["module"] and "@plt" not in f["name"])
                stacks += 1
                whole = thread["stop_reason"] == "end_of_stack" and names[-1] == "_start"
                shown = any(chain[i:i + len(in_plugin)] == in_plugin for chain in right for i in range(len(chain)))
                certain = all(f["trust"] == "certain" for f in frames)
                good += whole and shown
                self.assertTrue(shown or not certain, names)
                self.assertTrue(whole or thread["stop_reason"] != "end_of_stack", names)
        self.assertGreater(stacks, 8)
        self.assertGreaterEqual(good, 0.95 * stacks)
