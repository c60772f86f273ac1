"""What tests of `mixstack why` share."""
import json
import pathlib
import time

import jsonschema

import debuggee_build
import mixstack_dump
from harness import LiveCase

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/why.schema.json").read_text())

STUCK, FINE, NOT_KNOWN = 11, 0, 7
MAY_END = 12  # a verdict that ends by its own time-out
# Since .NET 11 threads record each wait of theirs.
RECORDED = "recorded" if debuggee_build.RUNTIME else "proved"


class WhyCase(LiveCase):
    def why(self, pid, *options):
        status, out, error, _ = mixstack_dump.run("why", pid, "--json", *options)
        self.assertIn(status, (STUCK, FINE, MAY_END), error)
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        return status, answer

    def truth(self, debuggee):
        """Waiter's name to (wait, type, owner's name or None)."""
        told = [line.split()[1:] for line in debuggee.lines if line.startswith("TRUTH ")]
        return {waiter: (wait, kind, None if owner == "-" else owner) for waiter, wait, kind, owner in told}

    def compare(self, answer, truth):
        """Every planted wait is named, with the right object and owner. Answers the threads by name."""
        threads = {t["name"]: t for t in answer["threads"] if t["name"]}
        names = {t["tid"]: t["name"] for t in answer["threads"]}
        wrong = []
        for waiter, (kind, of, owner) in truth.items():
            wait = threads[waiter]["wait"]
            if wait is None:
                wrong.append(f"{waiter}: no wait, expected {kind} {of}")
                continue
            owners = [names.get(tid, tid) for tid in wait["owners"]]
            if (wait["kind"], wait["type"].replace("+", "."), owners) != (kind, of.replace("+", "."), [owner] if owner else []):
                wrong.append(f"{waiter}: {wait['kind']} {wait['type']} {owners}, expected {kind} {of} {owner}")
        self.assertEqual(wrong, [])
        return threads

    def compare_natives(self, answer, debuggee):
        """Of threads without a runtime: the kind of their waits, and the names of owners."""
        names = {t["tid"]: t["comm"] for t in answer["threads"]}
        waits = {t["comm"]: t["wait"] for t in answer["threads"]}
        for line in debuggee.lines:
            if line.startswith("TRUTH "):
                _, waiter, kind, owner = line.split()
                self.assertEqual((waits[waiter]["kind"], [names[o] for o in waits[waiter]["owners"]]),
                                 (kind, [] if owner == "-" else [owner]))

    def chains(self, answer, waiter=None):
        """Chains of the thread with a name, or of no thread, as "A > B end"."""
        names = {t["tid"]: t["name"] for t in answer["threads"]}
        [pending] = answer["pending"]
        told = [c for c in pending["chains"] if (names.get(c["waiter"]) if c["waiter"] else None) == waiter]
        return [(" > ".join(self.short(s["method"]) for s in c["steps"]), c) for c in told]

    def until_stuck(self, debuggee, *options):
        for _ in range(100):  # until the rest of the method runs
            status, answer = self.why(debuggee.pid, *options)
            if answer["verdicts"]:
                break
            time.sleep(0.2)
        return status, answer

    @staticmethod
    def short(method):
        return "lambda" if "lambda" in method else method.split("(")[0].rpartition(".")[2]
