"""Shared generic code: frames name the types that they run for, against the program's own word (lines TRUTH)."""
import pathlib
import re
import tempfile

import cores
import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase

OPTIMISED = {"DOTNET_TieredCompilation": "0"}
WORDS = {"int": "Int32", "string": "String"}


def arguments_of(name):
    """The type arguments of a method's name and of its types' names, in order: "Order, Box<Customer>"."""
    found, depth, text = [], 0, ""
    for c in name.split("(")[0]:
        depth -= c == ">"
        if depth > 0:
            text += c
        elif c == ">":
            found.append(text)
            text = ""
        depth += c == "<"
    return re.sub(r"\w+", lambda word: WORDS.get(word[0], word[0]), ", ".join(found))


def matches(frame, method):
    owner, own = method.split(".")
    return re.match(rf"(Repository<.*>\.)?{owner}\b.*\b{own}\b", frame["name"]) is not None


class Generics(LiveCase):
    def compare(self, dump, lines, fewest):
        """No frame has other types than the program says; at least so many have the exact ones."""
        exact, wrong = 0, []
        truth = {}
        for line in lines:
            _, tid, method, types = line.split(" ", 3)
            truth.setdefault((int(tid), method), []).append(types)
        for thread in dump["threads"]:
            for frame in thread["frames"]:
                for (tid, method), types in truth.items():
                    # A precompiled instantiation may be of its types alone.
                    if tid != thread["tid"] or "__Canon" not in frame["raw_name"] or not matches(frame, method):
                        continue
                    told = arguments_of(frame["name"])
                    exact += told in types
                    if told not in types and "__Canon" not in told:
                        wrong.append((frame["name"], types))
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(exact, fewest)

    def check(self, kind, fewest, environment=None):
        with processes.Debuggee([debuggee_build.generics(kind)], environment) as debuggee:
            self.compare(mixstack_dump.dump(debuggee.pid), debuggee.lines, fewest)

    def test_tier_zero(self):
        self.check("release", 30)

    def test_code_that_is_not_optimised(self):
        self.check("debug", 30)

    def test_optimised_code(self):
        self.check("release", 28, OPTIMISED)

    def test_on_dotnet_11(self):
        self.check("11", 30)

    def test_precompiled_code(self):
        self.check("ready-to-run", 24)

    def test_a_core_knows_them_too(self):
        with processes.Debuggee([debuggee_build.generics()]) as debuggee, tempfile.TemporaryDirectory() as folder:
            core = cores.gcore(debuggee.pid, pathlib.Path(folder) / "core")
            self.compare(mixstack_dump.dump_core(core), debuggee.lines, 30)
