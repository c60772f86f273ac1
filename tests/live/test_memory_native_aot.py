"""`mixstack memory --types` of programs that .NET 11 compiled ahead of time: by the program's own count of its objects, by the
collector's size of the heap, and names by the linker's symbols in the file that was left beside the program."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import cores
import debuggee_build
import processes
from test_memory import FINE, PARTIAL, MemoryCase
from test_memory_moments import MEGABYTE, patient

CONTEXT = 16 << 10  # room for new objects that a thread has taken


def told(debuggee, word):
    return [line.split(" ", 2)[1:] for line in debuggee.lines if line.startswith(word + " ")]


def linker_symbols(program):
    """{link address: symbol} of MethodTables."""
    listed = subprocess.run(["nm", "--defined-only", f"{program}.dbg"], capture_output=True, text=True, check=True).stdout
    rows = (line.split(" ", 2) for line in listed.splitlines())
    return {int(address, 16): name for address, kind, name in rows if name.startswith("_ZTV")}


def base_of(pid, program):
    return min(int(line.split("-")[0], 16) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
               if line.endswith(str(program)))


class NativeAotTypes(MemoryCase):
    timeout = 600

    def setUp(self):
        super().setUp()
        try:
            self.program = debuggee_build.native_aot_on("11")
        except RuntimeError as error:
            self.skipTest(f"cannot be built here: {str(error)[-300:]}")

    def counts(self, heap):
        totals = {}
        for t in heap["types"]:
            totals[t["type"]] = totals.get(t["type"], 0) + t["objects"]
        return totals

    def told_right(self, heap, debuggee):
        self.assertTrue(heap["is_exact"], heap["why_not"])
        counts = self.counts(heap)
        expected = {type: int(count) for count, type in told(debuggee, "COUNT")}
        self.assertGreater(len(expected), 8)
        self.assertEqual({type: counts.get(type, 0) for type in expected}, expected)
        named = [t["type"] for t in heap["types"] if not t["is_free"]]
        self.assertEqual([name for name in named if not name or "MethodTable 0x" in name], [])

    def test_counts_are_the_programs(self):
        with processes.Debuggee([self.program, "20000"]) as debuggee:
            truth = {name: int(value) for name, value in told(debuggee, "TRUTH")}
            debuggee.stop()
            answer = self.memory(debuggee.pid, *patient([debuggee.pid, "--types"])[1:])
        [heap] = answer["heaps"]
        self.told_right(heap, debuggee)
        arrays = [t for t in heap["types"] if t["type"] == "byte[]"]
        self.assertEqual(len(arrays), 1)
        self.assertLess(truth["small"] + truth["large"], arrays[0]["bytes"])
        self.assertLess(arrays[0]["bytes"], (truth["small"] + truth["large"]) * 1.03 + MEGABYTE)
        # All that lies in the regions is an object, a gap, or room that a thread has taken for new objects.
        [runtime] = answer["account"]["runtimes"]
        room = sum(runtime["objects"].values()) - heap["bytes"] - heap["free_bytes"]
        self.assertTrue(0 <= room < 8 * CONTEXT, (room, runtime["objects"]))
        self.assertLess(abs(heap["bytes"] - truth["heap"]), MEGABYTE)

    def test_counts_while_threads_make_objects(self):
        with processes.Debuggee([self.program, "30000", "busy"]) as debuggee:
            for _ in range(5):
                self.told_right(self.types(debuggee.pid, "--most-pause", "5s"), debuggee)

    def test_old_objects_are_copied_while_it_runs(self):
        """Only what is young is read in the stop: the collector's counts were found, without symbols, too."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        alone = shutil.copy(self.program, folder.name)
        for program in (self.program, alone):
            with self.subTest(program), processes.Debuggee([program, "60000", "busy"]) as debuggee:
                heap = self.types(debuggee.pid, "--most-pause", "5s")
                self.told_right(heap, debuggee)
                self.assertGreater(heap["bytes_of"]["2"], 60 * MEGABYTE)
                young = sum(t["bytes_of"].get(g, 0) for t in heap["types"] for g in ("0", "1", "pinned"))
                self.assertLess(heap["copied_in_stop"], young + 8 * CONTEXT)

    def test_names_are_the_linkers(self):
        with processes.Debuggee([self.program, "100"]) as debuggee:
            heap = self.types(debuggee.pid, "--most-pause", "5s")
            base = base_of(debuggee.pid, self.program)
        symbols, compared = linker_symbols(self.program), 0
        for t in heap["types"]:
            if t["is_free"] or not re.fullmatch(r"[A-Z][\w.]+", t["type"]):
                continue
            symbol = symbols[int(t["method_table"], 16) - base]
            self.assertTrue(symbol.endswith("_" + t["type"].replace(".", "_")), (symbol, t["type"]))
            compared += 1
        self.assertGreater(compared, 30)

    def test_a_core_has_them(self):
        with cores.folder() as folder, processes.Debuggee([self.program, "5000"]) as debuggee:
            core = cores.gcore(debuggee.pid, folder / "core")
            self.told_right(self.types(core), debuggee)

    def test_strings_and_arrays_are_told(self):
        with processes.Debuggee([self.program, "5000"]) as debuggee:
            heap = self.types(debuggee.pid, "--most-pause", "5s")
        elements, counts = heap["elements"], self.counts(heap)
        self.assertEqual(elements["strings"]["count"], counts["string"])
        self.assertGreater(elements["arrays"]["count"], 5000)
        self.assertGreater(elements["half_empty_arrays"]["count"], 4000)
        self.assertEqual((elements["lists"], elements["empty_lists"]), (None, None))  # it has lists, which cannot be told

    def test_holders_are_refused(self):
        with processes.Debuggee([self.program, "100"]) as debuggee:
            answer = self.memory(debuggee.pid, "--holders", expected=(PARTIAL,))
        [holders] = answer["holders"]
        self.assertIn("NativeAOT", holders["why_not"])
