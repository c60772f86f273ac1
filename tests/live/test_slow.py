"""`mixstack why` of programs with one performance fault each (tests/debuggees/Slow), and of healthy ones: the first cause, its
place in the program, the exit code. test_slow_plants.py proves that the faults are there.

MIXSTACK_HEALTHY=100: healthy programs are asked so often, half of it beside eight processes that compute (scripts/nightly)."""
import contextlib
import os
import pathlib
import subprocess
import time
import unittest

import debuggee_build
import harness
import mixstack_dump
import why_case
from slow_case import Slow, kernel_counts, wants

HEALTHY_RUNS = int(os.environ.get("MIXSTACK_HEALTHY", "2"))
STUCK = why_case.STUCK
SPIN = ["sh", "-c", "while :; do :; done"]


@contextlib.contextmanager
def beside(count, *before):
    """So many processes that compute."""
    with contextlib.ExitStack() as all_of_them:
        for _ in range(count):
            spinning = subprocess.Popen([*before, *SPIN], stdin=subprocess.DEVNULL)
            all_of_them.callback(spinning.wait)
            all_of_them.callback(spinning.kill)
        yield


class Looked:
    """One answer, with what the kernel says of the time in which it was made."""

    def __init__(self, case, program, *options):
        program.pass_over()
        begin, before = time.monotonic(), kernel_counts(program.pid)
        self.status, self.answer = case.why(program.pid, *options)
        after, passed = kernel_counts(program.pid), time.monotonic() - begin
        self.kernel = {name: (after[name] - before[name]) / passed for name in after}
        self.seconds = passed
        self.causes = self.answer["causes"]
        self.kinds = [cause["kind"] for cause in self.causes]

    @property
    def waited(self):
        """The share of the time in which its threads could run that they had no processor."""
        return self.kernel["ready_ms"] / max(self.kernel["ready_ms"] + self.kernel["ran_ms"], 0.001)

    def __str__(self):
        told = [(cause["text"], cause["facts"]) for cause in self.causes]
        return f"status {self.status}, verdicts {[v['kind'] for v in self.answer['verdicts']]}, causes {told}, waited {self.waited:.2f}, {self.seconds:.1f} s"


@harness.alone("shares and rates of a machine of two processors")
class SlowCase(why_case.WhyCase):
    needs_dotnet = False
    timeout = 240

    def setUp(self):
        super().setUp()
        if not os.environ.get("MIXSTACK_SLOW"):
            self.skipTest("takes minutes of a quiet machine: MIXSTACK_SLOW=1 (scripts/nightly)")
        if not debuggee_build.have_dotnet():
            self.skipTest("no dotnet")

    def own(self, looked):
        """Causes without `crowded`, which is true of any program while other tests run; but only where the kernel says so."""
        if "crowded" in looked.kinds:
            self.assertGreater(looked.waited, 0.1, looked)
        return [cause for cause in looked.causes if cause["kind"] != "crowded"]

    def assert_first(self, looked, kind, *places):
        causes = self.own(looked)
        if [cause["kind"] for cause in causes][:1] != [kind]:
            self.need_processors(looked)
        self.assertTrue(causes, f"{kind} expected: {looked}")
        self.assertEqual(causes[0]["kind"], kind, looked)
        self.assert_place(causes[0], places, looked)
        return causes[0]

    def need_processors(self, looked):
        """Where a program runs for a tenth of the time in which it could, its fault does not show, and `crowded` is all there is."""
        if looked.waited > 0.6:
            self.assertIn("crowded", looked.kinds, looked)
            self.skipTest(f"other processes have the processors: {looked}")

    def assert_place(self, cause, places, looked):
        if places:
            self.assertTrue(any(place in (cause["place"] or "") for place in places), f"{places} expected: {looked}")

    def judge(self, scenario, kind, *places, environment=None, only=True, status=why_case.FINE, age=0):
        """The program's first cause is of this kind, at one of these places, and there is no other one. `age`: seconds that
        it has run before."""
        with Slow(scenario, environment) as program:
            time.sleep(age)
            looked = Looked(self, program)
            cause = self.assert_first(looked, kind, *places)
            self.assertEqual(looked.status, status, looked)
            self.assertEqual(looked.answer["verdicts"], [], looked)
            if only:
                self.assertEqual([c["kind"] for c in self.own(looked)], [kind], looked)
            self.assertTrue(cause["next"] or cause["change"], cause)
            if looked.waited < 0.6:
                self.assert_first_line(program, kind)
            return cause

    def assert_first_line(self, program, kind):
        """The text's first line is the verdict (after one of the machine)."""
        word = {"collections": "COLLECTIONS", "memory": "MEMORY GROWS", "writes": "TINY WRITES", "page_faults": "PAGE FAULTS", "queue": "QUEUE GROWS"}.get(kind, kind.upper())
        program.pass_over()
        status, out, error, _ = mixstack_dump.run("why", program.pid)
        self.assertIn(status, (0, 11), error)
        lines = [line for line in out.splitlines() if line and not line.startswith((" ", "CROWDED"))]
        self.assertIn(word, lines[0].split(":")[0], out)

    def nothing(self, scenario, environment=None, options=(), is_settled=False):
        """`is_settled`: the runtime has compiled what runs often once more; until then much of the time is the runtime's own."""
        with Slow(scenario, environment) as program:
            for _ in range(4 if is_settled else 0):
                truth, _ = program.second()
                if truth["methods"] < 10:
                    break
            return self.assert_nothing(Looked(self, program, *options))

    def assert_nothing(self, looked):
        self.assertEqual((looked.status, looked.answer["verdicts"], self.own(looked)), (0, [], []), looked)
        return looked


class Healthy(SlowCase):
    timeout = 240 + 60 * HEALTHY_RUNS

    def again(self, scenario, runs, environment=None):
        """Looks at different moments of one process, and of many."""
        for run in range(0, runs, 5):
            with Slow(scenario, environment) as program:
                for _ in range(run, min(run + 5, runs)):
                    self.assert_nothing(Looked(self, program))

    def test_idle(self):
        self.again("healthy_idle", HEALTHY_RUNS)

    def test_a_service(self):
        self.again("healthy_service", HEALTHY_RUNS)

    def test_batches(self):
        self.again("healthy_batch", HEALTHY_RUNS)

    def test_the_server_collector(self):
        self.again("healthy_service", HEALTHY_RUNS, {"DOTNET_gcServer": "1"})

    def test_a_start_that_is_over(self):
        self.again("warmup_done", HEALTHY_RUNS)

    def test_delays_block_nobody(self):
        looked = self.nothing("async_delay")
        [pending] = looked.answer["pending"]
        self.assertEqual(sum(c["count"] for c in pending["chains"] if "RetryAsync" in c["steps"][-1]["method"]), 25, pending["chains"])

    @unittest.skipUnless(HEALTHY_RUNS > 10, "loads the machine: MIXSTACK_HEALTHY=100")
    def test_on_a_crowded_machine(self):
        with beside(8):
            for scenario in ("healthy_idle", "healthy_service", "healthy_batch"):
                self.again(scenario, HEALTHY_RUNS)


class Processor(SlowCase):
    def busy(self, scenario, *names, is_settled=False):
        looked = self.nothing(scenario, is_settled=is_settled)
        busy = looked.answer["busy"]
        self.assertTrue(busy and busy["is_busy"], looked)
        functions = busy["functions"][:6]
        self.assertTrue(any(name in f["name"] for name in names for f in functions), functions)
        return busy

    def test_a_method(self):
        busy = self.busy("hot_method", "Depot.Routes.Distance(")
        self.assertEqual(max(busy["kinds"], key=busy["kinds"].get), "program", busy["kinds"])

    def test_a_method_that_calls_itself(self):
        self.busy("hot_recursion", "Depot.Crates.Fit(")

    def test_a_library(self):
        busy = self.busy("hot_library", "Depot.Search.Match(", is_settled=True)
        self.assertEqual(max(busy["kinds"], key=busy["kinds"].get), "framework", busy["kinds"])

    def test_inlined_methods(self):
        busy = self.busy("hot_inlined", "Depot.Tariffs.Price(")
        contained = {name.split("(")[0] for name in busy["functions"][0]["may_contain"]}
        self.assertEqual(contained, {"Depot.Tariffs.Round", "Depot.Tariffs.Tax"}, busy["functions"][:2])

    def test_native_code(self):
        for scenario, caller in (("native_crypto", "Depot.Seals.Verify("), ("native_deflate", "Depot.Archive.Shrink(")):
            with self.subTest(scenario):
                busy = self.busy(scenario, caller)
                [function] = [f for f in busy["functions"] if caller in f["name"]]
                self.assertGreater(function["total"], 0.7 * busy["samples"], function)  # its whole managed caller

    def test_page_faults(self):
        self.judge("page_faults", "page_faults", "Depot.Frames.Pack(")
        self.judge("page_faults_file", "page_faults", "Depot.Charts.Consult(")

    def test_two_causes(self):
        with Slow("processor_and_lock") as program:
            looked = Looked(self, program)
            self.assert_first(looked, "contended", "Depot.Journal.Enter(")
            busy = looked.answer["busy"]
            self.assertTrue(busy and any("Depot.Maps.Render(" in f["name"] for f in busy["functions"][:3]), looked)


class Memory(SlowCase):
    def test_allocation(self):
        for server in ("0", "1"):
            with self.subTest(server=server):
                self.judge("allocation", "collections", "Depot.Quotes.Ask(", environment={"DOTNET_gcServer": server})

    def test_middle_age(self):
        self.judge("allocation_middle_age", "collections", "Depot.Parcels.Move(")

    def test_large_objects(self):
        self.judge("large_objects", "collections", "Depot.Scans.Decode(")
        self.judge("large_lists", "collections", "Depot.Reports.Gather(")

    def test_forced_collections(self):
        for server in ("0", "1"):
            with self.subTest(server=server):
                self.judge("forced_collections", "collections", "Depot.Ledger.Close(", environment={"DOTNET_gcServer": server})
        self.judge("forced_by_timer", "collections", "Depot.Ledger.Settle(")
        self.judge("forced_young", "collections", "Depot.Ledger.Sweep(")

    def test_managed_growth(self):
        # No program has given anything back before its first full collections.
        self.judge("managed_leak", "memory", "Depot.Sessions.Open(", age=9)
        self.judge("managed_leak_callbacks", "memory", "Depot.Trips.Begin(", age=9)

    def test_native_growth(self):
        self.judge("native_leak", "memory", "Depot.Images.Scale(", age=6)  # each program takes memory at first
        self.judge("native_leak_strings", "memory", "Depot.Labels.Print(", age=6)


class Locks(SlowCase):
    def test_monitors(self):
        self.judge("contended_monitor", "contended", "Depot.Stock.")
        self.judge("contended_monitor_short", "contended", "Depot.Tickets.Sell(")

    def test_a_lock(self):
        self.judge("contended_lock", "contended", "Depot.Gate.")

    def test_a_reader_writer_lock(self):
        self.judge("contended_rwlock", "contended", "Depot.Catalogue.")

    def test_a_deadlock(self):
        with Slow("deadlock") as program:
            looked = Looked(self, program)
            self.assertEqual((looked.status, [v["kind"] for v in looked.answer["verdicts"]]), (STUCK, ["deadlock"]), looked)
            self.assertTrue(looked.answer["verdicts"][0]["is_certain"])

    def test_waits_that_end_by_themselves(self):
        with Slow("try_enter_pair") as program:
            for _ in range(3):
                looked = Looked(self, program)
                self.assertEqual((looked.status, [v["kind"] for v in looked.answer["verdicts"]]), (why_case.MAY_END, ["deadlock"]), looked)
                self.assertFalse(looked.answer["verdicts"][0]["is_certain"], looked)


class Pool(SlowCase):
    def starves(self, scenario, *names):
        """It starves as long as it is looked at: a health check does not blink."""
        with Slow(scenario) as program:
            for _ in range(5):
                looked = Looked(self, program)
                self.assertEqual((looked.status, [v["kind"] for v in looked.answer["verdicts"]]), (STUCK, ["starved_pool"]), looked)
                time.sleep(0.3)
            places = [t["place"] or "" for t in looked.answer["threads"]]
            self.assertTrue(any(name in place for name in names for place in places), places)

    def test_a_wait_for_an_async_method(self):
        self.starves("sync_over_async", "Depot.Orders.Take(")

    def test_a_wait_for_tasks(self):
        self.starves("sync_over_tasks", "Depot.Batches.Assemble(")


    def test_a_queue_that_grows(self):
        """No pool that starves: its workers come back, and take the next item."""
        cause = self.judge("queue_grows", "queue", "Depot.Labeling.Print(")
        facts = dict(cause["facts"])
        self.assertGreater(facts["per_second"], 20, cause)  # 80 are queued, two or three workers do one each
        self.assertGreaterEqual(facts["queued"], facts["workers"], cause)


class Files(SlowCase):
    def test_tiny_writes(self):
        cause = self.judge("tiny_writes", "writes", "Depot.Audit.Note(")
        self.assertIn("audit.log", str(cause))
        self.judge("tiny_writes_text", "writes", "Depot.Trace.Step(")
        cause = self.judge("tiny_writes_opened", "writes", "Depot.Diary.Append(")
        self.assertNotIn("memfd", str(cause))

    def test_tiny_packets(self):
        """Calls that send are not among the calls of write that the kernel counts."""
        cause = self.judge("tiny_sends", "writes", "Depot.Ticker.Quote(")
        self.assertIn("127.0.0.1:", cause["text"])
        if "bytes_each" in cause["facts"]:  # the kernel puts more than one call into a packet where it is busy
            self.assertLess(cause["facts"]["bytes_each"], 257, cause)

    def test_flushes(self):
        cause = self.judge("fsync_workers", "disk", "Depot.Wal.Commit(")
        self.assertIn("wal.dat", str(cause))

    def test_children(self):
        cause = self.judge("children", "children", "Depot.Thumbs.Make(")
        self.assertIn("/bin/true", str(cause))


class Runtime(SlowCase):
    def test_exceptions(self):
        cause = self.judge("swallowed_parse", "exceptions", "Depot.Weights.Parse(")
        self.assertIn("System.FormatException", str(cause))
        cause = self.judge("swallowed_rethrown", "exceptions", "Depot.Customs.")
        self.assertIn("Depot.CustomsException", str(cause))
        self.judge("swallowed_async", "exceptions", "Depot.Remote.")

    def test_compiling(self):
        self.judge("compiling_generics", "compiling", "Depot.Registry.Register(")
        self.judge("compiling_expressions", "compiling", "Depot.Formulas.Evaluate(")

    def test_two_faults(self):
        with Slow("exceptions_and_collections") as program:
            looked = Looked(self, program)
            self.need_processors(looked)
            self.assertEqual({cause["kind"] for cause in self.own(looked)}, {"exceptions", "collections"}, looked)
            for cause in looked.causes:
                self.assert_place(cause, {"exceptions": ["Depot.Weights.Parse("], "collections": ["Depot.Quotes.Ask("]}.get(cause["kind"], ()), looked)
            shares = [cause["share"] for cause in looked.causes]
            self.assertEqual(shares, sorted(shares, reverse=True), looked)


class Machine(SlowCase):
    def test_crowded(self):
        """Others have the processor that it may use."""
        processor = str(max(os.sched_getaffinity(0)))
        with beside(3, "taskset", "-c", processor), Slow("hot_method", before=["taskset", "-c", processor]) as program:
            looked = Looked(self, program)
            self.assertGreater(looked.waited, 0.4, "it has too much of the processor")
            self.assertEqual(looked.kinds[:1], ["crowded"], looked)
            self.assertGreater(wants(looked.kernel), 0.5)

    def test_throttled(self):
        with cpu_quota(0.25) as tasks_file, Slow("hot_method") as program:
            tasks_file.write_text(str(program.pid))
            time.sleep(0.5)
            looked = Looked(self, program)
            if looked.kinds[:1] != ["throttled"]:
                self.need_processors(looked)
            self.assertEqual(looked.kinds[:1], ["throttled"], looked)


@contextlib.contextmanager
def cpu_quota(processors):
    """A cgroup of its own that may use so many processors: where its processes are written to."""
    name = f"mixstack-slow-{os.getpid()}"
    first, other = pathlib.Path("/sys/fs/cgroup/cpu") / name, pathlib.Path("/sys/fs/cgroup") / name
    group = first if first.parent.is_dir() else other
    try:
        group.mkdir()
        if group == first:
            (group / "cpu.cfs_quota_us").write_text(str(int(processors * 100_000)))
        else:
            (group / "cpu.max").write_text(f"{int(processors * 100_000)} 100000")
    except OSError as refused:
        with contextlib.suppress(OSError):
            group.rmdir()
        raise unittest.SkipTest(f"no cgroup of our own: {refused}") from refused
    try:
        yield group / "cgroup.procs"
    finally:
        for _ in range(100):  # its process ends first
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
