"""`mixstack why` of threads that wait for many tasks, for any of several, and for tasks of sources of values."""
import json
import unittest

import mixstack_dump
import processes
from why_case import FINE, WhyCase

ORDER = "GetOrder > Load > ReadRow"


class WhyTasks(WhyCase):
    def waits(self, answer):
        return {t["name"]: t["wait"] for t in answer["threads"] if t["name"] and t["wait"]}

    def test_many_tasks_and_any_of_several(self):
        with processes.scenario("many_tasks") as debuggee:
            status, answer = self.why(debuggee.pid, "--heap")
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            waits = self.waits(answer)
            self.assertEqual((waits["all"]["kind"], len(waits["all"]["others"]), waits["all"]["more_others"]), ("all_tasks", 300, 0))
            self.assertIn("OrderApi.GetOrder(", waits["all"]["method"])
            told = self.chains(answer, "all")
            self.assertEqual({methods for methods, _ in told}, {ORDER})
            self.assertEqual(sum(chain["count"] for _, chain in told), 300)
            self.assertLess(len(told), 100)
            for waiter, ends in (("any", {ORDER}), ("when-any", {ORDER}), ("when-any-of-two", {ORDER})):
                with self.subTest(waiter):
                    wait = waits[waiter]
                    self.assertEqual((wait["kind"], wait["owners"]), ("any_task", []))
                    self.assertEqual(len(wait["others"]), 3 if waiter == "when-any" else 2)
                    self.assertEqual({methods for methods, chain in self.chains(answer, waiter) if chain["steps"]}, ends)
            # None of these is told again as one that no thread waits for.
            alone = self.chains(answer)
            self.assertEqual({methods for methods, _ in alone}, {ORDER})
            self.assertEqual(sum(chain["count"] for _, chain in alone), 7)

    def test_a_dump_names_the_method_too(self):
        with processes.scenario("many_tasks") as debuggee:
            dump = json.loads(mixstack_dump.run("dump", debuggee.pid, "--json")[1])
            [wait] = [t["wait"] for t in dump["threads"] if t["name"] == "all"]
            self.assertIn("OrderApi.GetOrder(", wait["method"])

    def test_tasks_of_sources_of_values(self):
        awaited = {"item": "Channel", "room": "Channel", "bytes": "PipeReader", "tick": "PeriodicTimer"}
        with processes.scenario("value_tasks") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            for waiter, of in awaited.items():
                with self.subTest(waiter):
                    [(methods, chain)] = self.chains(answer, waiter)
                    self.assertEqual((methods, chain["end"], chain["proof"]), ("Reads", "source", "proved"))
                    self.assertIn(of, chain["awaited_type"])
            text = mixstack_dump.run("why", debuggee.pid)[1]
            self.assertNotIn("TaskCompletionSource", text)


if __name__ == "__main__":
    unittest.main()
