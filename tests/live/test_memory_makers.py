"""`mixstack memory --makers` and `record -m alloc`, `-m faults`: against what a program counts of itself."""
import collections
import json
import pathlib
import subprocess
import time
import unittest

import jsonschema

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase, alone

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/makers.schema.json").read_text())
SERVER = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}
TYPES = {"Orders": {"Makers.Order"}, "Buffers": {"byte[]"}, "Texts": {"System.String"}, "Boxes": {"System.Int64"},
         "Lists": {"int[]", "System.Collections.Generic.List<int>"}, "Large": {"byte[]"}}
KNOWN = "new "
NOT_KNOWN = "new (type not known)"


def makers(*arguments, environment=None):
    return processes.Debuggee([debuggee_build.makers(), *map(str, arguments)], environment)


def truth(debuggee):
    """{place: bytes} since the start."""
    made = {}
    line = debuggee.ask("truth")
    while line != "END":
        _, place, value = line.split()
        made[place] = int(value)
        line = debuggee.read_line()
    return made


def made_by(place, names):
    return any(f"Makers.Places.{place}(" in name for name in names)


@alone("shares of what threads make while they run")
class Makers(LiveCase):
    def record(self, pid, mode, seconds):
        """[(functions, outermost first; bytes)] and what was said."""
        done = subprocess.run([mixstack_dump.binary(), "record", "-p", str(pid), "-m", mode, "-d", str(seconds), "-f", "folded", "-o", "-"],
                              capture_output=True, text=True, timeout=120)
        if "hardware breakpoints" in done.stderr and done.returncode != 0:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        stacks = []
        for line in done.stdout.splitlines():
            names, count = line.rsplit(" ", 1)
            stacks.append((names.split(";"), int(count)))
        return stacks, done.stderr

    def check_shares(self, *arguments, environment=None, seconds=6, known=0.5):
        with makers(*arguments, environment=environment) as debuggee:
            time.sleep(1)  # tiers
            before = truth(debuggee)
            stacks, said = self.record(debuggee.pid, "alloc", seconds)
            after = truth(debuggee)
        bytes_of = {place: after[place] - before[place] for place in after}
        everything, recorded = sum(bytes_of.values()), sum(count for _, count in stacks)
        # The program counts from before the recording began until it has been written.
        self.assertLess(recorded, 1.1 * everything, said)
        self.assertGreater(recorded, 0.6 * everything, said)
        for place, made in bytes_of.items():
            here = [(names[-1], count) for names, count in stacks if made_by(place, names)]
            share, true_share = sum(count for _, count in here) / recorded, made / everything
            self.assertAlmostEqual(share, true_share, delta=0.04 + 0.3 * true_share, msg=(place, bytes_of, said))
            types = collections.Counter()
            for name, count in here:
                if name.startswith(KNOWN) and name != NOT_KNOWN:
                    types[name.removeprefix(KNOWN)] += count
            if true_share < 0.05:
                continue
            right = sum(types[name] for name in TYPES[place])
            self.assertGreaterEqual(right, 0.98 * sum(types.values()), (place, types))
            self.assertGreater(sum(types.values()), known * sum(count for _, count in here), (place, here))

    def test_places_and_types_of_threads_that_rest(self):
        self.check_shares(2, 2000)

    def test_places_and_types_of_busy_threads(self):
        self.check_shares(2, 20, known=0.3)

    def test_server_collector(self):
        self.check_shares(2, 1000, environment=SERVER)

    def test_short_threads_are_seen(self):
        with makers("short") as debuggee:
            time.sleep(0.5)
            stacks, said = self.record(debuggee.pid, "alloc", 2)
        self.assertGreater(sum(count for names, count in stacks if any("Makers.Places." in name for name in names)), 0, said)

    def test_debug_registers_are_given_back(self):
        with makers(2, 1000) as debuggee:
            for _ in range(5):  # with two words each, two recordings at once would use up all four
                self.record(debuggee.pid, "alloc", "300ms")

    def test_the_answer(self):
        with makers(2, 500) as debuggee:
            time.sleep(0.5)
            begin = truth(debuggee)
            status, out, error, _ = mixstack_dump.run("memory", debuggee.pid, "--makers", "-d", "2s", "--json")
            end = truth(debuggee)
            if status == 7:
                self.skipTest(out)
            self.assertEqual(status, 0, error)
            _, text, _, _ = mixstack_dump.run("memory", debuggee.pid, "--makers", "-d", "500ms")
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        made = sum(end.values()) - sum(begin.values())
        self.assertLess(answer["small"] + answer["large"], 1.05 * made)
        self.assertGreater(answer["small"] + answer["large"], 0.5 * made)
        names = [thread["name"] for thread in answer["threads"][:2]]
        self.assertEqual(sorted(names), ["maker-0", "maker-1"], answer["threads"])
        self.assertIn("byte[]", [one["name"] for one in answer["types"][:3]])
        self.assertTrue(all("Makers.Places." in one["name"] for one in answer["places"][:3]), answer["places"])
        self.assertIn(f" mixstack record -m alloc -p {debuggee.pid}", text)

    def test_native_memory_is_first_used_at(self):
        with makers("native") as debuggee:
            stacks, said = self.record(debuggee.pid, "faults", 3)
        grown = sum(count for names, count in stacks if any("Makers.Places.GrowNative" in name for name in names))
        recorded = sum(count for _, count in stacks)
        self.assertGreater(grown, 0.8 * recorded, said)
        self.assertGreater(grown, 10_000_000, said)  # half a megabyte 50 times a second, less on a busy machine


if __name__ == "__main__":
    unittest.main()
