"""A .NET program that musl's own loader runs (scripts/test_musl): whole stacks, names and waits, without the agent."""
import json
import os
import unittest

import mixstack_dump
import processes
from why_case import STUCK, WhyCase


@unittest.skipUnless("MIXSTACK_MUSL" in os.environ, "needs programs for musl (scripts/test_musl)")
class Musl(WhyCase):
    def test_stacks_are_whole(self):
        with processes.scenario("deadlock") as debuggee:
            with open(f"/proc/{debuggee.pid}/maps") as maps:
                text = maps.read()
            self.assertIn("musl", text)
            self.assertNotIn("/ld-linux", text)
            dump = mixstack_dump.dump(debuggee.pid)
            managed = [t for t in dump["threads"] if t["name"] in ("ring0", "ring1")]
            self.assertEqual(len(managed), 2)
            for thread in managed:
                self.assertEqual(thread["stop_reason"], "end_of_stack")
                names = [f["name"] for f in thread["frames"]]
                self.assertEqual(sum(n.startswith("Scenarios.Waits.InMonitor(") for n in names), 2, names)
                self.assertTrue(any(n.startswith("System.Threading.Thread.StartCallback(") for n in names), names)

    def test_a_deadlock_is_told(self):
        with processes.scenario("deadlock") as debuggee:
            status, answer = self.until_stuck(debuggee)
            self.assertEqual([(v["kind"], v["is_certain"]) for v in answer["verdicts"]], [("deadlock", True)])
            self.assertEqual(status, STUCK)

    def test_memory_is_accounted(self):
        with processes.scenario("deadlock") as debuggee:
            account = self.answer("memory", debuggee.pid)["account"]
            [heap] = self.answer("memory", debuggee.pid, "--types")["heaps"]
        self.assertEqual(sum(line["resident"] for line in account["lines"]), account["resident"])
        self.assertEqual(account["allocator"], "musl")
        self.assertTrue(account["runtimes"][0]["is_known"])
        self.assertTrue(heap["is_exact"])
        types = {one["type"]: one["objects"] for one in heap["types"] if not one["is_free"]}
        self.assertEqual(types["Scenarios.Waits.Account"], 2)
        self.assertEqual(sum(types.values()), heap["objects"])

    def answer(self, *arguments):
        status, out, error, _ = mixstack_dump.run(*arguments, "--json")
        self.assertEqual(status, 0, error)
        return json.loads(out)


if __name__ == "__main__":
    unittest.main()
