"""Async methods that the runtime suspends itself (runtime-async, a preview): their chains against the program's own word."""
import json
import pathlib
import tempfile
import unittest

import jsonschema

import cores
import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/why.schema.json").read_text())
ENVIRONMENT = {"DOTNET_RuntimeAsync": "1"}
STUCK, FINE = 11, 0
# Since 11 a thread that runs such methods records which.
RUNS = "proved" if debuggee_build.RUNTIME else "likely"


def runtime_async(what, environment=None):
    return processes.Debuggee([debuggee_build.runtime_async(), str(what)], {**ENVIRONMENT, **(environment or {})})


def bare(method):
    """ "Shop.Store<System.__Canon>.Fetch(...)" to "Store.Fetch"."""
    method = method.split("(")[0]
    while "<" in method:
        begin, end = method.rindex("<"), method.index(">", method.rindex("<"))
        method = method[:begin] + method[end + 1:]
    return method.removeprefix("Shop.")


def words(chain):
    return " > ".join(bare(s["method"]) for s in chain["steps"]) + " " + chain["end"]


class RuntimeAsync(LiveCase):
    def why(self, of, *options):
        status, out, error, _ = mixstack_dump.run("why", of, "--json", *options)
        self.assertEqual(status, FINE, error)
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        [pending] = answer["pending"]
        return pending

    def stuck(self, debuggee):
        status, out, error, _ = mixstack_dump.run("why", debuggee.pid, "--json")
        self.assertEqual(status, STUCK, error)
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        return answer

    @staticmethod
    def truth(debuggee):
        """What a thread waits for; what there is of others, by its count."""
        waited, counts = [], {}
        for line in debuggee.lines:
            count, chain = line.removeprefix("TRUTH ").split(" ", 1)
            if count == "waited":
                waited.append(chain)
            else:
                counts[chain] = counts.get(chain, 0) + int(count)
        return sorted(waited), counts

    def check_waited(self, pending, debuggee):
        chains = [c for c in pending["chains"] if c["waiter"] != 0]
        self.assertEqual(sorted(words(c) for c in chains), self.truth(debuggee)[0])

    def check(self, pending, debuggee):
        self.check_waited(pending, debuggee)
        counts = {}
        for chain in pending["chains"]:
            self.assertEqual((chain["proof"], chain["is_cut"]), (RUNS if chain["end"] == "running" else "proved", False), chain)
            if chain["waiter"] == 0:
                counts[words(chain)] = counts.get(words(chain), 0) + chain["count"]
        self.assertEqual(counts, self.truth(debuggee)[1])

    def test_what_threads_wait_for_needs_no_search(self):
        with runtime_async(3) as debuggee:
            pending = self.why(debuggee.pid)
            self.check_waited(pending, debuggee)
            counts = self.truth(debuggee)[1]
            delayed = "Chains.Delayed > Chains.Slowly > Chains.Slower delay"
            self.assertEqual([words(c) for c in pending["chains"] if c["waiter"] == 0], [delayed] * counts[delayed])

    def test_all_of_the_heap(self):
        for environment in ({}, {"DOTNET_TieredCompilation": "0"}, {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}):
            with self.subTest(environment), runtime_async(100, environment) as debuggee:
                pending = self.why(debuggee.pid, "--heap")
                self.check(pending, debuggee)
                self.assertEqual((pending["heap"]["missing"], pending["heap"]["has_more"]), (0, False))

    def test_the_thread_that_runs_methods(self):
        with runtime_async(1) as debuggee:
            [running] = [c for c in self.why(debuggee.pid)["chains"] if c["end"] == "running"]
            self.assertNotEqual(running["waiter"], 0)
            self.assertNotIn(running["runner"], (0, running["waiter"]))
            self.assertEqual(running["proof"], RUNS)

    def test_a_core_tells_the_same(self):
        with runtime_async(10) as debuggee, tempfile.TemporaryDirectory() as folder:
            core = cores.gcore(debuggee.pid, pathlib.Path(folder) / "core")  # createdump crashes on such processes
            self.check(self.why(core, "--heap"), debuggee)

    def test_workers_that_wait_for_the_queue_are_starved(self):
        with runtime_async("starved") as debuggee:
            answer = self.stuck(debuggee)
            [verdict], [pending] = answer["verdicts"], answer["pending"]
            self.assertEqual((verdict["kind"], len(verdict["steps"])), ("starved_pool", 2))
            waited = [c for c in pending["chains"] if c["waiter"] != 0]
            self.assertEqual({(bare(c["steps"][-1]["method"]), c["is_queued"]) for c in waited}, {("Starved.Get", True)})
            queued = [w for w in pending["pool"]["work"] if w["is_continuation"]]
            self.assertEqual([(bare(w["what"]), w["count"]) for w in queued], [("Starved.Get", 2)])

    def test_a_lock_and_a_method_is_a_deadlock(self):
        with runtime_async("deadlock") as debuggee:
            answer = self.stuck(debuggee)
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["is_certain"], len(verdict["steps"])), ("deadlock", RUNS == "proved", 2))
            runners = {c["runner"] for c in answer["pending"][0]["chains"] if c["end"] == "running"}
            self.assertLessEqual(runners - {0}, {step["thread"] for step in verdict["steps"]})
            self.assertTrue(runners - {0})

    @unittest.skipUnless(debuggee_build.RUNTIME, "what 10 keeps has no names")
    def test_parameters_and_local_variables(self):
        with runtime_async("kept") as debuggee:
            self.assertNotIn('"values"', json.dumps(self.why(debuggee.pid)))
            pending = self.why(debuggee.pid, "--data")
            [chain] = [c for c in pending["chains"] if c["waiter"] != 0]
            order, load = ({v["name"]: v for v in s["values"]} for s in chain["steps"])
            self.assertEqual(bare(chain["steps"][0]["method"]), "Kept.GetOrder")
            self.assertEqual((order["number"]["type"], order["number"]["text"]), ("long", "14133"))
            self.assertEqual((order["note"]["content"], order["items"]["length"]), ("Mr. Q!", 3))
            self.assertEqual((order["price"]["text"], order["this"]["type"]), ("12.5", "Shop.Kept"))
            self.assertEqual(load["attempt"]["text"], "3")
            self.assertEqual(load["seen"]["type"], "System.Collections.Generic.List<string>")
            self.assertEqual(load["id"]["type"], "System.Guid")
            self.assertNotIn("length", load)

    def test_words(self):
        with runtime_async(20) as debuggee:
            text = mixstack_dump.run("why", debuggee.pid, "--heap")[1]
            self.assertIn("20 x OrderApi.GetOrder > PriceService.Load > Db.ReadRow awaits a TaskCompletionSource\n", text)
            self.assertIn("20 x Chains.Entered awaits SemaphoreSlim.WaitAsync\n", text)
            dump = mixstack_dump.run("dump", debuggee.pid, "--async", "--heap", "--merge")[1]
            self.assertIn("\n    Shop.Db.ReadRow(Task<int>)\n    Shop.PriceService.Load(", dump)


if __name__ == "__main__":
    unittest.main()
