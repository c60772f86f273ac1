"""`mixstack memory --holders` of cores by every writer, of cut ones, and of heaps that are torn."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import struct

import jsonschema

import cores
import debuggee_build
import mixstack_dump
import processes
from test_memory_holders import FINE, PARTIAL, SCHEMA, HoldersCase, lines_of, shape, truth

NO_ANSWER = (3, 4, 5, 6)  # docs/exit-codes.md: what cannot be opened, is no core, has no .NET


class Core:
    """A core file whose words can be changed by their addresses."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            head = file.read(64)
            [table] = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            if count == 0xffff:
                [sections] = struct.unpack_from("<Q", head, 40)
                file.seek(sections + 44)
                [count] = struct.unpack("<I", file.read(4))
            file.seek(table)
            rows = [struct.unpack_from("<IIQQQQ", file.read(size)) for _ in range(count)]
        self.segments = [(begin, offset, length) for kind, _, offset, begin, _, length in rows if kind == 1]

    def offset_of(self, address):
        for begin, offset, length in self.segments:
            if begin <= address < begin + length:
                return offset + address - begin
        raise KeyError(hex(address))

    @contextlib.contextmanager
    def changed(self, address, data):
        at = self.offset_of(address)
        with open(self.path, "r+b", buffering=0) as file:
            before = os.pread(file.fileno(), len(data), at)
            os.pwrite(file.fileno(), data, at)
            try:
                yield
            finally:
                os.pwrite(file.fileno(), before, at)


class CoresCase(HoldersCase):
    def look(self, core, *what):
        """The answer, whatever it is: never a crash, always the schema."""
        status, out, error, _ = mixstack_dump.run("memory", core, "--json", "--holders", *what)
        self.assertIn(status, (FINE, PARTIAL, *NO_ANSWER), error)
        if not out:
            self.assertTrue(error)
            return None
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        [heap] = answer["holders"] or [None]
        if heap is None:
            return None
        self.assertEqual(status == FINE, heap["is_exact"])
        self.assertEqual(heap["why_not"] is None, heap["is_exact"])
        self.assertTrue(heap["is_exact"] or heap["why_not"])
        if not heap["tree"]:
            self.assertFalse(heap["is_exact"])
        sums = heap["held_bytes"] + heap["local_bytes"] + heap["stack_bytes"]
        self.assertLessEqual(sums, heap["all_bytes"])
        text = mixstack_dump.run("memory", core, "--holders", *what)
        self.assertEqual(text[0], status)
        # The text says why, too.
        self.assertEqual((heap["why_not"] or "") in text[1], True, (heap["why_not"], text[1]))
        return heap


class Writers(CoresCase):
    def check(self, core, known, name="Holders.Shapes.s_orders"):
        heap = self.look(core)
        self.assertTrue(heap["is_exact"], heap["why_not"])
        self.assertEqual((heap["certainty"], heap["pause_us"], heap["dangling"]), ("one_moment", 0, 0))
        self.within(self.line(heap, name, root="static_field")["retained"], known)
        path = self.look(core, "Holders.Order")["paths"][0]
        self.assertEqual((path["steps"][0]["name"], path["count"]), (name, known["items"]))

    def test_of_gcore(self):
        with shape("cache", 3000) as debuggee, cores.folder() as folder:
            self.check(cores.gcore(debuggee.pid, folder / "core"), truth(debuggee))

    def test_of_createdump_full(self):
        with shape("cache", 3000) as debuggee, cores.folder() as folder:
            self.check(cores.createdump(debuggee.pid, folder / "core", "u"), truth(debuggee))

    def test_of_the_kernel(self):
        with cores.folder() as folder:
            with processes.Debuggee([debuggee_build.holders(), "cache", "3000"], cwd=folder) as debuggee:
                known = truth(debuggee)
                core = cores.kernel_core(debuggee, folder)
            self.check(core, known)

    def test_variables_of_threads(self):
        with shape("worker", 3000) as debuggee, cores.folder() as folder:
            for write in (lambda path: cores.createdump(debuggee.pid, path, "h"), lambda path: cores.gcore(debuggee.pid, path)):
                heap = self.look(write(folder / "core"))
                line = self.line(heap, "System.Collections.Generic.List<Order>", root="none")
                self.assertEqual((line["place"] or {}).get("variable"), "cache", line)
                self.assertIn("Holders.Stacks.Run(", line["place"]["method"])
                self.within(line["retained"], truth(debuggee))
                (folder / "core").unlink()

    def test_a_mini_dump_lacks_the_heap(self):
        with shape("cache", 1000) as debuggee, cores.folder() as folder:
            heap = self.look(cores.createdump(debuggee.pid, folder / "core", "t"))
            self.assertFalse(heap and heap["is_exact"])


class Torn(CoresCase):
    def test_cut_anywhere(self):
        with shape("cache", 1000) as debuggee, cores.folder() as folder:
            whole = cores.createdump(debuggee.pid, folder / "core", "h")
            size, seen = whole.stat().st_size, set()
            for part in range(1, 20):
                cut = folder / "cut"
                shutil.copyfile(whole, cut)
                os.truncate(cut, size * part // 20)
                heap = self.look(cut)
                seen.add("none" if heap is None else heap["certainty"])
            self.assertIn("none", seen)

    def test_single_damages(self):
        with shape("cache", 1000) as debuggee, cores.folder() as folder:
            core = Core(cores.createdump(debuggee.pid, folder / "core", "h"))
            whole = self.look(core.path)
            self.assertTrue(whole["is_exact"], whole["why_not"])
            order = int(next(h for h in lines_of(whole["tree"]) if h["name"] == "Holders.Order")["largest"], 16)
            step = self.look(core.path, "Holders.Order")["paths"][0]["steps"]
            entries = int(next(s["object"] for s in step if s["field"] == "_entries"), 16)
            damages = {
                "an object without a type": (order, struct.pack("<Q", 0x1238)),
                "a null type": (order, bytes(8)),
                "a reference at nothing": (order + 8, struct.pack("<Q", order + 4096 * 4096)),
                "an array that is too long": (entries + 8, struct.pack("<I", 0x7fffffff)),
                "a page of ones": (entries + 16, b"\xff" * 4096),
            }
            for name, (address, data) in damages.items():
                with self.subTest(name), core.changed(address, data):
                    heap = self.look(core.path)
                    self.assertFalse(heap["is_exact"], name)
                    self.assertLessEqual(heap["held_objects"], whole["all_objects"])
                    self.look(core.path, "Holders.Order")
                    self.look(core.path, hex(order))

    def test_random_damages(self):
        """A number that was changed may go unnoticed; nothing ends the search without an answer."""
        chance = random.Random(11)
        with shape("handles", 500) as debuggee, cores.folder() as folder:
            core = Core(cores.createdump(debuggee.pid, folder / "core", "h"))
            for _ in range(40):
                begin, _, length = chance.choice([s for s in core.segments if s[2] >= 4096])
                address = begin + chance.randrange(length // 8) * 8
                kind = chance.choice([bytes(8), b"\xff" * 8, struct.pack("<Q", chance.getrandbits(64)), b"\x41" * 256])
                kind = kind[:begin + length - address]
                with core.changed(address, kind):
                    self.look(core.path)


if __name__ == "__main__":
    import unittest
    unittest.main()
