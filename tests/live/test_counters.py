"""What the runtime counts, read from outside, against what the program itself is told by its runtime."""
import json
import unittest

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase

SERVER = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}
# Our names, theirs, and what ours are multiplied with to be theirs.
SAME = [("exceptions", "exceptions", 1), ("methods", "methods", 1), ("il_bytes", "il_bytes", 1), ("pauses_us", "pauses", 10),
        ("contentions", "contentions", 1)]


class Counters(LiveCase):
    def look(self, debuggee):
        """The runtime's counters between two answers of the program."""
        before = self.ask(debuggee, "count")
        dump = mixstack_dump.dump(debuggee.pid)
        counters = dump["process"]["runtimes"][0]["counters"]
        after = self.ask(debuggee, "count")
        return before, counters, after, dump

    @staticmethod
    def ask(debuggee, question):
        return json.loads(debuggee.ask(question).removeprefix("COUNTED "))

    def check_between(self, before, counters, after, offset):
        """Code that is compiled meanwhile, and its like, is the only difference."""
        for ours, theirs, factor in SAME:
            at = counters[ours] * factor - (offset if ours == "exceptions" else 0)
            # Both round a duration in their own way.
            self.assertLessEqual(before[theirs] - factor, at, ours)
            self.assertGreaterEqual(after[theirs] + factor, at, ours)
        self.assertLessEqual(before["compiling"] * 100, counters["compiling_ns"])
        self.assertGreaterEqual(after["compiling"] * 100, counters["compiling_ns"])

    def check_collector(self, before, counters, after):
        for generation in range(3):
            count = counters["generations"][generation]["collections"]
            self.assertLessEqual(before[f"gen{generation}"], count)
            self.assertGreaterEqual(after[f"gen{generation}"], count)
        self.assertIn(counters["last_collection"]["number"], range(before["index"], after["index"] + 1))
        self.assertEqual(len(counters["generations"]), 5)
        for generation in counters["generations"]:
            self.assertLessEqual(generation.get("survived", 0), 1)

    def check_runtime(self, environment=None):
        with processes.scenario("counters", environment=environment) as debuggee:
            self.ask(debuggee, "work")
            before, counters, after, dump = self.look(debuggee)
            self.assertEqual(counters["server"], environment is not None)
            # Exceptions from before the program listened are the runtime's alone.
            offset = counters["exceptions"] - before["exceptions"]
            self.assertIn(offset, range(0, 10))
            self.check_between(before, counters, after, offset)
            self.check_collector(before, counters, after)
            self.assertEqual(counters["last_collection"]["reason"], "induced")
            self.assertEqual(counters["last_collection"]["generation"], 2)
            self.assertEqual(counters["committed_bytes"], before["committed"])
            allocator = next(t for t in dump["threads"] if t["managed"] and t["managed"]["name"] == "allocator")
            if debuggee_build.RUNTIME:  # the descriptor of 11 has them
                self.assertIn(allocator["managed"]["allocated_bytes"],
                              range(before["allocated"], before["allocated"] + (64 << 10)))
            done = self.ask(debuggee, "work")
            second = self.look(debuggee)
            self.assertEqual(second[1]["exceptions"] - counters["exceptions"], done["exceptions"] - before["exceptions"])
            self.assertEqual(done["exceptions"] - before["exceptions"], 50)
            self.check_between(*second[:3], offset)
            self.check_collector(*second[:3])

    def test_workstation(self):
        self.check_runtime()

    def test_server(self):
        self.check_runtime(SERVER)

    def test_another_collector(self):
        """libclrgc.so, with its own object and table of functions."""
        if debuggee_build.RUNTIME:
            self.skipTest("where its library lies is the shared framework's")
        with processes.scenario("counters", environment={"DOTNET_GCName": "libclrgc.so"}) as debuggee:
            before, counters, after, _ = self.look(debuggee)
            self.assertGreaterEqual(counters["methods"], before["methods"])
            self.assertLessEqual(counters["methods"], after["methods"])
            for generation, found in enumerate(counters.get("generations", [])[:3]):
                self.assertIn(found["collections"], range(before[f"gen{generation}"], after[f"gen{generation}"] + 1))


if __name__ == "__main__":
    unittest.main()
