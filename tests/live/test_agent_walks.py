"""The same answer twice: a stopped process is dumped from outside, then each thread walks itself in the agent's handler
before it does anything else, from the very registers it was stopped with."""
import os
import pathlib
import signal
import tempfile
import time
import unittest

import agent_walks
from harness import LiveCase
import mixstack_dump
import processes

# Stacks of every kind, in seconds. MIXSTACK_ALL_WALKS=1: all scenarios but those below.
CHOSEN = ("reverse_pinvoke", "native_between", "dynamic_methods", "tail_calls", "nested_exceptions", "filter_native",
          "signal_handler_altstack", "rbp_plain", "osr", "native_thread", "resolvers", "gc_wait")
MOVING = ("tiny_calls", "spin_stubs", "helpers")
LEFT_OUT = {
    "churn": "its threads are gone before they can be asked",
    "sleepers": "500 threads of one and the same stack",
    "traffic": "a server and its clients: other scenarios have their stacks",
    "forks": "its threads are inside children's creation: live/test_agent_control.py",
    "vfork": "a thread that waits for its vfork child takes no signal before that ends",
}


def library():
    built = mixstack_dump.binary().resolve().parent.parent
    path = pathlib.Path(os.environ.get("MIXSTACK_MUSL", built)) / "tests" / "agent" / "libagent_raw_stacks.so"
    return path if path.exists() else None


class Walks(LiveCase):
    OWN = ("mixstack-agent", "mixstack-sample")

    def setUp(self):
        super().setUp()
        if library() is None:
            self.skipTest("no libagent_raw_stacks.so beside the command")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mixstack-walks-")))

    def environment(self, scenario):
        """One sample a second of CPU time: about nobody is asked but by us."""
        return {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f10}",
                "CORECLR_PROFILER_PATH": str(library()), "MIXSTACK_AGENT_HZ": "1",
                "MIXSTACK_TEST_STACKS": str(self.folder / scenario)}

    def instant(self, debuggee, scenario, *options):
        """A dump of the stopped process, and what its threads found at the same instant. It goes on."""
        path, value = self.folder / scenario, agent_walks.mark(debuggee.pid, library())
        debuggee.stop()
        dump = mixstack_dump.dump(debuggee.pid, "--registers", *options)
        self.assert_stopped(debuggee)
        memory = agent_walks.Memory(debuggee.pid)
        others = {t["tid"]: (agent_walks.like_datadog(t["frames"], memory), agent_walks.like_otel(t["frames"], memory))
                  for t in dump["threads"]}
        for thread in dump["threads"]:
            thread["replaced"] = agent_walks.replaced_returns(thread, memory)
        memory.close()
        written = path.stat().st_size if path.exists() else 0
        asked = {t["tid"] for t in dump["threads"] if t["name"] not in self.OWN
                 and not agent_walks.is_held_up(debuggee.pid, t["tid"])
                 and agent_walks.ask(debuggee.pid, t["tid"], value)}
        debuggee.resume()
        inside, begin = {}, time.monotonic()
        while time.monotonic() < begin + 20:
            time.sleep(0.03)
            inside = agent_walks.read(path, written)
            answered = {tid for tid, walk in inside.items() if walk.state == "waiting" or time.monotonic() > begin + 3}
            if asked <= answered:
                break
        return dump, {tid: walk for tid, walk in inside.items() if tid in asked}, asked, others

    def check(self, scenario, rounds=1):
        """Equal stacks; answers (threads, frames) compared."""
        threads = frames = 0
        differences = []
        with processes.scenario(scenario, environment=self.environment(scenario)) as debuggee:
            for _ in range(rounds):
                dump, inside, asked, _ = self.instant(debuggee, scenario)
                differences += [f"thread {tid} gave no answer" for tid in asked - inside.keys()]
                for thread in dump["threads"]:
                    if thread["tid"] not in inside:
                        continue
                    if inside[thread["tid"]].stop == "not_captured" and "altstack" in scenario:
                        continue  # the runtime's alternate stack has no room for a walk
                    found, compared = agent_walks.compare(thread, inside[thread["tid"]])
                    differences += [f"{thread['name']}: {d}" for d in found]
                    threads, frames = threads + 1, frames + compared
        print(f"            {scenario}: {threads} stacks, {frames} frames compared", flush=True)
        self.assertGreater(threads, 3, "hardly a thread was compared")
        self.assertGreater(frames, 30, "hardly a frame was compared")
        shown = "\n  ".join(differences[:20])
        self.assertFalse(differences, f"{scenario}: {len(differences)} differences:\n  {shown}")

    # What is between managed frames, seen by four walkers.

    @staticmethod
    def between(names):
        """Lengths of the chains of native frames between managed ones, as a list of names or Nones (managed) shows."""
        lengths, length, has_managed = [], 0, False
        for name in names:
            if name is None:
                if has_managed and length:
                    lengths.append(length)
                has_managed, length = True, 0
            else:
                length += 1
        return lengths

    def test_frames_between(self):
        """1, 8, 9 and 40 native frames between managed ones, twice on a stack: ours loses none. Others' ways lose all of
        them, and the rest of the stack, too, where native code has a use of its own for the register of frame pointers, or keeps
        them and is more than eight frames deep."""
        with processes.scenario("native_between", environment=self.environment("native_between")) as debuggee:
            dump, inside, _, others = self.instant(debuggee, "native_between")
        rows = []
        for thread in dump["threads"]:
            kind, _, count = thread["name"].partition("-")
            if kind not in ("kept", "bare"):
                continue
            frames, count = thread["frames"], int(count)
            names = [None if is_managed else name for _, is_managed, name in inside[thread["tid"]].frames]
            self.assertEqual(self.between(names), [count, count], f"{thread['name']}: {names}")
            ours = [place for place, _, _ in inside[thread["tid"]].frames]
            ours[0] = agent_walks.number(frames[0]["ip"])  # perhaps a system call begun again
            datadog, otel = others[thread["tid"]]
            lost = lambda found, kind: agent_walks.lost(frames, found, kind)
            rows.append((thread["name"], len(frames), *(lost(f, k) for f in (ours, datadog, otel) for k in ("native", "managed"))))
            self.assertEqual(agent_walks.lost(frames, ours), 0,
                             f"{thread['name']}:\n{[f['ip'] for f in frames]}\n{[hex(place) for place in ours]}")
            self.assertGreaterEqual(lost(datadog, "native"), 2 * count, thread["name"])
            if kind == "kept" and count > 9:  # an optimized callback may share its frame record with the first of them
                self.assertGreater(lost(datadog, "managed"), 0, thread["name"])
        self.assertEqual(len(rows), 8)
        print("            stack: frames; lost, native + managed: ours, Datadog's way, OpenTelemetry's")
        for name, count, *numbers in sorted(rows):
            a, b, c = (f"{numbers[i]} + {numbers[i + 1]}" for i in (0, 2, 4))
            print(f"            {name}: {count}; {a}, {b}, {c}", flush=True)

    def test_frames_in_prologues(self):
        """Frame pointers alone lose the caller of a method that has not set up its own yet, or given it up."""
        ours = theirs = stacks = 0
        with processes.scenario("tiny_calls", environment=self.environment("tiny_calls")) as debuggee:
            for _ in range(60):
                dump, inside, _, others = self.instant(debuggee, "tiny_calls")
                thread = next(t for t in dump["threads"] if t["name"] == "tiny")
                if thread["tid"] not in inside:
                    continue
                stacks += 1
                ours += agent_walks.lost(thread["frames"], [place for place, _, _ in inside[thread["tid"]].frames])
                theirs += agent_walks.lost(thread["frames"], others[thread["tid"]][1])
                if stacks >= 10 and theirs:
                    break
        print(f"            {stacks} stacks in small methods: ours lost {ours} frames, frame pointers {theirs}", flush=True)
        self.assertGreaterEqual(stacks, 10)
        self.assertEqual(ours, 0)
        self.assertGreater(theirs, 0)


def _make(scenario, rounds):
    def test(self):
        self.check(scenario, rounds)
    return test


def _scenarios():
    """(name, rounds): threads that run are looked at more often, prologues and epilogues among others."""
    if not os.environ.get("MIXSTACK_ALL_WALKS"):
        return [(name, 1) for name in CHOSEN] + [(name, 8) for name in MOVING]
    names = processes.scenario_names()
    return [(name, 20 if name in MOVING else 3) for name in names if name not in LEFT_OUT and not name.startswith("crash_")]


for _name, _rounds in _scenarios():
    setattr(Walks, f"test_{_name}", _make(_name, _rounds))


if __name__ == "__main__":
    unittest.main()
