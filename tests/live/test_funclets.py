"""Which handler a funclet is, held against the source: the line that is under way lies in a catch, a filter, a finally."""
import pathlib
import re
import unittest

import cores
import debuggee_build
import mixstack_dump
import processes

# Each stands in handlers of all kinds; the last ones in handlers within handlers, and in the runtime's own.
SCENARIOS = ("funclets", "filter_native", "nested_exceptions", "hardware_exceptions")
# Of iterators: `finally` around a yield is compiled into a fault handler of MoveNext, which the source has not.
ITERATOR = re.compile(r"<\w+>d__\d+\.MoveNext")


def handler_in_source(path, number):
    """The word that opens the innermost block of a handler around a line. A filter has no line of its own: it is said to be
    in the `try` it belongs to. None: no handler."""
    lines = pathlib.Path(path).read_text().splitlines()
    indent = lambda line: len(line) - len(line.lstrip())  # noqa: E731
    block = indent(lines[number - 1]) + 1
    for n in range(number - 1, -1, -1):
        words, at = lines[n].strip(), indent(lines[n])
        if not words or at >= block:
            continue
        if words == "{":
            block = at + 1  # what opens it stands above, as far to the left
        elif n == number - 1 and " when (" in words:
            return "filter"
        elif found := re.match(r"(catch|finally)\b", words):
            return found[1]
        elif words == "try":
            handler = next(line for line in lines[number:] if indent(line) == at and line.strip()[:1] not in "{}")
            if " when (" in handler:
                return "filter"
            block = at
        elif re.match(r"(private|internal|public)\b", words):
            return None
        else:
            block = at
    return None


def handlers_in_source(method):
    """The words of all handlers of a method of Exceptions.cs: for frames that have no line."""
    source = (debuggee_build.REPOSITORY / "tests" / "debuggees" / "Scenarios" / "Exceptions.cs").read_text()
    [body] = re.findall(rf" static \w+ {method}\(.*?(?=\[MethodImpl|\[Scenario)", source, re.DOTALL)
    return set(re.findall(r"(?m)^ +(catch|finally)\b", body)) | ({"filter"} if " when (" in body else set())


class Funclets(unittest.TestCase):
    def check(self, dump):
        """The kinds seen in the program's own code."""
        seen = set()
        for thread in dump["threads"]:
            for frame in thread["frames"]:
                self.assertEqual(frame["is_funclet"], frame["funclet"] is not None)
                if not frame["is_funclet"]:
                    continue
                # The framework's code, too, is of known kinds.
                self.assertIn(frame["note"], ("catch", "filter", "finally", "fault"), frame)
                own = re.match(r"Scenarios\.Exceptions\.(\w+)\(", frame["raw_name"])
                if not frame["file"] and own:
                    self.assertIn(frame["note"], handlers_in_source(own[1]), frame)
                    seen.add(frame["note"])
                if not frame["file"] or not frame["file"].endswith("Exceptions.cs"):
                    continue
                if ITERATOR.search(frame["raw_name"]):
                    self.assertEqual((frame["note"], frame["funclet"]), ("fault", "fault"), frame)
                else:
                    self.assertEqual(frame["note"], handler_in_source(frame["file"], frame["line"]), frame)
                    self.assertIn(frame["funclet"], (frame["note"], "fault" if frame["note"] == "finally" else None))
                seen.add(frame["note"])
        return seen

    def check_all(self, program, environment=None):
        seen = set()
        for scenario in SCENARIOS:
            with self.subTest(scenario), processes.Debuggee([program, scenario], environment) as debuggee:
                seen |= self.check(mixstack_dump.dump_at_rest(debuggee.pid))
        self.assertLessEqual({"catch", "filter", "finally"}, seen)
        return seen

    def test_jitted(self):
        self.assertIn("fault", self.check_all(debuggee_build.SCENARIOS, {"DOTNET_ReadyToRun": "0"}))

    def test_optimised(self):
        """Here the JIT makes of a finally a fault handler and a copy."""
        self.check_all(debuggee_build.SCENARIOS, {"DOTNET_TieredCompilation": "0"})

    def test_ready_to_run(self):
        self.check_all(debuggee_build.scenarios_built("ready-to-run"))

    def test_in_cold_parts(self):
        self.check_all(debuggee_build.scenarios_in_two_parts())

    def test_dotnet_9(self):
        try:
            program = debuggee_build.scenarios_on(9)
        except RuntimeError as error:
            self.skipTest(f"no .NET 9 runtime pack: {str(error)[-200:]}")
        self.check_all(program)

    def test_core_and_text(self):
        with cores.folder() as folder, cores.scenario("funclets", where=folder) as debuggee:
            core = folder / "core"
            cores.createdump(debuggee.pid, core)
            self.assertLessEqual({"catch", "filter", "finally"}, self.check(mixstack_dump.dump_core(core)))
            text = mixstack_dump.run("dump", "--core", core, "--all")[1]
        for method, word in (("InCatch(int, bool)", "catch"), ("InFinally(int)", "finally"), ("InFilter(int, bool)", "filter")):
            self.assertIn(f"Scenarios.Exceptions.{method} [{word}]", text)
        self.assertNotIn("[funclet]", text)


if __name__ == "__main__":
    unittest.main()
