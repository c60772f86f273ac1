"""The agent comes into a process whose threads stand already, below code that it was not told of: stubs of delegates that
native code calls, native code without anything to unwind by. They do not run again, and are shown as a dump shows them."""
import collections
import json
import pathlib
import tempfile

import agent_walks
from harness import LiveCase
import mixstack_dump
import processes
import test_agent

SECONDS = 8 if test_agent.IS_EMULATED else 3


class Attached(LiveCase):
    def setUp(self):
        super().setUp()
        if test_agent.library() is None:
            self.skipTest("no libmixstack_agent.so beside the command")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mixstack-attached-")))

    def recorded(self, debuggee):
        """A dump's threads, and {tid: stacks} of those that waited in a recording that began afterwards."""
        dump = mixstack_dump.dump(debuggee.pid)
        out = self.folder / "out.json"
        status, _, error, _ = mixstack_dump.run("agent", "record", debuggee.pid, "--hz", 0, "--wall", 50, "--wall-threads",
                                                64, "-d", SECONDS, "--format", "json", "-o", out, timeout=120)
        self.assertEqual(status, 0, error)
        profile = json.loads(out.read_text())
        stacks = collections.defaultdict(list)
        for stack in profile["stacks"]:
            if stack["state"] == "waiting":
                stacks[stack["tid"]].append({**stack, "frames": [profile["frames"][i] for i in stack["frames"]]})
        return dump["threads"], stacks

    def check_whole(self, thread, stacks):
        """Nearly all that was counted of a thread is the stack a dump shows."""
        theirs = [f for f in thread["frames"] if f["code_kind"] != "runtime_frame"]
        ours = max(stacks, key=lambda s: s["count"])
        names = [f["name"] for f in ours["frames"]]
        self.assertEqual(len(names), len(theirs), f"{thread['name']}: {ours['stop_reason']} after {names[-8:]}")
        for theirs_, frame in zip(theirs, ours["frames"]):
            self.assertEqual(frame["kind"] == "managed", theirs_["kind"] == "managed", f"{frame} for {theirs_['name']}")
            if frame["kind"] == "managed" and frame["name"] != "[dynamic]":
                self.assertEqual(agent_walks.plain_name(frame["name"]), agent_walks.plain_name(theirs_["raw_name"]))
        self.assertEqual(ours["stop_reason"], "end_of_stack")
        self.assertGreater(ours["count"], sum(s["count"] for s in stacks) * 3 // 4, f"{thread['name']}: rarely whole")

    def check(self, scenario, least):
        with processes.scenario(scenario) as debuggee:
            threads, stacks = self.recorded(debuggee)
        mine = [t for t in threads if t["managed"] and (t["managed"]["name"] or "") and stacks.get(t["tid"])
                and any(f["kind"] == "managed" for f in t["frames"])]
        for thread in mine:
            self.check_whole(thread, stacks[thread["tid"]])
        self.assertGreaterEqual(len(mine), least)
        print(f"            {scenario}: {len(mine)} threads, {sum(len(t['frames']) for t in mine)} frames", flush=True)

    def test_below_delegates(self):
        self.check("reverse_pinvoke", 4)

    def test_below_native_code_of_both_kinds(self):
        self.check("native_between", 8)

    def test_twenty_thousand_frames(self):
        self.check("deep", 1)
