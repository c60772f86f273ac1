"""A library that was edited while it ran (Hot Reload): names of what was added, and no line of the older source."""
import pathlib
import unittest

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase


class HotReload(LiveCase):
    def setUp(self):
        try:
            self.program = debuggee_build.hot_reload()
        except RuntimeError as e:
            self.skipTest(f"the SDK's compiler is not there: {e}")

    def test_names_of_what_was_added(self):
        with processes.Debuggee([self.program], {"DOTNET_MODIFIABLE_ASSEMBLIES": "debug"}) as debuggee:
            for command in ((), ("--async",)):
                dump = mixstack_dump.dump(debuggee.pid, *command)
                [thread] = [t for t in dump["threads"] if t["name"] == "edited"]
                ours = [f for f in thread["frames"] if f.get("module") == "Edited"]
                added = ["Old.Added(int)"] * 4
                self.assertEqual([f["name"] for f in ours],
                                 ["Later<string>.Inner.Stays<int>(string, int)", *added, "Old.Step()", "Old.Last()",
                                  "Other.Unchanged()"])
                self.assertEqual({f.get("line") for f in ours}, {None})
                self.assertEqual([f.get("note") == "added while it ran" for f in ours], 5 * [True] + 3 * [False])
                [kept] = [f for t in dump["threads"] if t["name"] == "kept" for f in t["frames"] if f.get("module") == "Kept"]
                self.assertEqual((kept["name"], kept["line"], kept.get("note")), ("Kept.Stays()", 3, None))


if __name__ == "__main__":
    unittest.main()
