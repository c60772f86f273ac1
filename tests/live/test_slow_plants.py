"""Each program of tests/debuggees/Slow has the fault that it is named after, and no other: by its own counts and by those of
the kernel. mixstack is not asked; test_slow.py does that."""
import os
import pathlib
import subprocess
import time
import unittest

import debuggee_build
from harness import LiveCase, alone
from slow_case import Slow, calls_of, system_calls, tasks, wants

# Rates up to which a program is healthy (issue 36).
HEALTHY = {"exceptions": 50, "gen0": 25, "flushes": 5, "children": 1, "forced": 0, "large_bytes": 1e6, "native_bytes": 0, "kept_bytes": 0,
           "methods": 60, "lock_wait_us": 1e5}
FUTEX = {202, 98, 449}  # x86-64, ARM64, futex_waitv
FLUSH = {74, 75, 77, 82, 83}


@alone("rates of a machine of two processors")
class Plants(LiveCase):
    def setUp(self):
        if not os.environ.get("MIXSTACK_SLOW"):
            self.skipTest("takes minutes of a quiet machine: MIXSTACK_SLOW=1 (scripts/nightly)")
        if not debuggee_build.have_dotnet():
            self.skipTest("no dotnet")

    def plant(self, scenario, seconds=1, **least):
        """Each named rate of its own is at least so high. Answers its counts, the kernel's and the process's as a whole."""
        with Slow(scenario) as program:
            truth, kernel = program.second(seconds)
            missing = {name: truth[name] for name, value in least.items() if truth[name] < value}
            self.assertEqual(missing, {}, f"{least} are planted: {truth} {kernel}")
            return truth, kernel

    def assert_computes(self, kernel, least=0.8):
        self.assertGreater(wants(kernel), least, kernel)

    def assert_idle(self, kernel):
        self.assertLess(kernel["ran_ms"], 300, kernel)

    def assert_without(self, truth, *faults):
        """A plant is one fault, not two."""
        self.assertEqual({name: truth[name] for name in faults or HEALTHY if truth[name] > HEALTHY[name]}, {}, truth)


class Healthy(Plants):
    def check(self, scenario, **least):
        with Slow(scenario) as program:
            for _ in range(20):  # the runtime compiles what runs often once more, and a busy machine lets it take its time
                truth, kernel = program.second()
                if truth["methods"] <= HEALTHY["methods"]:
                    break
        self.assertEqual({name: truth[name] for name, value in least.items() if truth[name] < value}, {}, truth)
        self.assert_without(truth)
        # Until its first collection objects lie in memory that nobody had touched.
        self.assertLess(kernel["anonymous"] - truth["allocated"], 4e6, (truth, kernel))
        self.assertLess(truth["pending"], 20, truth)
        return truth, kernel

    def test_idle(self):
        _, kernel = self.check("healthy_idle", turns=2)
        self.assert_idle(kernel)

    def test_a_service(self):
        truth, kernel = self.check("healthy_service", served=50, exceptions=0.5)
        self.assertLess(kernel["ran_ms"], 800, (truth, kernel))

    def test_batches(self):
        truth, kernel = self.check("healthy_batch", turns=20, allocated=1e6)
        self.assertLess(kernel["ran_ms"], 800, (truth, kernel))

    def test_a_start_that_is_over(self):
        truth, kernel = self.check("warmup_done")
        self.assertGreater(truth["methods_since_start"], 1000, truth)
        self.assert_idle(kernel)


class Processor(Plants):
    def test_methods(self):
        for scenario in ("hot_method", "hot_recursion", "hot_library", "hot_inlined"):
            with self.subTest(scenario):
                truth, kernel = self.plant(scenario, turns=1)
                self.assert_computes(kernel)
                self.assert_without(truth, "exceptions", "gen0", "lock_wait_us")
                self.assertLess(kernel["system_ms"], 0.2 * kernel["user_ms"], kernel)

    def test_native_code(self):
        for scenario, library in (("native_crypto", "libcrypto"), ("native_deflate", "libSystem.IO.Compression.Native")):
            with self.subTest(scenario), Slow(scenario) as program:
                truth, kernel = program.second()
                self.assert_computes(kernel)
                self.assert_without(truth, "exceptions", "gen0")
                self.assertIn(library, pathlib.Path(f"/proc/{program.pid}/maps").read_text())
                self.assertGreaterEqual(self.looks_into(program, library), 4)

    def looks_into(self, program, library, looks=10):
        """In how many of them a thread runs in the library, by the program counter of the stopped thread."""
        seen = 0
        for _ in range(looks):
            program.stop()
            mappings = [line.split() for line in pathlib.Path(f"/proc/{program.pid}/maps").read_text().splitlines() if library in line]
            ranges = [tuple(int(part, 16) for part in words[0].split("-")) for words in mappings]
            counters = [int(call[-1], 16) for call in calls_of(program.pid) if call[0] == "-1"]
            seen += any(begin <= counter < end for begin, end in ranges for counter in counters)
            program.resume()
            time.sleep(0.02)
        return seen

    def test_page_faults(self):
        for scenario in ("page_faults", "page_faults_file"):
            with self.subTest(scenario):
                truth, kernel = self.plant(scenario, pages=5000)
                self.assertGreater(kernel["minor_faults"], 0.4 * truth["pages"], (truth, kernel))  # the kernel may give several pages at once
                self.assertGreater(kernel["system_ms"], 0.3 * (kernel["system_ms"] + kernel["user_ms"]), kernel)
                self.assert_without(truth, "exceptions", "gen0", "lock_wait_us")


class Memory(Plants):
    def test_allocation(self):
        truth, kernel = self.plant("allocation", allocated=20e6, gen0=2, pause_ms=100)
        self.assert_computes(kernel)
        self.assert_without(truth, "forced", "large_bytes", "exceptions")

    def test_middle_age(self):
        truth, _ = self.plant("allocation_middle_age", 2, allocated=20e6, gen1=1, pause_ms=100)
        self.assert_without(truth, "forced", "large_bytes", "exceptions")

    def test_large_objects(self):
        for scenario in ("large_objects", "large_lists"):
            with self.subTest(scenario):
                truth, _ = self.plant(scenario, 2, large_bytes=50e6, gen2=2)
                self.assertGreater(truth["large_bytes"], 0.8 * truth["allocated"], truth)
                self.assertGreater(truth["gen2"], 0.8 * truth["gen0"], truth)
                self.assert_without(truth, "forced", "exceptions")

    def test_forced_collections(self):
        for scenario in ("forced_collections", "forced_by_timer"):
            with self.subTest(scenario):
                truth, _ = self.plant(scenario, 2, forced=2, pause_ms=60)
                self.assertAlmostEqual(truth["gen2"] / truth["forced"], 1, delta=0.6, msg=truth)
                self.assert_without(truth, "large_bytes", "exceptions")
        truth, _ = self.plant("forced_young", forced=500, pause_ms=60)
        self.assertLess(truth["gen2"], 2, truth)

    def test_managed_growth(self):
        for scenario in ("managed_leak", "managed_leak_callbacks"):
            with self.subTest(scenario):
                truth, kernel = self.plant(scenario, 2, kept_bytes=4e6)
                self.assertGreater(kernel["anonymous"], 0.5 * truth["kept_bytes"], (truth, kernel))
                self.assert_without(truth, "forced", "native_bytes", "exceptions")

    def test_native_growth(self):
        for scenario in ("native_leak", "native_leak_strings"):
            with self.subTest(scenario):
                truth, kernel = self.plant(scenario, 2, native_bytes=4e6)
                self.assertGreater(kernel["anonymous"], 0.7 * truth["native_bytes"], (truth, kernel))
                self.assertLess(truth["allocated"], 1e6, truth)
                self.assert_without(truth, "gen0", "kept_bytes", "exceptions")


class Locks(Plants):
    def check(self, scenario, threads, least):
        """So many threads wait for so long, in seconds a second."""
        with Slow(scenario) as program:
            truth, _ = program.second()
            self.assertGreater(truth["lock_wait_us"] / 1e6, least, truth)
            waiting = [sum(n in FUTEX for n in system_calls(program.pid, thread)) for thread in threads for _ in range(10)]
            self.assertGreater(sum(waiting), 4 * len(threads), waiting)
            self.assert_without(truth, "exceptions", "gen0")
            return truth, program

    def test_monitors(self):
        self.check("contended_monitor", [f"clerk-{i}" for i in range(6)], 3)
        truth, _ = self.check("contended_monitor_short", [f"seller-{i}" for i in range(8)], 3)
        self.assertGreater(truth["lock_waits"], 100, truth)

    def test_a_lock(self):
        self.check("contended_lock", [f"guard-{i}" for i in range(5)], 2)

    def test_a_reader_writer_lock(self):
        self.check("contended_rwlock", ["writer-0", "writer-1"], 0.8)

    def test_a_lock_beside_a_busy_thread(self):
        with Slow("processor_and_lock") as program:
            truth, kernel = program.second()
            self.assertGreater(truth["lock_wait_us"], 2e6, truth)
            self.assertGreater(truth["turns"], 10, truth)
            self.assert_computes(kernel)

    def test_a_deadlock_and_none(self):
        with Slow("deadlock") as program:
            truth, kernel = program.second()
            self.assertEqual(truth["turns"], 0)
            self.assert_idle(kernel)
            self.assertTrue(set(system_calls(program.pid, "shunter-a") + system_calls(program.pid, "shunter-b")) <= FUTEX)
        with Slow("try_enter_pair") as program:
            truth, kernel = program.second(4)
            self.assertGreater(truth["timed_out"] * 4, 0.9, truth)
            self.assert_idle(kernel)


class Pool(Plants):
    def test_starvation(self):
        for scenario in ("sync_over_async", "sync_over_tasks"):
            with self.subTest(scenario), Slow(scenario) as program:
                early, _ = program.second()
                late, kernel = program.second(2)
                self.assertGreater(late["queued"], 3 * late["served"] + 10, late)
                self.assertGreater(late["pending"], early["pending"], (early, late))
                self.assertGreater(late["pending"], 50, late)
                self.assert_idle(kernel)

    def test_a_queue_that_grows(self):
        """Work is done all the time, and less of it than comes."""
        with Slow("queue_grows") as program:
            early, _ = program.second()
            late, kernel = program.second(2)
            self.assertGreater(late["served"], 0, late)
            self.assertGreater(late["queued"], 3 * late["served"] + 10, late)
            self.assertGreater(late["pending"], early["pending"], (early, late))
            self.assert_idle(kernel)

    def test_delays(self):
        truth, kernel = self.plant("async_delay", 3, turns=4)
        self.assert_without(truth)
        self.assertLess(truth["pending"], 5)
        self.assert_idle(kernel)


class Files(Plants):
    def test_tiny_writes(self):
        for scenario in ("tiny_writes", "tiny_writes_text", "tiny_writes_opened"):
            with self.subTest(scenario):
                truth, kernel = self.plant(scenario, writes=3000)
                self.assertGreater(kernel["write_calls"], 0.7 * truth["writes"], (truth, kernel))
                self.assertLess(kernel["written"] / kernel["write_calls"], 10, kernel)
                self.assert_without(truth, "flushes", "exceptions", "gen0")

    def test_tiny_packets(self):
        truth, kernel = self.plant("tiny_sends", writes=3000)
        self.assertLess(kernel["write_calls"], 0.2 * truth["writes"], (truth, kernel))
        self.assertAlmostEqual(truth["written_bytes"] / truth["writes"], 20, delta=0.1, msg=truth)
        self.assert_without(truth, "flushes", "exceptions", "lock_wait_us")

    def test_flushes(self):
        with Slow("fsync_workers") as program:
            truth, _ = program.second()
            self.assertGreater(truth["flushes"], 20, truth)
            looks = [sum(n in FLUSH for n in system_calls(program.pid)) for _ in range(50) if not time.sleep(0.01)]
            self.assertGreater(sum(looks) / len(looks), 0.7, looks)  # threads that wait for the disk at any time

    def test_children(self):
        with Slow("children") as program:
            truth, kernel = program.second()
            self.assertGreater(truth["children"], 5, truth)
            self.assertGreater(kernel["child_faults"], 20 * truth["children"], (truth, kernel))
            self.assertLess(len(tasks(program.pid)), 60)


class Runtime(Plants):
    def test_exceptions(self):
        for scenario, least in (("swallowed_parse", 1000), ("swallowed_rethrown", 300), ("swallowed_async", 500)):
            with self.subTest(scenario):
                truth, _ = self.plant(scenario, exceptions=least)
                self.assert_without(truth, "gen0", "forced", "lock_wait_us")

    def test_compiling(self):
        for scenario in ("compiling_generics", "compiling_expressions"):
            with self.subTest(scenario):
                truth, kernel = self.plant(scenario, instantiations=10, methods=50, compile_ms=100)
                self.assert_computes(kernel)
                self.assert_without(truth, "exceptions")

    def test_exceptions_and_collections(self):
        self.plant("exceptions_and_collections", exceptions=500, allocated=20e6, pause_ms=100)


class Program(Plants):
    def test_each_scenario_is_known(self):
        names = subprocess.run([debuggee_build.slow()], capture_output=True, text=True, check=True).stdout.split()
        text = pathlib.Path(__file__).read_text(), pathlib.Path(__file__).with_name("test_slow.py").read_text()
        self.assertGreater(len(names), 35)
        for where in text:
            self.assertEqual([name for name in names if f'"{name}"' not in where], [])


if __name__ == "__main__":
    unittest.main()
