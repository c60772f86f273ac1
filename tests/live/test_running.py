"""Processes that are not stopped beforehand: statistics over many dumps, signals, churn, many threads."""
import contextlib
import ctypes
import os
import pathlib
import random
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import LiveCase
import cores
import mixstack_dump
import processes
import stack_compare
import warm_session

_libc = ctypes.CDLL(None, use_errno=True)
_TGKILL = 234


def tgkill(pid, tid, signal_number):
    return _libc.syscall(_TGKILL, pid, tid, signal_number)


def managed_names(dump, thread_name):
    for thread in dump["threads"]:
        if thread["name"] == thread_name[:15]:
            return [f["raw_name"] for f in thread["frames"] if f["kind"] == "managed"], thread
    return [], None


class Statistics(LiveCase):
    """Many stops at places nobody chose: helpers, prologues, epilogues, barriers, suspensions."""

    SAMPLES = int(os.environ.get("MIXSTACK_SAMPLES", "1000"))
    timeout = 900

    def sample(self, scenario, thread_name, expected, samples=None, environment=None, loop=None):
        """Each sample must hold the expected methods, outermost last, and be complete. Answers the share of samples
        that hit code outside of managed methods. `loop` is the method that calls the innermost expected one over and
        over: a sample between two calls, or while the first call compiles it, stops in it, and holds the others only.
        One sample of ten is the command's, which opens the process; the others are a session's that stays open."""
        bad, total, outside = [], samples or self.SAMPLES, 0
        with processes.scenario(scenario, environment=environment) as debuggee:
            tid = next(t for t in processes.thread_states(debuggee.pid)
                       if processes.pathlib.Path(f"/proc/{debuggee.pid}/task/{t}/comm").read_text().strip() == thread_name[:15])
            for dump in self.dumps(debuggee.pid, tid, total):
                names, thread = managed_names(dump, thread_name)
                outside += bool(thread and thread["frames"] and thread["frames"][0]["kind"] != "managed")
                wanted = expected[1:] if loop and thread and self.is_between_calls(thread["frames"], loop) else expected
                if thread is None or stack_compare.reason(thread) != stack_compare.COMPLETE or not self.holds(names, wanted):
                    bad.append((names, thread and [(f["kind"], f["name"], f["ip"]) for f in thread["frames"]][:8],
                                thread and thread["stop_reason"]))
            self.assertTrue(debuggee.is_alive())
        if bad:
            shown = "\n  ".join(f"{end}: {names}\n    {frames}" for names, frames, end in bad[:3])
            self.fail(f"{len(bad)} of {total} samples lack a frame or are cut:\n  {shown}")
        return outside / total

    @staticmethod
    def dumps(pid, tid, total):
        with contextlib.ExitStack() as stack:
            session = stack.enter_context(warm_session.WarmSession(pid)) if warm_session.library() else None
            for i in range(total):
                if session and i % 10:
                    time.sleep(random.uniform(0, 0.002))  # a session is quick: its stops must not keep step with the loop
                    yield session.dump(tid)
                else:
                    yield mixstack_dump.dump(pid, "-t", tid)

    @staticmethod
    def is_between_calls(frames, loop):
        innermost = next((i for i, f in enumerate(frames) if f["kind"] == "managed"), None)
        if innermost is None or loop not in frames[innermost]["raw_name"]:
            return False
        return innermost == 0 or any(f["module"] == "libclrjit.so" for f in frames[:innermost])

    @staticmethod
    def holds(names, expected):
        position = 0
        for part in expected:
            while position < len(names) and part not in names[position]:
                position += 1
            if position == len(names):
                return False
            position += 1
        return True

    def test_write_barrier_fields(self):
        share = self.sample("barrier_field", "barrier",
                            ("Spinning.StoreFields", "Spinning.BarrierFieldCaller", "Thread.StartCallback"))
        self.assertGreater(share, 0.02, "hardly a sample hit the barrier: the test shows nothing")

    def test_write_barrier_array_elements(self):
        share = self.sample("barrier_array", "barrier",
                            ("Spinning.StoreElements", "Spinning.BarrierArrayCaller", "Thread.StartCallback"))
        self.assertGreater(share, 0.02, "hardly a sample hit the barrier: the test shows nothing")

    def test_prologues_and_epilogues(self):
        self.sample("tiny_calls", "tiny", ("Spinning.TinyLoop", "Thread.StartCallback"), self.SAMPLES // 2)

    def test_allocation_helpers(self):
        self.sample("helpers", "allocating", ("Spinning.Allocate", "Thread.StartCallback"), self.SAMPLES // 4)

    def test_cast_helpers(self):
        self.sample("helpers", "casting", ("Spinning.Cast", "Thread.StartCallback"), self.SAMPLES // 4)

    def test_continuous_suspensions(self):
        self.sample("gc_storm", "tiny0", ("Threads.Loop", "Thread.StartCallback"), self.SAMPLES // 4)

    def test_continuous_suspensions_over_optimized_code(self):
        self.sample("gc_storm", "fully-optimized", ("Threads.OptimizedLoop", "Thread.StartCallback"), self.SAMPLES // 4)

    def test_continuous_exceptions(self):
        self.sample("exception_storm", "thrower0", ("Exceptions.ThrowAndCatch", "<Storm>b__", "Thread.StartCallback"), self.SAMPLES // 4,
                    loop="<Storm>b__")


class Suspension(LiveCase):
    @staticmethod
    def has_replaced_return(pid, thread):
        """Whether the stack holds another return address than the walk went on to: that of a suspension's stub."""
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for frame, caller in zip(thread["frames"], thread["frames"][1:]):
                cfa = int(frame["cfa"] or "0", 16)
                if frame["kind"] != "managed" or cfa == 0 or caller["is_interrupted"]:
                    continue
                memory.seek(cfa - 8)
                if int.from_bytes(memory.read(8), "little") != int(caller["ip"], 16):
                    return True
        return False

    def test_threads_in_and_waiting_for_a_suspension(self):
        with processes.scenario("gc_wait") as debuggee:
            seen = self.observe(debuggee)
            # A thread may be stopped with its return address replaced: ClrMD's stack ends there. What is outside of it
            # is compared with what the program does.
            cut = {thread["tid"] for thread in seen.dump["threads"] if self.has_replaced_return(debuggee.pid, thread)}
            self.assertEqual([str(f) for f in seen.faults if f.rule != "extra" or f.tid not in cut], [])
            for loop in ("loop0", "loop1"):
                self.assert_order(seen.names(loop, "managed"), "Threads.Loop", "<GcWait>b__", "<Extra>b__", "StartCallback")
            self.assert_order(seen.names("allocator", "managed"), "GcWait", "StartCallback")
            self.assert_order(seen.names("collector", "managed"), "GcWait", "StartCallback")
            self.assert_order(seen.names("uncooperative"), "scen_spin", "GcWait", "StartCallback")


@unittest.skipUnless(shutil.which("gdb"), "no gdb")
class Hijack(LiveCase):
    """At each instruction of the stub that methods return to when the runtime has replaced their return address. The
    runtime's own unwind information is wrong there by a word, and too few samples hit it."""

    BEGINS_WITH = bytes.fromhex("50 55 53 4157 4156 4155 4154")  # push rax, rbp, rbx, r15 to r12
    OFFSETS = (0, 1, 2, 3, 7, 11, 12, 14)  # of instructions: `push rcx, rdx, rax; mov rdi, rsp` follow
    timeout = 300

    @classmethod
    def stub(cls, pid):
        """Its address, where the process's libcoreclr.so has it once."""
        path = next(f for f in cores.mapped_files(pid) if f.endswith("/libcoreclr.so"))
        code = pathlib.Path(path).read_bytes()
        offset = code.find(cls.BEGINS_WITH)
        if offset < 0 or code.find(cls.BEGINS_WITH, offset + 1) >= 0:
            return None
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split()
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            at = begin + offset - int(fields[2], 16)
            if fields[-1] == path and "x" in fields[1] and begin <= at < end:
                return at
        return None

    def core_at(self, folder, offset):
        """A core written when a thread was about to execute this byte, and the byte's address."""
        core = pathlib.Path(folder) / "core"
        with processes.scenario("gc_storm") as debuggee:
            stub = self.stub(debuggee.pid)
            if stub is None:
                self.skipTest("this libcoreclr.so has no stub of these bytes")
            commands = ["handle SIG34 SIG35 SIGUSR1 SIGUSR2 nostop noprint pass", f"break *{stub + offset:#x}", "continue",
                        f"generate-core-file {core}", "kill"]
            subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-p",
                            str(debuggee.pid), *(word for c in commands for word in ("-ex", c))],
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        self.assertTrue(core.exists(), "gdb wrote no core: no thread came by in two minutes")
        return core, stub + offset

    def test_every_instruction_of_the_stub(self):
        for offset in self.OFFSETS:
            with self.subTest(offset=offset), tempfile.TemporaryDirectory() as folder:
                core, address = self.core_at(folder, offset)
                dump = mixstack_dump.dump_core(core)
                threads = [t for t in dump["threads"] if t["frames"] and int(t["frames"][0]["ip"], 16) == address]
                self.assertTrue(threads)
                for thread in threads:
                    names = [f["raw_name"] for f in thread["frames"] if f["kind"] == "managed"]
                    self.assertEqual({f["trust"] for f in thread["frames"]}, {"certain"}, names)
                    self.assertEqual(thread["frames"][1]["kind"], "managed", names)
                    self.assertTrue(any("Threads.Loop" in n or "Threads.OptimizedLoop" in n for n in names[:2]), names)
                    self.assert_order(names, "GcStorm", "StartCallback")


class Signals(LiveCase):
    SIGNAL = 40

    def test_none_is_lost(self):
        """Queued signals, to the process and to single threads, sent before and while dumps are taken."""
        sent = 0
        with processes.scenario("signals", self.SIGNAL) as debuggee:
            for _ in range(30):
                tids = list(processes.thread_states(debuggee.pid))
                for tid in tids * 3:
                    sent += tgkill(debuggee.pid, tid, self.SIGNAL) == 0
                os.kill(debuggee.pid, self.SIGNAL)
                sent += 1
                mixstack_dump.dump(debuggee.pid)
            got = self.settled(debuggee, sent)
        self.assertEqual(got, sent)

    def test_none_is_lost_during_the_stop(self):
        """Another process floods the threads with signals all the while."""
        with processes.scenario("signals", self.SIGNAL) as debuggee:
            enough, sent = os.pipe(), os.pipe()
            flood = os.fork()
            if flood == 0:
                tids = list(processes.thread_states(debuggee.pid))
                good = 0
                while good < 4000 or not select.select([enough[0]], [], [], 0)[0]:
                    while tgkill(debuggee.pid, tids[good % len(tids)], self.SIGNAL) != 0:
                        time.sleep(0.001)
                    good += 1
                    if good % 8 == 0:
                        time.sleep(0.0005)
                os.write(sent[1], str(good).encode())
                os._exit(0)
            try:
                dumps = 0
                while os.waitpid(flood, os.WNOHANG)[0] == 0:
                    mixstack_dump.dump(debuggee.pid)
                    dumps += 1
                    if dumps == 4:
                        os.write(enough[1], b".")
            except BaseException:
                os.kill(flood, 9)
                os.waitpid(flood, 0)
                raise
            count = int(os.read(sent[0], 32))
            for end in (*enough, *sent):
                os.close(end)
            self.assertGreater(dumps, 3)
            self.assertEqual(self.settled(debuggee, count), count)

    @staticmethod
    def settled(debuggee, wanted):
        got, deadline = -1, time.monotonic() + 60
        while got < wanted and time.monotonic() < deadline:
            got = int(debuggee.ask("signals").split()[1])
            time.sleep(0.05)
        return got


class Churn(LiveCase):
    def test_threads_come_and_go(self):
        with processes.scenario("churn") as debuggee:
            for _ in range(60):
                dump = mixstack_dump.dump(debuggee.pid)
                tids = [thread["tid"] for thread in dump["threads"]]
                self.assertEqual(len(tids), len(set(tids)))
                names, thread = managed_names(dump, "steady")
                self.assertEqual(stack_compare.reason(thread), stack_compare.COMPLETE)
                self.assertTrue(any("Scene.Park" in name for name in names), names)
                for thread in dump["threads"]:
                    self.assertTrue(thread["stop_reason"])
            before = int(debuggee.ask("churned").split()[1])
            self.wait_until(lambda: int(debuggee.ask("churned").split()[1]) > before, "the target still makes threads")

    def test_threads_come_and_go_and_the_stopped_picture_is_right(self):
        with processes.scenario("churn") as debuggee:
            for _ in range(5):
                self.assert_no_faults(self.observe(debuggee, with_gdb=False))
                debuggee.resume()
                time.sleep(0.05)


class ManyThreads(LiveCase):
    timeout = 240

    def test_five_hundred(self):
        with processes.scenario("sleepers", 500, 20) as debuggee:
            seen = self.observe(debuggee, with_gdb=False)
            self.assert_no_faults(seen)
            asleep = [t for t in seen.dump["threads"] if t["name"].startswith("sleep")]
            self.assertEqual(len(asleep), 500)
            for thread in asleep:
                names = [f["raw_name"] for f in thread["frames"] if f["kind"] == "managed"]
                self.assertEqual(sum("Threads.Even" in n or "Threads.Odd" in n for n in names), 21)

    def test_grouped(self):
        # One version of each method: code that is compiled anew meanwhile has other return addresses.
        with processes.scenario("sleepers", 50, 10, environment={"DOTNET_TieredCompilation": "0"}) as debuggee:
            debuggee.stop()
            dump = mixstack_dump.dump(debuggee.pid, "--merge")
            self.assertEqual(max(group["count"] for group in dump["groups"]), 50)


class Vfork(LiveCase):
    def test_the_parent_is_reported_and_the_others_are_whole(self):
        with processes.scenario("vfork", 20) as debuggee:
            dump = mixstack_dump.dump(debuggee.pid, stop_timeout=200)
            parent = next(t for t in dump["threads"] if t["name"] == "vfork-parent")
            self.assertEqual(stack_compare.reason(parent), "not-captured")
            self.assertEqual(parent["kernel_state"], "D")
            _, bystander = managed_names(dump, "bystander")
            self.assertEqual(stack_compare.reason(bystander), stack_compare.COMPLETE)
            self.assertTrue(all(s not in processes.STOPPED for s in processes.thread_states(debuggee.pid).values()))


class Guest(LiveCase):
    def test_a_running_target_runs_on(self):
        with processes.scenario("spin") as debuggee:
            for _ in range(20):
                mixstack_dump.dump(debuggee.pid)
            time.sleep(0.2)
            states = processes.thread_states(debuggee.pid)
            self.assertFalse([s for s in states.values() if s in processes.STOPPED], states)
            status = processes.pathlib.Path(f"/proc/{debuggee.pid}/status").read_text()
            self.assertIn("TracerPid:\t0", status)

    def test_sockets_and_timers_go_on(self):
        """epoll_wait returns EINTR after any ptrace stop; .NET must not notice."""
        with processes.scenario("traffic") as debuggee:
            for _ in range(40):
                mixstack_dump.dump(debuggee.pid)
            progress = lambda: [int(n) for n in debuggee.ask("traffic").split()[1:]]  # noqa: E731
            before = progress()
            self.wait_until(lambda: progress()[0] > before[0] + 5, "round trips")
            self.wait_until(lambda: progress()[1] > before[1] + 5, "timer ticks")
            self.assertEqual(progress()[2], 0, "errors")

    def test_collections_go_on(self):
        with processes.scenario("gc_storm") as debuggee:
            before = int(debuggee.ask("collections").split()[1])
            for _ in range(20):
                mixstack_dump.dump(debuggee.pid)
            self.wait_until(lambda: int(debuggee.ask("collections").split()[1]) > before, "collections")

    def test_a_stopped_target_stays_stopped(self):
        with processes.scenario("sleep") as debuggee:
            debuggee.stop()
            for _ in range(3):
                mixstack_dump.dump(debuggee.pid)
                self.assert_stopped(debuggee)
            debuggee.resume()
            time.sleep(0.2)
            states = processes.thread_states(debuggee.pid)
            self.assertFalse([s for s in states.values() if s in processes.STOPPED], states)


