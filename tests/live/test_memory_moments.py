"""Two moments of memory, files of moments, strings and arrays: by the program's own word, and by ClrMD for types of a core."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

import cores
import debuggee_build
import hostings
import mixstack_dump
import processes
from harness import LiveCase
from test_memory import FINE, GENERATIONS, MEGABYTE, PARTIAL, SCHEMA, oracle, rows, truth

GROWTH = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/memory-growth.schema.json").read_text())
WRONG_FILE = 6


def program(name, count, *more):
    return processes.Debuggee([debuggee_build.moments(), name, str(count), *more])


def patient(arguments):
    """A test machine may be overloaded: a stop that lasts longer than usual says nothing of the command."""
    of_process = "--types" in arguments and "--most-pause" not in arguments and isinstance(arguments[0], int)
    return [*arguments, "--most-pause", "5s"] if of_process else arguments


class MomentCase(LiveCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ask(self, schema, *arguments, expected=(FINE,)):
        status, out, error, _ = mixstack_dump.run("memory", *patient(arguments), "--json")
        self.assertIn(status, expected, error)
        answer = json.loads(out)
        jsonschema.validate(answer, schema)
        return answer

    def keep(self, name, of, *options):
        path = self.folder / f"{name}.mxm"
        status, _, error, _ = mixstack_dump.run("memory", *patient([of, *options]), "-o", path)
        self.assertEqual((status, mixstack_dump.told(error)), (FINE, [("wrote", str(path))]))
        return path

    def compare(self, before, after, expected=(FINE,)):
        growth = self.ask(GROWTH, "diff", before, after, expected=expected)
        self.adds_up(growth)
        return growth

    def adds_up(self, growth):
        for side in ("before", "after", "grown"):
            if growth["resident"]:
                self.assertEqual(sum(label["resident"][side] for label in growth["labels"]), growth["resident"][side], side)
        grown = [label["resident"]["grown"] for label in growth["labels"]]
        self.assertEqual(grown, sorted(grown, reverse=True))

    @staticmethod
    def type_of(growth, name):
        [found] = [t for t in growth["types"] if t["type"] == name]
        return found

    @staticmethod
    def label_of(growth, *kinds):
        return sum(label["resident"]["grown"] for label in growth["labels"] if label["kind"] in kinds)


class Growth(MomentCase):
    def test_objects_that_are_held(self):
        """What full collections leave stands first, as many as the program made; garbage does not."""
        with program("objects", 20_000, "full") as debuggee:
            low = int(debuggee.ask("count").split()[1])
            growth = self.ask(GROWTH, debuggee.pid, "--types", "--after", "4s")
            high = int(debuggee.ask("count").split()[1])
            self.adds_up(growth)
            kept = self.type_of(growth, "Moments.Kept")
            self.assertTrue(low <= kept["objects"]["before"] < kept["objects"]["after"] <= high, (low, kept, high))
            self.assertGreater(kept["objects"]["grown"], 4 * 20_000 * 0.5)
            self.assertGreater(growth["kept_seen"], 1)
            self.assertEqual(growth["types"][0]["type"], "Moments.Kept")
            left = kept["kept_objects"]
            self.assertTrue(low <= left["before"] < left["after"] <= kept["objects"]["after"], (low, left, kept))
            self.assertEqual(left["grown"] * 32, kept["kept_bytes"]["grown"])
            passing = self.type_of(growth, "Moments.Passing")
            self.assertLess(abs(passing["kept_objects"]["grown"]), left["grown"] / 20)
            self.assertGreater(growth["collections"][2], 1)
            self.assertTrue(growth["is_same_process"])
            self.assertIsNotNone(growth["between_ms"])

    def test_without_full_collections_nothing_is_said_of_them(self):
        with program("objects", 1000) as debuggee:
            growth = self.ask(GROWTH, debuggee.pid, "--types", "--after", "1s")
            self.assertEqual(growth["kept_seen"], 0)
            self.assertIsNone(self.type_of(growth, "Moments.Kept")["kept_objects"])

    def test_native_memory(self):
        with program("native", 20 * MEGABYTE) as debuggee:
            low = int(debuggee.ask("count").split()[1])
            first = self.keep("first", debuggee.pid)
            between = int(debuggee.ask("count").split()[1])
            while int(debuggee.ask("count").split()[1]) < between + 40 * MEGABYTE:
                pass
            later = int(debuggee.ask("count").split()[1])
            second = self.keep("second", debuggee.pid)
            high = int(debuggee.ask("count").split()[1])
            growth = self.compare(first, second)
            grown = self.label_of(growth, "malloc_used", "malloc_free", "malloc_unwalked")
            self.assertTrue(later - between - MEGABYTE <= grown <= high - low + 4 * MEGABYTE, (low, between, later, high, grown))
            self.assertIn(growth["labels"][0]["kind"], ("malloc_used", "malloc_unwalked"))

    def test_stacks_of_threads(self):
        with program("threads", 40) as debuggee:
            first = self.keep("first", debuggee.pid)
            self.assertEqual(debuggee.ask("more").split()[1], "40")
            growth = self.compare(first, self.keep("second", debuggee.pid))
            self.assertGreater(self.label_of(growth, "stack"), 40 * 200_000)
            self.assertIn("dump", growth["next"][0]["command"])

    def test_fragments(self):
        """Arrays that are pinned, and gaps between them where others were."""
        with program("fragments", 5000) as debuggee:
            known = truth(debuggee)
            [heap] = self.ask(SCHEMA, debuggee.pid, "--types")["heaps"]
            self.assertTrue(known["gaps"] * 0.95 < heap["free_bytes"] < known["gaps"] * 1.1 + MEGABYTE, (known, heap["free_bytes"]))

    def test_text_and_next(self):
        with program("objects", 50_000) as debuggee:
            status, out, error, _ = mixstack_dump.run("memory", debuggee.pid, "--after", "2s")
            self.assertEqual((status, error), (FINE, ""))
            self.assertIn("all of it", out)  # the approved text of this command


class Files(MomentCase):
    def test_a_file_is_what_was_told(self):
        with program("texts", 1000) as debuggee:
            debuggee.stop()
            told = self.ask(SCHEMA, debuggee.pid, "--types")
            path = self.keep("moment", debuggee.pid, "--types")
            read = self.ask(SCHEMA, path)
            for answer in (told, read):
                del answer["mark"]["taken_unix_ms"], answer["heaps"][0]["pause_us"]
                answer["account"]["notes"] = []
            self.assertEqual(read, told)

    def test_no_text_is_in_it_but_with_data(self):
        secret = "status=shipped"
        with program("texts", 1000) as debuggee:
            for options, texts in (((), {None}), (("--data",), {"status=shipped; carrier=fast", "EUR", "x" * 100})):
                path = self.keep("moment", debuggee.pid, "--types", *options)
                most = self.ask(SCHEMA, path)["heaps"][0]["elements"]["most"]
                self.assertTrue(texts <= {m["text"] for m in most}, most)
            self.assertNotIn(secret.encode(), self.keep("moment", debuggee.pid, "--types").read_bytes())

    def test_of_cores(self):
        """Types of two cores and of their moments are ClrMD's; what grew is what they differ in."""
        with program("objects", 50_000) as debuggee:
            moments, expected = [], []
            for name in ("before", "after"):
                core = cores.createdump(debuggee.pid, self.folder / f"{name}.core", "h")
                expected.append(oracle(core))
                moments.append(self.keep(name, core, "--types"))
                [heap] = self.ask(SCHEMA, moments[-1])["heaps"]
                self.assertEqual(rows(heap), expected[-1])
                core.unlink()
            growth = self.compare(*moments)
            self.assertIsNone(growth["resident"])
            self.assertEqual([growth[side]["core"] for side in ("before", "after")], [str(self.folder / f"{n}.core") for n in ("before", "after")])
            kept = self.type_of(growth, "Moments.Kept")
            for side, of in zip(("before", "after"), expected):
                self.assertEqual(kept["objects"][side], sum(of.get((kept["method_table"], g), (0, 0))[0] for g in GENERATIONS), side)
            self.assertGreater(kept["objects"]["grown"], 0)

    def test_other_files_are_refused(self):
        with program("threads", 1) as debuggee:
            path = self.keep("moment", debuggee.pid)
        whole = path.read_bytes()
        for name, content in (("empty", b""), ("text", b"no moment"), ("cut", whole[:-20]), ("changed", whole[:60] + b"\xff" + whole[61:])):
            other = self.folder / name
            other.write_bytes(content)
            status, out, error, _ = mixstack_dump.run("memory", "diff", path, other)
            self.assertEqual((status, out), (WRONG_FILE, ""), name)
            self.assertEqual(error.count("\n"), 1, error)


class Elements(MomentCase):
    def test_strings_arrays_and_lists(self):
        count = 3000
        with program("texts", count) as debuggee:
            known = truth(debuggee)
            [heap] = self.ask(SCHEMA, debuggee.pid, "--types", "--data")["heaps"]
            e = heap["elements"]
            self.assertEqual(e["one_in"], 1)
            # Literals and what Main still holds may be one or two more of a text.
            by_text = {m["text"]: m for m in e["most"]}
            for text in ("status=shipped; carrier=fast", "EUR", "x" * 100):
                self.assertIn(text, by_text)
                found = by_text[text]
                length = 300 if text[0] == "x" else len(text)
                self.assertEqual(found["length"], length)
                self.assertIn(found["count"] - known[f"copies of {length}"], (0, 1, 2))
                self.assertEqual(found["bytes"], found["count"] * (known[f"bytes of {length}"] // count))
            saved = sum(known[f"bytes of {length}"] for length in (28, 3, 300))
            self.assertTrue(saved * 0.999 < e["duplicates"]["bytes"] < saved * 1.05 + MEGABYTE // 10, (saved, e["duplicates"]))
            for name, key in (("empty arrays", "empty_arrays"), ("half empty arrays", "half_empty_arrays"), ("empty lists", "empty_lists")):
                self.assertTrue(known[name] <= e[key]["count"] < known[name] + 300, (name, e[key]))
            self.assertTrue(known["zeros"] <= e["zeros_of_them"] < known["zeros"] + MEGABYTE, e)
            self.assertGreaterEqual(e["not_read"]["count"], known["large texts"])
            strings = next(t for t in heap["types"] if t["type"] == "System.String")
            self.assertEqual((e["strings"]["count"], e["strings"]["bytes"]), (strings["objects"], strings["bytes"]))

    def test_of_a_core_they_are_the_same(self):
        with program("texts", 2000) as debuggee:
            debuggee.stop()
            live = self.ask(SCHEMA, debuggee.pid, "--types", "--data")["heaps"][0]["elements"]
        with program("texts", 2000) as debuggee:
            core = cores.createdump(debuggee.pid, self.folder / "core", "h")
            of_core = self.ask(SCHEMA, core, "--types", "--data", expected=(FINE, PARTIAL))["heaps"][0]["elements"]
        self.assertEqual(live["most"][0]["text"], of_core["most"][0]["text"])
        self.assertAlmostEqual(live["most"][0]["count"], of_core["most"][0]["count"], delta=2)
        self.assertAlmostEqual(live["zeros_of_them"], of_core["zeros_of_them"], delta=MEGABYTE // 4)


class Elsewhere(MomentCase):
    def test_a_core_of_gcore(self):
        with program("texts", 1000) as debuggee:
            core = self.folder / "core"
            cores.gcore(debuggee.pid, core)
            [heap] = self.ask(SCHEMA, self.keep("moment", core, "--types"))["heaps"]
            self.assertTrue(heap["is_exact"], heap["why_not"])
            self.assertEqual(rows(heap), oracle(core))

    def test_a_single_file(self):
        with processes.Debuggee(self.published("single-file")) as debuggee:
            answer = self.ask(SCHEMA, debuggee.pid, "--types")
            self.assertTrue(answer["account"]["runtimes"][0]["is_known"], answer["account"]["notes"])
            self.assertTrue(answer["heaps"][0]["is_exact"], answer["heaps"][0]["why_not"])
            self.assertTrue(any((t["type"] or "").startswith("Hosted.") for t in answer["heaps"][0]["types"]))

    def test_native_aot_says_what_is_not_known(self):
        with processes.Debuggee(self.published("native-aot")) as debuggee:
            debuggee.stop()
            status, out, error, _ = mixstack_dump.run("memory", debuggee.pid, "--types", "--json")
            answer = json.loads(out)
            jsonschema.validate(answer, SCHEMA)
            account = answer["account"]
            self.assertEqual(sum(line["resident"] for line in account["lines"]), account["resident"])
            self.assertEqual([r["is_known"] for r in account["runtimes"]], [False])
            self.assertEqual([n["code"] for n in account["notes"] if n["subject"] == "GC"], ["unsupported"])
            [heap] = answer["heaps"]
            self.assertEqual((heap["types"], heap["is_exact"], status), ([], False, PARTIAL), error)
            self.assertIn("NativeAOT", heap["why_not"])

    def test_native_aot_11_has_an_account(self):
        """It describes its collector. Its program says how many bytes of arrays it holds, and how large its heap is."""
        try:
            program = debuggee_build.native_aot_on("11")
        except RuntimeError as error:
            self.skipTest(f"cannot be built here: {str(error)[-300:]}")
        with processes.Debuggee([program, "20000"]) as debuggee:
            truth = {name: int(value) for name, value in (line.split()[1:] for line in debuggee.lines if line.startswith("TRUTH"))}
            debuggee.stop()
            status, out, error, _ = mixstack_dump.run("memory", debuggee.pid, "--types", "--json")
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        account = answer["account"]
        self.assertEqual(sum(line["resident"] for line in account["lines"]), account["resident"])
        self.assertEqual(account["resident"], account["resident_by_kernel"])
        [runtime] = account["runtimes"]
        self.assertEqual((runtime["is_known"], runtime["version"].split(".")[0], runtime["is_server"]), (True, "11", False))
        self.assertEqual([n for n in account["notes"] if n["subject"] == "GC"], [])
        objects = runtime["objects"]
        small = sum(objects.get(generation, 0) for generation in "012")
        self.assertTrue(truth["small"] < small < truth["small"] * 1.024 + 4 * MEGABYTE, (truth, objects))
        self.assertTrue(truth["large"] < objects["large"] < truth["large"] + 4 * MEGABYTE, (truth, objects))
        self.assertLess(abs(sum(objects.values()) - truth["heap"]), 4 * MEGABYTE, (truth, objects))
        resident = sum(line["resident"] for line in account["lines"] if line["kind"] == "gc_objects")
        self.assertTrue(truth["small"] + truth["large"] < resident <= sum(objects.values()) + MEGABYTE, (truth, resident))
        [heap] = answer["heaps"]
        self.assertEqual((heap["is_exact"], status), (True, FINE), error)

    def test_another_allocator_is_one_line(self):
        """A library of that name, which maps 8 MB when it is loaded."""
        source, library = self.folder / "a.c", self.folder / "libjemalloc.so.2"
        source.write_text("#include <string.h>\n#include <sys/mman.h>\n__attribute__((constructor)) static void begin(void) {"
                          "memset(mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 8 << 20); }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        with processes.Debuggee([debuggee_build.moments(), "texts", "10"], {"LD_PRELOAD": str(library)}) as debuggee:
            account = self.ask(SCHEMA, debuggee.pid)["account"]
            self.assertEqual(account["allocator"], "jemalloc")
            [line] = [line for line in account["lines"] if line["kind"] == "malloc_other"]
            self.assertEqual(line["detail"], "jemalloc")
            self.assertTrue(8 << 20 <= line["resident"] < (8 << 20) + 4 * MEGABYTE, line)

    @staticmethod
    def published(how):
        try:
            return hostings.published(how)
        except RuntimeError as error:
            raise unittest.SkipTest(str(error)[-300:]) from error


if __name__ == "__main__":
    unittest.main()
