"""`mixstack memory`: the account against the kernel's sums and the program's own word, types against ClrMD byte for byte."""
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

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/memory.schema.json").read_text())
FINE, PARTIAL = 0, 7
SERVER = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}
GENERATIONS = ("0", "1", "2", "large", "pinned", "frozen")
MEGABYTE = 1_000_000


def shape(name, count, environment=None):
    return processes.Debuggee([debuggee_build.memory(), name, str(count)], environment)


def truth(debuggee):
    """{name: number} of the lines TRUTH."""
    words = [line.removeprefix("TRUTH ").rsplit(" ", 1) for line in debuggee.lines]
    return {name: int(value) for name, value in words}


def oracle(of):
    """{(MethodTable, generation): (count, bytes)} by ClrMD."""
    source = [str(of)] if isinstance(of, int) else ["core", str(of)]
    done = subprocess.run([debuggee_build.ORACLE, "--types", *source], capture_output=True, text=True, check=True, timeout=300)
    return {(t["methodTable"], t["generation"]): (t["count"], t["bytes"]) for t in json.loads(done.stdout)["types"]}


def rows(heap):
    """The same of an answer."""
    return {(t["method_table"], g): (t["objects_of"][g], t["bytes_of"][g])
            for t in heap["types"] for g in GENERATIONS if g in t["objects_of"]}


class MemoryCase(LiveCase):
    def memory(self, of, *options, expected=(FINE,)):
        status, out, error, _ = mixstack_dump.run("memory", of, "--json", *options)
        self.assertIn(status, expected, error)
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        return answer

    def types(self, of, *options, expected=(FINE,)):
        [heap] = self.memory(of, "--types", *options, expected=expected)["heaps"]
        return heap

    @staticmethod
    def count(heap, name):
        return sum(t["objects"] for t in heap["types"] if t["type"] == name)


class Account(MemoryCase):
    def account(self, debuggee):
        """Of a process that stands still, so that it must be the kernel's sum to the byte."""
        debuggee.stop()
        account = self.memory(debuggee.pid)["account"]
        rollup = pathlib.Path(f"/proc/{debuggee.pid}/smaps_rollup").read_text()
        resident = next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Rss:"))
        self.assertEqual(sum(line["resident"] for line in account["lines"]), account["resident"])
        self.assertEqual((account["resident"], account["resident_by_kernel"]), (resident, resident))
        return account

    @staticmethod
    def of_kind(account, *kinds):
        return sum(line["resident"] for line in account["lines"] if line["kind"] in kinds)

    def check(self, account):
        """What every .NET process has, and that little is not known."""
        for kind in ("gc_objects", "loader_heap", "jit_code", "malloc_used", "stack", "file_assembly", "file_program"):
            self.assertGreater(self.of_kind(account, kind), 0, kind)
        self.assertLess(self.of_kind(account, "unknown"), 2 * MEGABYTE, account["unknown"])
        self.assertTrue(account["runtimes"][0]["is_known"], account["notes"])

    def test_lines_add_up_to_the_byte(self):
        for environment in ({}, SERVER, {"DOTNET_EnableWriteXorExecute": "0"}):
            with self.subTest(environment), shape("cache", 50000, environment) as debuggee:
                account = self.account(debuggee)
                self.check(account)
                self.assertEqual(account["runtimes"][0]["is_server"], environment is SERVER)

    def test_a_managed_cache(self):
        with shape("cache", 400_000) as debuggee:
            account = self.account(debuggee)
            self.assertGreater(self.of_kind(account, "gc_objects"), 400_000 * 40)
            self.assertGreater(account["runtimes"][0]["objects"]["2"] + account["runtimes"][0]["objects"].get("large", 0), 400_000 * 40)

    def test_native_memory(self):
        with shape("native", 60) as debuggee:
            known = truth(debuggee)
            account = self.account(debuggee)
            self.check(account)
            used, freed, large = (self.of_kind(account, f"malloc_{kind}") for kind in ("used", "free", "large"))
            self.assertTrue(known["used"] < used < known["used"] + 8 * MEGABYTE, (known, used))
            self.assertTrue(known["freed"] * 0.8 < freed < known["freed"] + 6 * MEGABYTE, (known, freed))
            self.assertTrue(known["large"] < large < known["large"] * 1.02 + 2 * MEGABYTE, (known, large))
            self.assertEqual({arena["is_whole"] for arena in account["arenas"]}, {True})

    def test_neighbours_in_one_mapping(self):
        """The kernel makes one of a program's own mapping, the collector's tables, blocks of malloc and stacks."""
        for environment in ({}, SERVER):
            with self.subTest(environment), shape("between", 60, environment) as debuggee:
                known = truth(debuggee)
                account = self.account(debuggee)
                large, unknown = self.of_kind(account, "malloc_large"), self.of_kind(account, "unknown")
                self.assertTrue(known["large"] <= large < known["large"] + MEGABYTE, (known, large))
                self.assertTrue(known["own"] <= unknown < known["own"] + 2 * MEGABYTE, (known, unknown))
                self.assertLess(self.of_kind(account, "gc_bookkeeping"), MEGABYTE)
                huge = processes.huge_pages_in_stacks(debuggee.pid)
                self.assertLess(self.of_kind(account, "stack"), 2 * MEGABYTE + huge)

    def test_contexts_that_can_be_unloaded(self):
        with shape("contexts", 200) as debuggee:
            account = self.account(debuggee)
            of_contexts = sum(line["resident"] for line in account["lines"]
                              if (line["kind"], line["detail"]) == ("loader_heap", "collectible"))
            self.assertGreaterEqual(of_contexts, 200 * 8192)
            self.assertLess(self.of_kind(account, "runtime_stubs"), MEGABYTE)

    def test_assemblies_of_a_compressed_file(self):
        """They lie in no file: the runtime has unpacked them."""
        try:
            program = hostings.published("single-file-compressed")
        except RuntimeError as error:
            self.skipTest(f"cannot be built here: {str(error)[-300:]}")
        with processes.Debuggee(program) as debuggee:
            account = self.account(debuggee)
            unpacked = sum(line["resident"] for line in account["lines"] if line["detail"] == "unpacked assemblies")
            self.assertGreater(unpacked, 10 * MEGABYTE)
            self.assertLess(self.of_kind(account, "unknown"), 2 * MEGABYTE, account["unknown"])
            self.assertLess(self.of_kind(account, "shared"), MEGABYTE)

    def test_a_process_without_a_runtime(self):
        with processes.native("idle") as debuggee:
            account = self.account(debuggee)
            self.assertEqual(account["runtimes"], [])
            self.assertEqual(account["allocator"], "glibc")
            self.assertGreater(self.of_kind(account, "file_program"), 0)

    def test_it_runs_on(self):
        with shape("garbage", 10000) as debuggee:
            before = int(debuggee.ask("made").split()[1])
            account = self.memory(debuggee.pid)["account"]
            self.assertEqual(sum(line["resident"] for line in account["lines"]), account["resident"])
            self.assertLess(abs(account["resident"] - account["resident_by_kernel"]), account["resident"] // 3)
            self.assertGreater(int(debuggee.ask("made").split()[1]), before)

    def test_text_has_the_same_lines(self):
        with shape("cache", 1000) as debuggee:
            status, out, error, _ = mixstack_dump.run("memory", debuggee.pid)
            self.assertEqual((status, error), (FINE, ""))
            self.assertIn(f"process {debuggee.pid}", out)
            self.assertIn("generation 2", out)


class Types(MemoryCase):
    def compare(self, name, count, environment=None):
        with shape(name, count, environment) as debuggee:
            known = truth(debuggee)
            debuggee.stop()
            expected = oracle(debuggee.pid)
            heap = self.types(debuggee.pid)
            self.assertTrue(heap["is_exact"], heap["why_not"])
            found = rows(heap)
            different = {k: (found.get(k), expected.get(k)) for k in found.keys() | expected.keys() if found.get(k) != expected.get(k)}
            self.assertEqual(different, {})
            for type_name, objects in known.items():
                if "." in type_name or type_name.endswith("[]"):
                    self.assertGreaterEqual(self.count(heap, type_name), objects, type_name)
            return heap

    def test_they_are_clrmds_byte_for_byte(self):
        for name, count in (("cache", 100_000), ("strings", 100_000), ("pinned", 2000), ("large", 30), ("fragments", 20_000)):
            with self.subTest(name):
                heap = self.compare(name, count)
                self.assertEqual([t["type"] for t in heap["types"] if not t["is_free"] and not t["type"]], [])

    def test_of_a_server(self):
        for name, count in (("cache", 200_000), ("large", 20), ("fragments", 10_000)):
            with self.subTest(name):
                self.assertTrue(self.compare(name, count, SERVER)["is_server"])

    def test_of_a_collector_with_segments(self):
        self.compare("fragments", 20_000, {"DOTNET_GCName": "libclrgc.so"})

    def test_what_is_old_is_copied_while_it_runs(self):
        """Two million nodes in generation 2, and garbage as fast as two threads make it."""
        nodes = 2_000_000
        with shape("garbage", nodes) as debuggee:
            collected = int(debuggee.ask("made").split()[2])
            for _ in range(4):
                heap = self.types(debuggee.pid, "--most-pause", "2s", expected=(FINE, PARTIAL))
                self.assertTrue(heap["types"], heap["why_not"])
                self.assertEqual(self.count(heap, "Memory.Node"), nodes)
                self.assertGreater(heap["pause_us"], 0)
            self.assertGreater(int(debuggee.ask("made").split()[2]), collected)

    def test_a_stop_that_would_be_too_long_is_refused(self):
        with shape("strings", 1_000_000) as debuggee:
            heap = self.types(debuggee.pid, "--most-pause", "1ms", expected=(PARTIAL,))
            self.assertEqual((heap["types"], heap["is_exact"]), ([], False))
            self.assertIn("--most-pause", heap["why_not"])

    def test_of_cores(self):
        with shape("fragments", 5000) as debuggee, tempfile.TemporaryDirectory() as folder:
            objects = truth(debuggee)["Memory.Slice"]
            for kind in ("h", "u"):
                core = cores.createdump(debuggee.pid, pathlib.Path(folder) / "core", kind)
                answer = self.memory(core, "--types")
                [heap] = answer["heaps"]
                self.assertIsNone(answer["account"])
                self.assertEqual((heap["is_exact"], heap["pause_us"], heap["stops"]), (True, 0, 0), heap["why_not"])
                self.assertEqual(rows(heap), oracle(core))
                # One that a word of Main's stack still holds may be there, too.
                self.assertIn(self.count(heap, "Memory.Slice") - objects, (0, 1))
                core.unlink()

    def test_a_core_has_no_account(self):
        status, _, error, _ = mixstack_dump.run("memory", "/no/such/core")
        self.assertEqual(status, 2)
        self.assertIn("--types", error)


if __name__ == "__main__":
    unittest.main()
