"""Values of the program: `dump --arguments`, `why --data`, requests, against the program's own word (lines TRUTH)."""
import json
import pathlib
import tempfile
import unittest

import jsonschema

import cores
import debuggee_build
import dump_schema
import mixstack_dump
import processes
from harness import LiveCase

WHY_SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/why.schema.json").read_text())
NOT_TIERED = {"DOTNET_TieredCompilation": "0"}
NO_READY_TO_RUN = {"DOTNET_TieredCompilation": "0", "DOTNET_ReadyToRun": "0"}


def values(kind, mode, environment=None):
    return processes.Debuggee([debuggee_build.values(kind), mode], environment)


def truth_of(debuggee):
    """(method, argument) to the set of what the program said of it: (kind, rest)."""
    told = {}
    for line in debuggee.lines:
        _, method, name, kind, *rest = line.split(" ", 4)
        told.setdefault((method, name), set()).add((kind, rest[0] if rest else ""))
    return told


def short(frame):
    """"Box.Hold" of Values.Box<System.Int32>.Hold(...), "Arguments.Local" of Values.Arguments.Captured.Local(int)."""
    name = frame["name"].split("(")[0]
    while "<" in name:
        head, _, rest = name.partition("<")
        depth, at = 1, 0
        while depth and at < len(rest):
            depth += {"<": 1, ">": -1}.get(rest[at], 0)
            at += 1
        name = head + rest[at:]
    parts = name.split(".")
    return f"{parts[-3]}.{parts[-1]}" if parts[-1] == "Local" else ".".join(parts[-2:])


def said(value, truth):
    """Whether a value is one of those that the program named."""
    for kind, rest in truth:
        if kind == "null" and value["text"] == "null":
            return True
        if kind == "number" and value["text"] in (rest, f"ref {rest}"):
            return True
        if kind == "float" and value["text"] and float(value["text"]) == float(rest):
            return True
        if kind == "string" and value["object"]:
            length, _, text = rest.partition(" ")
            if value["type"].removeprefix("ref ") == "string" and value["length"] == int(length) and said_text(value["content"], text):
                return True
        if kind == "array" and value["object"] and value["length"] == int(rest.split()[0]):
            return True
        if kind in ("object", "struct") and rest.split("`")[0] in value["type"]:
            return True
    return False


def said_text(content, text):
    if content is None:
        return True
    return content.removesuffix("…") == text[:len(content.removesuffix("…"))]


class Values(LiveCase):
    def arguments(self, dump):
        """(method, name, value) of every told, moved or dropped argument of the program's own methods."""
        for thread in dump["threads"]:
            for frame in thread["frames"]:
                for value in frame.get("arguments") or []:
                    if frame["module"] == "Values":
                        yield short(frame), value["name"], value

    def compare(self, dump, truth):
        """No value is another than the program says. Answers how many are told, and how many are not."""
        told, lacking, wrong = 0, [], []
        self.check_belongs_together(dump)
        for method, name, value in self.arguments(dump):
            if (method, name) not in truth:
                continue
            is_address = value["type"].startswith("ref ") and (value["text"] or "").startswith("0x")
            if value["state"] != "told" or is_address:
                lacking.append(f"{method} {name}: {value['state']}")
                continue
            told += 1
            if not said(value, truth[method, name]):
                wrong.append(f"{method} {name}: {value}, expected {truth[method, name]}")
        self.assertEqual(wrong, [])
        return told, lacking

    def check_belongs_together(self, dump):
        """Two threads are in Cart.Add: what the one has was never the other's."""
        for thread in dump["threads"]:
            for frame in thread["frames"]:
                if frame["module"] != "Values" or short(frame) != "Cart.Add" or not frame["arguments"]:
                    continue
                lengths = {v["name"]: v["length"] for v in frame["arguments"] if v["length"] is not None}
                prices = {float(v["text"]) for v in frame["arguments"] if v["name"] == "price" and v["text"]}
                of_big = [lengths.get("item") == 200] * ("item" in lengths) + [lengths.get("counts") == 70] * ("counts" in lengths)
                of_big += [price > 10 for price in prices]
                of_big += [v["type"] == "Values.BigCart" for v in frame["arguments"] if v["name"] == "this" and v["object"]]
                self.assertLessEqual(len(set(of_big)), 1, frame["arguments"])

    def check(self, kind, fewest, environment=None, most_lacking=None):
        with values(kind, "arguments", environment) as debuggee:
            dump = mixstack_dump.dump(debuggee.pid, "--arguments", "--data")
            jsonschema.validate(dump, dump_schema.strict())
            told, lacking = self.compare(dump, truth_of(debuggee))
            self.assertGreaterEqual(told, fewest, lacking)
            if most_lacking is not None:
                self.assertLessEqual(len(lacking), most_lacking, lacking)
            return dump

    def test_code_that_is_not_optimised(self):
        self.check("debug", 50, {"DOTNET_TieredCompilation": "0"}, most_lacking=0)
        self.check("debug", 50, most_lacking=0)

    def test_tier_zero(self):
        dump = self.check("release", 50, most_lacking=0)
        of_replaced = [name for method, name, _ in self.arguments(dump) if method == "Cart.Looping"]
        self.assertEqual(of_replaced, ["this", "rounds", "text", "ratio", "last"])

    def test_optimised_code(self):
        self.check("release", 20, NOT_TIERED)
        self.check("release", 20, NO_READY_TO_RUN)

    def test_precompiled_code(self):
        self.check("ready-to-run", 10)


    def test_objects_that_move(self):
        """Collections compact the heap all the time: what is told is right, or that it may have moved."""
        for kind, environment in (("release", None), ("release", NO_READY_TO_RUN)):
            with self.subTest(environment), values(kind, "churn", environment) as debuggee:
                told = 0
                for _ in range(20):
                    dump = mixstack_dump.dump(debuggee.pid, "--arguments", "--data")
                    told += self.compare(dump, truth_of(debuggee))[0]
                self.assertGreater(told, 100)

    def test_contents_are_for_those_who_ask(self):
        with values("release", "arguments") as debuggee:
            dump = mixstack_dump.dump(debuggee.pid, "--arguments")
            contents = [value for _, _, value in self.arguments(dump) if value["content"] is not None]
            self.assertEqual(contents, [])
            text = mixstack_dump.run("dump", debuggee.pid, "--arguments")[1]
            self.assertIn("item: string 0x", text)
            self.assertIn("count: int = -5", text)
            self.assertIn("this: Values.BigCart 0x", text)
            self.assertNotIn("generic\"", text)
            text = mixstack_dump.run("dump", debuggee.pid, "--arguments", "--data")[1]
            self.assertIn('one: string = "generic"', text)
            self.assertIn("letter: char = 'x'", text)
            self.assertNotIn("arguments", mixstack_dump.dump(debuggee.pid)["threads"][0]["frames"][0])

    def test_references_structs_and_absences(self):
        with values("debug", "arguments") as debuggee:
            found = {(m, n): v for m, n, v in self.arguments(mixstack_dump.dump(debuggee.pid, "--arguments", "--data"))}
        self.assertEqual(found["Arguments.Structs", "point"]["text"], "{X = 8, Y = 9}")
        self.assertEqual((found["Arguments.Structs", "maybe"]["type"], found["Arguments.Structs", "maybe"]["text"]), ("int?", "77"))
        self.assertEqual(found["Arguments.Structs", "nothing"]["text"], "null")
        self.assertEqual((found["Arguments.Structs", "large"]["state"], found["Arguments.Structs", "large"]["type"]),
                         ("told", "Values.Large"))
        self.assertEqual(found["Arguments.Numbers", "color"]["type"], "Values.Color")
        self.assertEqual((found["Arguments.Referred", "number"]["type"], found["Arguments.Referred", "number"]["text"]),
                         ("ref int", "51"))
        self.assertEqual(found["Arguments.Referred", "text"]["content"], "by reference")
        self.assertRegex(found["Arguments.Referred", "pointer"]["text"], "^0x[0-9a-f]+$")
        self.assertEqual(found["Arguments.Optional", "absent"]["text"], "null")
        self.assertEqual((found["Point.Describe", "this"]["type"], found["Point.Describe", "this"]["text"]),
                         ("ref Values.Point", "{X = 3, Y = 4}"))

    def test_cores_tell_the_same(self):
        with values("release", "arguments") as debuggee, tempfile.TemporaryDirectory() as folder:
            truth = truth_of(debuggee)
            core = cores.gcore(debuggee.pid, pathlib.Path(folder) / "core")
            dump = mixstack_dump.dump_core(core, "--arguments", "--data")
            told, lacking = self.compare(dump, truth)
            self.assertGreaterEqual(told, 50, lacking)

    def test_packs_tell_the_same_but_contents(self):
        with values("release", "arguments") as debuggee, tempfile.TemporaryDirectory() as folder:
            pack = pathlib.Path(folder) / "values.pack"
            self.assertEqual(mixstack_dump.run("pack", debuggee.pid, "-o", pack)[0], 0)
            # Words of the command line are left out of packs wherever they are, in names, too: "arguments" is one.
            live, packed = (sorted(str(a) for a in self.arguments(dump) if a[0] != "Program.Main")
                            for dump in (mixstack_dump.dump(debuggee.pid, "--arguments"), mixstack_dump.dump_core(pack, "--arguments")))
            self.assertGreater(len(live), 50)
            self.assertEqual(packed, live)

    def why(self, pid, *options):
        status, out, error, _ = mixstack_dump.run("why", pid, "--json", *options)
        self.assertIn(status, (0, 11), error)
        answer = json.loads(out)
        jsonschema.validate(answer, WHY_SCHEMA)
        return answer

    def test_variables_of_async_methods(self):
        for kind in ("release", "debug"):
            with self.subTest(kind), values(kind, "async") as debuggee:
                self.assertNotIn('"values"', json.dumps(self.why(debuggee.pid)))
                answer = self.why(debuggee.pid, "--data")
                names = {t["name"]: t["tid"] for t in answer["threads"]}
                chains = {c["waiter"]: c for c in answer["pending"][0]["chains"]}
                order, load = ({v["name"]: v for v in s["values"]} for s in chains[names["waiter"]]["steps"])
                self.assertEqual(order["order"]["text"], "4711")
                self.assertEqual(order["customer"]["content"], 'Mr. "Q"\\n')
                self.assertEqual((order["color"]["type"], order["color"]["text"]), ("Values.Color", "7"))
                self.assertEqual(order["price"]["text"], "12.5")
                self.assertEqual(order["nothing"]["text"], "null")
                self.assertEqual((order["this"]["type"], order["items"]["length"]), ("Values.AsyncValues", 3))
                self.assertEqual(load["key"]["content"], "k" * 80 + "…")
                self.assertEqual(load["point"]["text"], "{X = 4711, Y = 6}")
                self.assertEqual(load["attempt"]["text"], "3")
                self.assertEqual(load["seen"]["type"], "System.Collections.Generic.List<string>")
                [generic] = chains[names["generic"]]["steps"]
                self.assertEqual({v["name"]: v["content"] for v in generic["values"]}["value"], "a value")
                text = mixstack_dump.run("why", debuggee.pid, "--data")[1]
                self.assertIn("order = 4711", text)
                self.assertNotIn("order = 4711", mixstack_dump.run("why", debuggee.pid)[1])

    def test_requests_and_sockets(self):
        with values("release", "requests") as debuggee:
            [ports] = [line.split()[2:] for line in debuggee.lines if line.startswith("TRUTH ports ")]
            own, deaf = map(int, ports)
            expected = {("incoming", "GET", "/blocked/coffee?size=2"), ("incoming", "POST", "/awaits/7"),
                        ("incoming", "GET", "/forwards"),
                        ("outgoing", "GET", f"http://127.0.0.1:{deaf}/prices?of=everything"),
                        ("outgoing", "PUT", f"http://127.0.0.1:{deaf}/orders/12"),
                        ("database", "Values.SlowCommand", "DELETE FROM Orders WHERE Id = 99")}
            self.wait_until(lambda: len(self.why(debuggee.pid)["pending"][0]["requests"]) >= len(expected), "all requests")
            answer = self.why(debuggee.pid, "--data")
            pending = answer["pending"][0]
            self.assertEqual({(r["kind"], r["method"], r["what"]) for r in pending["requests"]}, expected)
            self.assertEqual(len(pending["requests"]), len(expected))
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            threads = {r["what"]: names.get(r["thread"]) for r in pending["requests"]}
            self.assertEqual(threads[f"http://127.0.0.1:{deaf}/orders/12"], "client")
            self.assertEqual(threads["DELETE FROM Orders WHERE Id = 99"], "database")
            self.assertEqual(threads["/blocked/coffee?size=2"], ".NET TP Worker")
            silent = self.why(debuggee.pid)["pending"][0]["requests"]
            self.assertEqual({r["what"] for r in silent}, {None})
            peers = {c["peer"] for c in pending["chains"] if c["end"] == "socket"}
            self.assertIn(f"127.0.0.1:{deaf}", peers)
            text = mixstack_dump.run("why", debuggee.pid)[1]
            self.assertRegex(text, r"\b3\b.* 2 GET, 1 POST; 2\b.* 1 GET, 1 PUT; 1\b.* 1 Values\.SlowCommand")
            self.assertNotIn("coffee", text)
            self.assertNotIn("Orders WHERE", text)
            text = mixstack_dump.run("why", debuggee.pid, "--data")[1]
            self.assertIn("GET /blocked/coffee?size=2 ", text)


if __name__ == "__main__":
    unittest.main()
