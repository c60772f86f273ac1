"""`mixstack memory --holders`: references, handles and statics against ClrMD, retained sizes against the program's own word."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

import cores
import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/memory.schema.json").read_text())
FINE, PARTIAL = 0, 7
SERVER = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}
SEGMENTS = {"DOTNET_GCName": "libclrgc.so"}
LONG = ("--most-pause", "5s")  # this machine has other things to do
FIRST_SCREEN = 20


def shape(name, count, environment=None):
    return processes.Debuggee([debuggee_build.holders(), name, str(count)], environment)


def truth(debuggee):
    words = [line.removeprefix("TRUTH ").rsplit(" ", 1) for line in debuggee.lines]
    return {name: int(value) for name, value in words}


def oracle(of):
    source = [str(of)] if isinstance(of, int) else ["core", str(of)]
    done = subprocess.run([debuggee_build.ORACLE, "--references", *source], capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


def lines_of(tree):
    for line in tree:
        yield line
        yield from lines_of(line["held"])


class HoldersCase(LiveCase):
    def answer(self, of, *options, expected=(FINE,)):
        status, out, error, _ = mixstack_dump.run("memory", of, "--json", *options)
        self.assertIn(status, expected, error)
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        [heap] = answer["holders"]
        return heap

    def holders(self, of, *what):
        heap = self.answer(of, "--holders", *what, *LONG)
        self.assertTrue(heap["is_exact"], heap["why_not"])
        self.assertEqual(heap["dangling"], 0)
        return heap

    def text(self, of, *what):
        status, out, error, _ = mixstack_dump.run("memory", of, "--holders", *what, *LONG)
        self.assertEqual((status, error), (FINE, ""))
        return out[out.index("holders:"):]

    def line(self, heap, name, **wanted):
        """The largest line of that name with these values."""
        found = [line for line in lines_of(heap["tree"])
                 if line["name"] == name and all(line[k] == v for k, v in wanted.items())]
        self.assertTrue(found, (name, wanted, [(line["name"], line["root"], line["retained"]) for line in lines_of(heap["tree"])][:30]))
        return max(found, key=lambda line: line["retained"])

    def within(self, value, known):
        self.assertTrue(known["least"] <= value <= known["most"], (value, known))

    @staticmethod
    def first_roots(heap):
        """The roots of what stands on the first screen: the text has lines in the order of the document."""
        return [line["root"] for line in heap["tree"]][:FIRST_SCREEN // 2]

    @staticmethod
    def sum_of(heap, kind):
        return sum(root["roots"] for root in heap["roots"] if root["kind"] == kind)


class AgainstClrmd(HoldersCase):
    KINDS = {"Strong": "strong_handle", "Pinned": "pinned_handle", "AsyncPinned": "async_pinned_handle",
             "SizedRef": "sized_handle", "RefCounted": "counted_handle"}

    def compare(self, of, name):
        expected = oracle(of)
        heap = self.holders(of) if isinstance(of, int) else self.answer(of, "--holders")
        self.assertTrue(heap["is_exact"], heap["why_not"])
        self.assertEqual((heap["all_objects"], heap["references"], heap["reference_sum"]),
                         (expected["objects"], expected["references"], expected["sum"]), name)
        for kind, ours in self.KINDS.items():
            self.assertEqual(self.sum_of(heap, ours), expected["handles"].get(kind, 0), (name, kind))
        self.assertEqual(self.sum_of(heap, "finalizer"), expected["finalizers"], name)
        # ClrMD has no statics of structs and of generic instances.
        self.assertGreaterEqual(self.sum_of(heap, "static_field"), len(expected["statics"]), name)

    def test_references_and_roots(self):
        for name, count in (("cache", 20_000), ("handles", 3000), ("attached", 2000), ("finalizers", 500), ("async", 2000),
                            ("threads", 300), ("events", 3000)):
            with self.subTest(name), shape(name, count) as debuggee:
                debuggee.stop()
                self.compare(debuggee.pid, name)

    def test_of_other_collectors(self):
        for environment in (SERVER, SEGMENTS, {"DOTNET_gcConcurrent": "0"}):
            with self.subTest(environment), shape("handles", 2000, environment) as debuggee:
                debuggee.stop()
                self.compare(debuggee.pid, str(environment))

    def test_of_a_core(self):
        with shape("cache", 5000) as debuggee, tempfile.TemporaryDirectory() as folder:
            core = cores.createdump(debuggee.pid, pathlib.Path(folder) / "core", "h")
            self.compare(core, "core")
            heap = self.answer(core, "--holders", "Holders.Order")
            self.assertEqual(heap["pause_us"], 0)
            self.within(self.line(heap, "Holders.Shapes.s_orders")["retained"], truth(debuggee))
            self.assertEqual(heap["paths"][0]["steps"][0]["name"], "Holders.Shapes.s_orders")


class Truth(HoldersCase):
    def test_a_static_dictionary(self):
        with shape("cache", 20_000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            line = self.line(heap, "Holders.Shapes.s_orders", root="static_field")
            self.within(line["retained"], known)
            [dictionary] = line["held"]
            self.assertEqual((dictionary["shape"], dictionary["count"]), ("collection", 1))
            [orders] = [held for held in dictionary["held"] if held["name"] == "Holders.Order"]
            self.assertEqual(orders["count"], known["items"])
            self.assertEqual(self.line(heap, "Holders.Shapes.Title")["root"], "static_field") if heap["rest"] == 0 else None
            self.assertIn(" Holders.Shapes.s_orders", "\n".join(self.text(debuggee.pid).splitlines()[:FIRST_SCREEN]))

    def test_parts_of_collections(self):
        """Items stand right below a collection, whatever that is made of; nodes of a linked list are told by their number."""
        with shape("collections", 3000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            for name in ("s_queue", "s_sorted", "s_immutable"):
                [collection] = self.line(heap, f"Holders.Collections.{name}", root="static_field")["held"]
                self.assertEqual((collection["shape"], collection["count"]), ("collection", 1), name)
                self.assertEqual({held["name"]: held["count"] for held in collection["held"]}, {"Holders.Order": known["items"]}, name)
            for name in ("s_stack", "s_map", "s_tree"):  # arrays that are items, not what a collection is made of
                [collection] = self.line(heap, f"Holders.Collections.{name}", root="static_field")["held"]
                self.assertEqual({held["name"]: held["count"] for held in collection["held"]}, {"byte[]": known["items"]}, name)
            [linked] = self.line(heap, "Holders.Collections.s_linked", root="static_field")["held"]
            self.assertEqual(linked["shape"], "collection")
            [nodes] = linked["held"]
            self.assertEqual((nodes["shape"], nodes["count"], nodes["field"]), ("list", known["items"], "head"), nodes["name"])

    def test_subscribers_of_an_event(self):
        with shape("events", 10_000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            self.within(self.line(heap, "Holders.Shapes.s_hub", root="static_field")["retained"], known)
            event = self.line(heap, "System.EventHandler", shape="delegate")
            self.assertEqual(event["field"], "Changed")
            self.assertIn("Holders.View.OnChanged", event["methods"][0])
            [views] = [held for held in event["held"] if held["name"] == "Holders.View"]
            self.assertEqual(views["count"], known["items"])
            first = "\n".join(self.text(debuggee.pid).splitlines()[:FIRST_SCREEN])
            for words in ("Holders.Shapes.s_hub", "Changed", "Holders.View.OnChanged", f"{known['items']} Holders.View"):
                self.assertIn(words, first)

    def test_timers(self):
        with shape("timers", 5000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            timers = self.line(heap, "System.Threading.TimerQueueTimer")
            self.assertGreaterEqual(timers["count"], known["items"])
            self.assertIn("Holders.Shapes.Tick", timers["methods"][0])
            self.within(timers["retained"], known)
            self.assertIn("TimerQueueTimer", "\n".join(self.text(debuggee.pid).splitlines()[:FIRST_SCREEN]))

    def test_async_methods_that_wait(self):
        with shape("async", 5000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            self.within(self.line(heap, "Holders.Shapes.s_never", root="static_field")["retained"], known)
            buffers = [line for line in lines_of(heap["tree"]) if line["name"] == "byte[]" and line["field"]]
            self.assertEqual({line["field"] for line in buffers}, {"Holders.Shapes.Wait (waits).buffer"})
            [path] = self.holders(debuggee.pid, buffers[0]["largest"])["paths"]
            self.assertEqual(path["steps"][-1]["field"], "Holders.Shapes.Wait (waits).buffer")
            first = "\n".join(self.text(debuggee.pid).splitlines()[:FIRST_SCREEN])
            self.assertIn("Holders.Shapes.Wait", first)
            self.assertIn("Holders.Shapes.s_never", first)
            kept = self.holders(debuggee.pid, "Holders.Shapes.Kept")["paths"]
            self.assertEqual({path["steps"][-1]["field"] for path in kept},
                             {"Holders.Shapes.Keeper<(int, string)>.Hold (waits).kept",
                              "Holders.Shapes.Async(int).lambda (waits).kept"}, kept)

    def test_statics_of_threads(self):
        with shape("threads", 2000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            found = [line for line in lines_of(heap["tree"]) if line["root"] == "thread_static" and "t_orders" in line["name"]]
            self.assertEqual(len(found), known["items"])
            for line in found:
                self.within(line["retained"], known)

    def test_attached_values_live_as_long_as_their_keys(self):
        with shape("attached", 5000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            self.within(self.line(heap, "Holders.Shapes.s_keys", root="static_field")["retained"], known)

    def test_objects_whose_finalizers_wait(self):
        with shape("finalizers", 2000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            [queue] = [line for line in heap["tree"] if line["root"] == "finalizer"]
            self.within(queue["retained"], known)
            self.assertIn("finalizer", self.first_roots(heap))

    def test_a_list_is_one_line(self):
        with shape("list", 200_000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            nodes = self.line(heap, "Holders.Node", shape="list")
            self.assertEqual((nodes["count"], nodes["held"]), (known["items"], []))
            self.within(nodes["retained"], known)
            self.assertIn(f" {known['items']} Holders.Node", self.text(debuggee.pid))

    def test_what_two_statics_share(self):
        with shape("several", 5000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            line = self.line(heap, "Order[]", root="several")
            self.within(line["retained"], known)
            self.assertEqual(sorted((root["kind"], root["name"]) for root in line["roots"]),
                             [("static_field", "Holders.Shapes.s_one"), ("static_field", "Holders.Shapes.s_other")])
            self.assertEqual((line["more_roots"], line["are_roots_all"]), (0, True))
            first = "\n".join(self.text(debuggee.pid).splitlines()[:FIRST_SCREEN])
            self.assertIn(" Holders.Shapes.s_o", first)

    def test_what_a_dozen_statics_and_a_handle_share(self):
        with shape("mixed", 5000) as debuggee:
            known = truth(debuggee)
            line = self.line(self.holders(debuggee.pid), "Order[]", root="several")
            self.within(line["retained"], known)
            self.assertEqual(len(line["roots"]) + line["more_roots"], known["roots"])
            self.assertTrue(line["are_roots_all"])
            names = {root["name"] for root in line["roots"] if root["kind"] == "static_field"}
            self.assertTrue(names <= {f"Holders.Twelve.{c}" for c in "ABCDEFGHIJKL"}, names)
            self.assertGreaterEqual(len(names), 5)
            self.assertRegex(self.text(debuggee.pid), rf"\b{known['roots'] - 3}\b")  # those that the line has no room for


class Stacks(HoldersCase):
    """Live variables are a class of their own, other words of stacks another one."""

    def local(self, debuggee, heap, method):
        known = truth(debuggee)
        line = self.line(heap, "System.Collections.Generic.List<Order>", root="none")
        self.within(line["retained"], known)
        self.assertGreaterEqual(heap["local_bytes"], known["least"])
        self.assertLess(heap["held_bytes"], known["least"])
        self.assertLess(heap["stack_bytes"], known["least"])
        self.assertTrue(line["place"], line)
        self.assertIn(method, line["place"]["method"])
        return line

    def test_a_local_variable(self):
        with shape("local", 5000) as debuggee:
            heap = self.holders(debuggee.pid)
            line = self.local(debuggee, heap, "Holders.Shapes.Local(")
            self.assertEqual((line["place"]["variable"], line["place"]["thread"]), ("orders", debuggee.pid))
            first = "\n".join(self.text(debuggee.pid).splitlines()[:FIRST_SCREEN])
            self.assertRegex(first, r"Holders\.Shapes\.Local\(int, Action\).*\borders\b")

    def test_a_local_variable_of_a_worker(self):
        with shape("worker", 5000) as debuggee:
            heap = self.holders(debuggee.pid)
            line = self.local(debuggee, heap, "Holders.Stacks.Run(")
            self.assertEqual(line["place"]["variable"], "cache")
            [thread] = [root for root in heap["tree"] if root["root"] == "local" and line in lines_of(root["held"])]
            self.assertRegex(thread["name"], rf"\b{line['place']['thread']}\b.*\bshop worker\b")
            way = self.holders(debuggee.pid, line["largest"])["paths"][0]["steps"]
            self.assertEqual([(s["root"], s["name"]) for s in way][0], ("local", thread["name"]))
            self.assertEqual(way[-1]["place"], line["place"])

    def compare(self, debuggee):
        """Our answer, and ClrMD's references by threads. An interior one may lead to an object that another one leads to."""
        debuggee.stop()
        heap = self.holders(debuggee.pid)
        done = subprocess.run([debuggee_build.ORACLE, "--roots", str(debuggee.pid)], capture_output=True, text=True,
                              check=True, timeout=300)
        threads = {t["osId"]: t["roots"] for t in json.loads(done.stdout)["threads"]}
        least = sum(len({r["object"] for r in roots if not r["isInterior"]}) for roots in threads.values())
        most = sum(len({r["object"] for r in roots}) for roots in threads.values())
        if debuggee_build.RUNTIME:  # it describes what its native code protects (GCFrames), which the DAC leaves out
            most += 2 * len(threads)
        self.assertTrue(least <= self.sum_of(heap, "local") <= most, (least, self.sum_of(heap, "local"), most))
        return heap, threads

    def test_variables_of_many_kinds_of_code_are_clrmds(self):
        # Those with handlers on their stacks make the DAC die.
        for name in ("generics", "marshalling", "collectible", "dynamic_methods", "osr", "shared_stubs", "reverse_pinvoke"):
            with self.subTest(name), processes.Debuggee([debuggee_build.SCENARIOS, name]) as debuggee:
                self.compare(debuggee)

    def test_places_are_those_of_clrmd(self):
        for name in ("worker", "local"):
            with self.subTest(name), shape(name, 1000) as debuggee:
                heap, threads = self.compare(debuggee)
                line = self.line(heap, "System.Collections.Generic.List<Order>", root="none")
                place = line["place"]
                self.assertIn((line["largest"], place["slot"]),
                              [(r["object"], r["address"]) for r in threads[place["thread"]]])

    def test_a_number_is_no_variable(self):
        with shape("raw", 5000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid)
            self.assertGreaterEqual(heap["stack_bytes"], known["least"])
            self.assertLess(heap["local_bytes"], known["least"])
            self.assertLess(heap["held_bytes"], known["least"])
            [stacks] = [line for line in heap["tree"] if line["root"] == "stack"]
            self.assertGreaterEqual(stacks["retained"], known["least"])
            self.assertIn("stack", self.first_roots(heap))


class Requests(HoldersCase):
    """Async methods that wait, and the requests that they serve."""

    def test_the_request_that_an_async_method_serves(self):
        with processes.Debuggee([debuggee_build.values("release"), "requests"]) as debuggee:
            for options, what in (((), None), (("--data",), "/awaits/7")):
                heap = self.answer(debuggee.pid, "--holders", *LONG, *options)
                [line] = [h for h in lines_of(heap["tree"]) if any("Awaits(" in m for m in h["methods"])]
                self.assertGreaterEqual(line["retained"], 4_000_000)
                self.assertEqual(line["requests"], [{"kind": "incoming", "method": "POST", "what": what}])
            status, out, error, _ = mixstack_dump.run("memory", debuggee.pid, "--holders", *LONG)
            self.assertEqual((status, error), (FINE, ""))
            self.assertIn(" POST", out)
            self.assertNotIn("/awaits/7", out)
            path = self.answer(debuggee.pid, "--holders", line["largest"], *LONG)["paths"][0]["steps"][-1]
            self.assertEqual(path["request"], {"kind": "incoming", "method": "POST", "what": None})

    def test_no_request_is_told_where_none_is(self):
        with shape("async", 500) as debuggee:
            heap = self.holders(debuggee.pid)
            self.assertEqual([h["requests"] for h in lines_of(heap["tree"]) if h["requests"]], [])


class Paths(HoldersCase):
    def test_of_a_type_and_of_an_object(self):
        with shape("cache", 5000) as debuggee:
            known = truth(debuggee)
            heap = self.holders(debuggee.pid, "Holders.Order")
            self.assertTrue(heap["was_found"])
            path = heap["paths"][0]
            self.assertEqual(path["count"], known["items"])
            self.assertEqual([(s["root"], s["name"]) for s in path["steps"]][0], ("static_field", "Holders.Shapes.s_orders"))
            self.assertEqual(path["steps"][-1]["name"], "Holders.Order")
            self.assertGreaterEqual(path["retained"], known["least"])
            self.assertEqual(path["steps"][2]["field"], "_entries")
            self.assertEqual(self.sum_of_counts(heap) + heap["unheld"], known["items"] + 1)  # one of a struct, too
            one = path["steps"][-1]["object"]
            debuggee.stop()
            at = self.holders(debuggee.pid, one)
            self.assertEqual([p["count"] for p in at["paths"]], [1])
            self.assertEqual(at["paths"][0]["retained"], 32 + 1024)
            self.assertIn("Entry[]", at["paths"][0]["holder_name"])
            text = self.text(debuggee.pid, one)
            self.assertIn(" Holders.Shapes.s_orders", text)
            self.assertIn(one, text)

    @staticmethod
    def sum_of_counts(heap):
        return sum(path["count"] for path in heap["paths"])

    def test_of_a_struct_in_a_static(self):
        with shape("cache", 100) as debuggee:
            heap = self.holders(debuggee.pid, "Order")
            self.assertIn("Holders.Shapes.s_settings", [path["steps"][0]["name"] for path in heap["paths"]])

    def test_of_nothing(self):
        with shape("cache", 100) as debuggee:
            for what in ("Holders.NoSuchType", "0x12345"):
                heap = self.holders(debuggee.pid, what)
                self.assertEqual((heap["was_found"], heap["paths"], heap["asked"]), (False, [], what))
                self.assertIn("nothing of that name", self.text(debuggee.pid, what))  # the approved text of --holders


class Bounds(HoldersCase):
    SHORT = ("--most-pause", "1ms")

    def test_where_a_stop_would_be_too_long_all_is_read_twice(self):
        with shape("graph", 600_000) as debuggee:
            exact = self.holders(debuggee.pid)
            self.assertEqual((exact["certainty"], exact["chains"]), ("one_moment", 0))
            heap = self.answer(debuggee.pid, "--holders", *self.SHORT, expected=(PARTIAL,))
            self.assertEqual((heap["certainty"], heap["is_exact"]), ("read_twice", False), heap["why_not"])
            self.assertIn("--most-pause", heap["why_not"])
            self.assertIn("MB", heap["why_not"])
            # The program does nothing meanwhile.
            for name in ("all_objects", "references", "reference_sum", "held_objects"):
                self.assertEqual(heap[name], exact[name], name)
            ours, theirs = (self.line(h, "Holders.Shapes.s_cells", root="static_field") for h in (heap, exact))
            self.assertEqual(ours["retained"], theirs["retained"])
            self.assertGreater(heap["chains"], 5)
            self.assertGreaterEqual(heap["stops"], 1)
            self.assertLess(heap["pause_us"], 100_000)  # others run here, too
            text = mixstack_dump.run("memory", debuggee.pid, "--holders", *self.SHORT)[1]
            self.assertIn(" Holders.Shapes.s_cells", text)

    def test_ways_that_are_shown_are_seen_in_one_stop(self):
        with shape("graph", 6_000_000 // 4) as debuggee:
            heap = self.answer(debuggee.pid, "--holders", "Holders.Cell", "--most-pause", "8ms", expected=(PARTIAL,))
            self.assertEqual(heap["certainty"], "read_twice", heap["why_not"])
            self.assertTrue(heap["paths"][0]["is_verified"])
            self.assertEqual(heap["paths"][0]["steps"][0]["name"], "Holders.Shapes.s_cells")
            self.assertTrue(self.line(heap, "Holders.Shapes.s_cells", root="static_field")["is_verified"])
            self.assertGreaterEqual(heap["chains_verified"], heap["chains"] // 2)

    def test_what_changes_between_two_readings_is_left_out(self):
        with shape("shuffle", 300_000) as debuggee:
            known = truth(debuggee)
            heap = self.answer(debuggee.pid, "--holders", *self.SHORT, expected=(PARTIAL,))
            self.assertEqual((heap["certainty"], heap["dangling"]), ("read_twice", 0), heap["why_not"])
            self.assertGreater(heap["changed_words"], 0)
            line = self.line(heap, "Holders.Shapes.s_one", root="static_field")
            self.assertLessEqual(line["retained"], known["most"])
            items = [held for held in lines_of(line["held"]) if held["name"] == "Holders.Order"]
            self.assertTrue(items and 0 < sum(held["count"] for held in items) < known["items"])

    def test_a_process_that_collects_all_the_time(self):
        """Between two of its collections there is not always time to read all: an answer, or why there is none."""
        with shape("churn", 20_000) as debuggee:
            heap = self.answer(debuggee.pid, "--holders", *self.SHORT, expected=(PARTIAL,))
            if heap["certainty"] == "none":
                self.assertEqual(heap["tree"], [])
                self.assertIn("--most-pause", heap["why_not"])
            else:
                self.assertEqual((heap["certainty"], heap["dangling"]), ("read_twice", 0))
            self.assertTrue(debuggee.is_alive())

    def test_a_graph(self):
        with shape("graph", 600_000) as debuggee:
            heap = self.holders(debuggee.pid)
            self.assertGreater(heap["held_objects"], truth(debuggee)["items"])
            self.assertLess(heap["graph_memory"], 40 * heap["all_objects"])

    def test_it_runs_on(self):
        """A list whose items are replaced as fast as two threads can: one moment has as many as ever."""
        with shape("churn", 20_000) as debuggee:
            known = truth(debuggee)
            before = int(debuggee.ask("same").split()[1])
            for _ in range(3):
                heap = self.answer(debuggee.pid, "--holders", *LONG, expected=(FINE, PARTIAL))
                self.assertTrue(heap["tree"], heap["why_not"])
                self.assertEqual(heap["dangling"], 0)
                self.within(self.line(heap, "System.Collections.Generic.List<Order>")["retained"], known)
            self.assertGreater(int(debuggee.ask("same").split()[1]), before)
            self.assertTrue(debuggee.is_alive())


if __name__ == "__main__":
    unittest.main()
