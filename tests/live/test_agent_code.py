"""The agent's map of code against the list that the runtime itself writes of all it compiles (DOTNET_PerfMapEnabled)."""
import pathlib
import re
import tempfile
import time
import unittest

from harness import LiveCase
import processes
import test_agent
import test_agent_walks

# "ADDRESS SIZE NAME[TIER]": precompiled code and stubs, which the runtime lists, too, are not the JIT's.
BODY = re.compile(r"^(?:0x)?([0-9a-f]+) ([0-9a-f]+) (?!stub )(.*)\[(?!PreJIT\])\w+\]$", re.I)
# New versions of methods, generics, methods without a name, code that is freed.
SCENARIOS = ("tiers", "osr", "generics", "dynamic_methods", "lambdas", "collectible", "churn")


class Code(LiveCase):
    def setUp(self):
        super().setUp()
        self.library = test_agent_walks.library()
        if self.library is None:
            self.skipTest("no libagent_raw_stacks.so beside the command")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mixstack-code-")))

    def environment(self, attached):
        """PerfMapEnabled=3: the list alone, in the folder that PerfMapJitDumpPath names."""
        more = {"DOTNET_ReadyToRun": "0", "DOTNET_PerfMapEnabled": "3", "DOTNET_PerfMapJitDumpPath": str(self.folder),
                "MIXSTACK_TEST_CODE": str(self.folder / "code")}
        if attached:
            return more
        return more | {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f10}",
                       "CORECLR_PROFILER_PATH": str(self.library), "MIXSTACK_AGENT_HZ": "1"}

    def listed(self, pid):
        """{(begin, end): name} of what the runtime says it compiled."""
        found = {}
        for line in (self.folder / f"perf-{pid}.map").read_text(errors="replace").splitlines():
            if match := BODY.match(line):
                begin = int(match[1], 16)
                found[begin, begin + int(match[2], 16)] = match[3]
        return found

    def known(self):
        path = self.folder / "code"
        text = path.read_text() if path.exists() else ""
        return [tuple(int(word, 16) for word in line.split()) for line in text.splitlines()]

    def missing(self, listed, attached):
        """Bodies of which a part is in no piece: a body has a piece for each of its funclets. Methods without metadata are
        not enumerated for who attaches; they are learned of when a walk meets them (test_agent.py)."""
        ends = {}  # of the longest piece that begins there
        for begin, end in self.known():
            ends[begin] = max(end, ends.get(begin, 0))
        gone = []
        for (begin, end), name in listed.items():
            at = begin
            while at < end and at in ends:
                at = ends[at]
            if at < end and not (attached and "dynamicClass::" in name):
                gone.append((hex(begin), hex(end), hex(at), name))
        return gone

    def check(self, scenario, attached):
        with processes.scenario(scenario, environment=self.environment(attached)) as debuggee:
            if attached:
                settings = {"MIXSTACK_AGENT_HZ": "1"}
                self.assertEqual(test_agent.attach(debuggee.pid, self.library, **settings), 0)
            time.sleep(0.5)
            listed = self.listed(debuggee.pid)
            end = time.monotonic() + (60 if test_agent.IS_EMULATED else 10)
            # What was listed last may be told of a moment later; what was freed before an attach is nobody's.
            while (gone := self.missing(listed, attached)) and time.monotonic() < end:
                time.sleep(0.2)
        print(f"            {scenario}{', attached' if attached else ''}: {len(listed)} bodies, {len(gone)} not known", flush=True)
        self.assertGreater(len(listed), 1000, "the runtime lists what it compiles")
        self.assertEqual(gone, [])

    def test_attached(self):
        self.check("dynamic_methods", True)


def _make(scenario):
    return lambda self: self.check(scenario, False)


for _scenario in SCENARIOS:
    setattr(Code, f"test_{_scenario}", _make(_scenario))


if __name__ == "__main__":
    unittest.main()
