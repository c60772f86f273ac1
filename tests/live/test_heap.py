"""`mixstack why --heap`: async methods of the whole heap, against ClrMD's walk of it and the program's own word."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

import cores
import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/why.schema.json").read_text())
STUCK, FINE, NOT_KNOWN = 11, 0, 7
SERVER = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}


def heaps(*arguments, kind="release", environment=None):
    return processes.Debuggee([debuggee_build.heaps(kind), *map(str, arguments)], environment)


def oracle(pid):
    """Addresses of suspended boxes, by ClrMD."""
    done = subprocess.run([debuggee_build.ORACLE, "--boxes", str(pid)], capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


class Heap(LiveCase):
    def why(self, of, *options):
        for _ in range(5):
            status, out, error, _ = mixstack_dump.run("why", of, "--json", "--heap", *options)
            # On a busy machine a thread may not stop with the others, and then nothing is said of its wait.
            if status != NOT_KNOWN or not isinstance(of, int):
                break
        self.assertIn(status, (STUCK, FINE), error)
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        [pending] = answer["pending"]
        return pending, error

    @staticmethod
    def counts(pending):
        """ "A > B end" to how many chains there are of it."""
        counts = {}
        for chain in pending["chains"]:
            words = " > ".join(s["method"].split("(")[0].split("Heaps.")[-1] for s in chain["steps"]) + " " + chain["end"]
            counts[words] = counts.get(words, 0) + chain["count"]
        return counts

    def compare(self, pid, expected_chains, is_server=False):
        pending, error = self.why(pid)
        self.assertEqual(mixstack_dump.codes(error), ["heap_stop"])
        truth = oracle(pid)
        boxes = set(truth["boxes"])
        heap = pending["heap"]
        self.assertEqual((heap["suspended"], heap["missing"], heap["has_more"], heap["stops"]), (len(boxes), 0, False, 1))
        self.assertGreater(heap["pause_us"], 0)
        self.assertEqual((pending["gc"]["is_server"], pending["gc"]["heaps"]), (is_server, truth["heaps"]))
        told = {s["box"] for chain in pending["chains"] for s in chain["steps"] if s["state"] >= 0}
        self.assertEqual(told - boxes, set())
        counts = self.counts(pending)
        some = expected_chains // 10
        # Each kind of box and of end; all of them wait for ever.
        expected = {"Chains.OrderApi.GetOrder > Chains.PriceService.Load > Chains.Db.ReadRow promise": expected_chains,
                    "Chains.Shared > Chains.Shared promise": some, "Chains.Entered semaphore": some,
                    "Chains.Received source": some, "Chains.Pooled promise": some, "Chains.Delayed delay": some,
                    "Chains.Both > Chains.Db.ReadRow promise": 2 * some, "Chains.Forgotten promise": some,
                    "Chains.Sum > Chains.Rows promise": some}
        self.assertEqual({words: counts.get(words) for words in expected}, expected, counts)
        outer = sum(n for words, n in counts.items() if words.startswith("Chains.Outer > "))
        self.assertEqual(outer, some, counts)

    def test_the_boxes_that_clrmd_finds(self):
        for kind in ("release", "debug"):
            with self.subTest(kind), heaps("chains", 1000, 20, kind=kind) as debuggee:
                self.compare(debuggee.pid, 1000)

    def test_two_heaps_of_a_server(self):
        with heaps("chains", 5000, 50, environment=SERVER) as debuggee:
            self.compare(debuggee.pid, 5000, is_server=True)

    def test_a_hundred_thousand_chains(self):
        with heaps("chains", 100000, 100) as debuggee:
            self.compare(debuggee.pid, 100000)

    def test_chains_that_are_replaced_under_collections(self):
        for environment in ({}, SERVER):
            with self.subTest(environment), heaps("churn", 1000, environment=environment) as debuggee:
                before = debuggee.ask("replaced").split()
                found = []
                for _ in range(8):
                    pending, _ = self.why(debuggee.pid)
                    self.assertIsNone(pending["no_heap"])
                    found.append(self.counts(pending).get("Churn.Upper > Churn.Lower promise", 0))
                after = debuggee.ask("replaced").split()
                self.assertGreater(int(after[1]), int(before[1]) + 1000)
                self.assertGreater(int(after[2]), int(before[2]))
                self.assertEqual([n for n in found if not 999 <= n <= 1001], [], found)

    def test_above_the_limit_nothing_is_stopped(self):
        with heaps("chains", 100) as debuggee:
            pending, error = self.why(debuggee.pid, "--heap-limit", "1K")
            self.assertIn("--heap-limit", error)
            self.assertIsNone(pending["heap"])
            self.assertIn("limit", pending["no_heap"])
            dump = mixstack_dump.run("dump", debuggee.pid, "--json", "--async", "--heap", "--heap-limit", "1K")[1]
            self.assertIsNone(json.loads(dump)["pending"][0]["heap"])

    def test_a_core_tells_the_same(self):
        with heaps("chains", 200) as debuggee, tempfile.TemporaryDirectory() as folder:
            live, _ = self.why(debuggee.pid)
            for kind in ("h", "u"):
                core = cores.createdump(debuggee.pid, pathlib.Path(folder) / "core", kind)
                pending, error = self.why(core)
                self.assertEqual(error, "")
                self.assertEqual((pending["heap"]["suspended"], pending["heap"]["pause_us"]), (live["heap"]["suspended"], 0))
                self.assertEqual(self.counts(pending), self.counts(live))
                core.unlink()

    def test_a_deadlock_stays_certain(self):
        with processes.scenario("deadlock") as debuggee:
            for _ in range(10):  # a busy machine may not let its threads stop at one instant
                status, out, error, _ = mixstack_dump.run("why", debuggee.pid, "--heap", "--json")
                if status == STUCK:
                    break
            self.assertEqual(status, STUCK, error)
            answer = json.loads(out)
            verdict = answer["verdicts"][0]
            self.assertEqual((verdict["kind"], verdict["is_certain"], verdict["threads"]), ("deadlock", True, 2))
            self.assertGreater(answer["pending"][0]["heap"]["pause_us"], 0)

    def test_what_threads_wait_for_is_told_once(self):
        with processes.scenario("async_chains") as debuggee:
            pending, _ = self.why(debuggee.pid)
            self.assertEqual(sum(c["count"] for c in pending["chains"]), pending["heap"]["suspended"] - self.inner(pending))
            waiters = [c for c in pending["chains"] if c["waiter"] != 0]
            self.assertEqual(len(waiters), 5)
            [(_, alone)] = [(c["end"], c["count"]) for c in pending["chains"] if c["waiter"] == 0]
            self.assertEqual(alone, 20)

    @staticmethod
    def inner(pending):
        """Methods that another one awaits."""
        return sum(c["count"] * (len(c["steps"]) - 1) for c in pending["chains"])

    def test_words(self):
        with heaps("chains", 100) as debuggee:
            text = mixstack_dump.run("why", debuggee.pid, "--heap")[1]
            self.assertIn("100 x OrderApi.GetOrder > PriceService.Load > Db.ReadRow awaits a TaskCompletionSource\n", text)
            self.assertIn("10 x Chains.Entered awaits SemaphoreSlim.WaitAsync\n", text)
            dump = mixstack_dump.run("dump", debuggee.pid, "--async", "--heap", "--merge")[1]
            self.assertRegex(dump, r"\b100 .*TaskCompletionSource\n    Heaps\.Chains\.Db\.ReadRow\(")
            self.assertNotIn("TaskCompletionSource", mixstack_dump.run("dump", debuggee.pid, "--async")[1])

    def test_dumps_have_chains_as_json(self):
        with heaps("chains", 100) as debuggee:
            status, out, error, _ = mixstack_dump.run("dump", debuggee.pid, "--json", "--async", "--heap")
            [pending] = json.loads(out)["pending"]
            of_pending = dict(SCHEMA["properties"]["pending"]["items"], **{"$defs": SCHEMA["$defs"]})
            jsonschema.validate(pending, of_pending)
            self.assertIn("Chains.Pooled promise", self.counts(pending))
            self.assertNotIn("pending", json.loads(mixstack_dump.run("dump", debuggee.pid, "--json")[1]))


if __name__ == "__main__":
    unittest.main()
