"""Source lines of managed frames against those of the runtime's own stack traces."""
import json
import pathlib
import unittest

import debuggee_build
import mixstack_dump
import processes

# Scenarios whose threads park in managed code: state machines, closures, funclets, generics, code between native code.
SCENARIOS = ("async", "iterators", "lambdas", "mixtures", "generics", "members", "signatures", "funclets", "native_between",
             "exception_details", "dynamic_methods", "tiers")


def without_handlers(frames):
    """The runtime shows a method once, where it stands, and nothing of what runs its handlers: neither the handler nor
    the frames that threw. A filter, which runs above the frames that threw, is shown like a method."""
    kept, parent = [], None
    for frame, outer in zip(frames, frames[1:] + [None]):
        if parent is not None and (frame["raw_name"] != parent or frame["is_funclet"]):
            continue
        is_filter = frame["is_funclet"] and outer is not None and "FindFirstPassHandler" in outer["raw_name"]
        parent = frame["raw_name"] if frame["is_funclet"] and not is_filter else None
        if parent is None:
            kept.append(frame)
    return kept


def shown(frames):
    """(file, line) of the frames that have one, innermost first."""
    return [(f["file"], f["line"]) for f in frames if f["file"]]


# Where code has no IL of its own the runtime says the method's first line: behind a last call, and where a block that is
# left calls its finally. What is under way, and what the runtime says.
MISTAKEN = (("DynamicCode.cs", 64, 55), ("Exceptions.cs", 88, 84))


def corrected(mine, theirs):
    """`theirs` with those mistakes put right."""
    if len(mine) != len(theirs):
        return theirs
    known = {((file, line), (file, mistake)) for file, line, mistake in MISTAKEN}
    return [a if ((a[0].rpartition("/")[2], a[1]), (b[0].rpartition("/")[2], b[1])) in known else b for a, b in zip(mine, theirs)]


class Lines(unittest.TestCase):
    def compare(self, program, scenario, environment=None):
        """How many lines agreed; the first frame is Park itself, which has gone on since."""
        command = [program, scenario]
        with processes.Debuggee(command, {"MIXSTACK_LINES": "1", **(environment or {})}) as debuggee:
            dump = mixstack_dump.dump(debuggee.pid)
            theirs = json.loads(debuggee.ask("lines"))
        ours = {thread["tid"]: thread["frames"] for thread in dump["threads"]}
        compared = 0
        for stack in theirs:
            managed = [f for f in ours[stack["tid"]] if f["kind"] == "managed"]
            parked = next(i for i, f in enumerate(managed) if "Scene.Park" in f["raw_name"])
            mine = shown(without_handlers(managed[parked + 1:]))
            self.assertEqual(mine, corrected(mine, shown(stack["frames"])), f"{scenario}: {stack}")
            compared += len(mine)
        return compared

    def compare_all(self, kind, environment=None):
        program = debuggee_build.scenarios_built(kind)
        compared = 0
        for scenario in SCENARIOS:
            with self.subTest(scenario, kind=kind):
                compared += self.compare(program, scenario, environment)
        print(f"            {kind}: {compared} lines equal", flush=True)
        self.assertGreater(compared, 40)

    def test_release(self):
        self.compare_all("release")

    def test_optimised_at_once(self):
        self.compare_all("release", {"DOTNET_TieredCompilation": "0"})

    def test_where_exceptions_were_thrown(self):
        """The source is the witness: what was thrown was thrown in a line that says so."""
        with processes.scenario("exception_details") as debuggee:
            threads = mixstack_dump.dump(debuggee.pid)["threads"]
        thrown = [e["thrown_at"][0] for t in threads if t["managed"] for x in t["managed"]["exceptions"] for e in x["chain"]
                  if e["thrown_at"] and e["thrown_at"][0]["file"]]
        said = [pathlib.Path(f["file"]).read_text().splitlines()[f["line"] - 1] for f in thrown]
        self.assertGreater(len(said), 5)
        self.assertEqual([line for line in said if "throw" not in line.lower()], [])

    def test_debug_with_the_pdb_inside(self):
        self.compare_all("debug")

    def test_ready_to_run(self):
        self.compare_all("ready-to-run")

    def test_dotnet_9(self):
        try:
            program = debuggee_build.scenarios_on(9)
        except RuntimeError as error:
            self.skipTest(f"no .NET 9 runtime pack: {str(error)[-200:]}")
        for environment in ({}, {"DOTNET_TieredCompilation": "0"}):
            compared = sum(self.compare(program, scenario, environment) for scenario in SCENARIOS)
            print(f"            .NET 9: {compared} lines equal", flush=True)
            self.assertGreater(compared, 40)

    def test_cold_parts(self):
        """Precompiled methods in two parts: handlers lie in the other one, far away. Their lines are those of the same code
        compiled whole, which the tests above hold against the runtime's."""
        def lines_of(program, scenario):
            with processes.Debuggee([program, scenario]) as debuggee:
                threads = mixstack_dump.dump_at_rest(debuggee.pid)["threads"]
            calls = [pair for t in threads for pair in zip(t["frames"], t["frames"][1:]) if pair[1]["module"] == "Scenarios"]
            return [((f["raw_name"], f["note"], inner["raw_name"], f["file"], f["line"]),
                     f["method_start"] and abs(int(f["ip"], 16) - int(f["method_start"], 16)) > 0x8000) for inner, f in calls]

        cold = 0
        for scenario in ("funclets", "nested_exceptions", "hardware_exceptions"):
            split = lines_of(debuggee_build.scenarios_in_two_parts(), scenario)
            whole = lines_of(debuggee_build.scenarios_built("ready-to-run"), scenario)
            self.assertCountEqual([line for line, _ in split], [line for line, _ in whole])
            cold += sum(is_cold for (*_, file, _), is_cold in split if file)
        self.assertGreater(cold, 3)


if __name__ == "__main__":
    unittest.main()
