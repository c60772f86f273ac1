"""Damages to a core by what its words are: pointers of the runtime's structures, counts, flags, names, tables.

`core_structures` (tests/stress) tells where the structures lie that a dump depends on. A damage is a list of patches,
decided by a seed alone.
"""
import os
import random
import re
import struct
import subprocess

WHOLE = {8: "<Q", 4: "<I", 2: "<H", 1: "<B"}
UNMAPPED = (0x1000, 0x123456789000, 0x7ffffffff000, 0x7fffffffffff)
KERNEL = (0xffff800000000000, 0xffffffff81000000, 0xffffffffffffffff, 0xfffffffffffffff8, 0x8000000000000000)
COUNTS = (0, 1, 2, 0x7f, 0xff, 0xffff, 0x10000, 0x40000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff)
# Bytes that must never come out of a name as they are: escapes, a bell, C1, overlong and cut-off UTF-8, no end.
HOSTILE_TEXT = (b"\x07", b"\x1b[2J\x1b[H", b"\x1b]0;owned\x07", b"\r\n", b"\x7f", b"\xc2\x9b31m", b"\x9b31m", b"\xc0\x80",
                b"\xe2\x80\xae", b"\xff\xfe", b"\xf4\x90\x80\x80", b"\xed\xa0\x80", b"\"},{\"", b"\\", b"A" * 600)


class Word:
    """A run of bytes of one structure."""

    __slots__ = ("structure", "address", "offset", "size")

    def __init__(self, structure, address, offset, size):
        self.structure, self.address, self.offset, self.size = structure, address, offset, size


class Anatomy:
    """Where a core's mappings and structures lie."""

    def __init__(self, core, tool):
        self.path = str(core)
        self.mappings, self.words = [], {}
        self._file = os.open(self.path, os.O_RDONLY)
        done = subprocess.run([str(tool), self.path], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300)
        if done.returncode != 0:
            raise RuntimeError(f"{tool} {core}: {done.stdout[-300:]}{done.stderr[-300:]}")
        for line in done.stdout.splitlines():
            kind, *fields = line.split("\t")
            if kind == "M":
                self.mappings.append(tuple(int(f, 16) for f in fields))
            elif kind == "W":
                self.add(self.type_of(fields[0], int(fields[3], 16)), *(int(f, 16) for f in fields[1:]))

    @staticmethod
    def type_of(structure, size):
        """Rows of unwind tables, the first byte of what they lead to and buckets of the map of entry points are read on
        the way to a method; their sizes tell them."""
        if structure in ("code_header", "r2r_rows") and size in (1, 12):
            return "unwind_rows" if size == 12 else "unwind_info"
        return "entry_point_map" if structure == "r2r_rows" and size == 64 else structure

    def add(self, structure, address, offset, size):
        self.words.setdefault(structure, []).append(Word(structure, address, offset, size))

    def read(self, offset, size):
        return os.pread(self._file, size, offset)

    def add_names(self, names):
        """The texts behind the names that a dump shows, where metadata holds them."""
        wanted = {part.encode() for name in names for part in re.split(r"[^\w]+", name) if len(part) > 3}
        for page in list(self.words.get("metadata", ())):
            held = self.read(page.offset, page.size)
            for match in re.finditer(rb"\0([\w<>`$.]{4,})(?=\0)", held):
                if match.group(1) in wanted:
                    at = match.start(1)
                    self.add("name_text", page.address + at, page.offset + at, len(match.group(1)) + 1)
        for page in list(self.words.get("metadata", ())):
            at = self.read(page.offset, page.size).find(b"BSJB\x01\0\x01\0")
            if at >= 0:
                for word in range(at, min(at + 200, page.size - 4), 4):
                    self.add("metadata_root", page.address + word, page.offset + word, 4)


class Damage:
    """One damage: which structures it touches, and the patches."""

    def __init__(self, anatomy, seed):
        self.random = random.Random(seed)
        self.anatomy = anatomy
        self.patches, self.structures, self.story = [], set(), []
        self.ranges = []  # addresses that the patches change
        kinds = sorted(anatomy.words)
        kind = self.random.choice(kinds)
        for _ in range(self.random.choice((1, 1, 1, 2, 4, 16))):
            self._hit(self.random.choice(anatomy.words[kind]))
            if self.random.random() < 0.2:
                kind = self.random.choice(kinds)

    def _put(self, word, at, data, what):
        data = data[:max(0, word.size - at)]
        if data:
            self.patches.append((word.offset + at, data))
            self.structures.add(word.structure)
            self.ranges.append((word.address + at, word.address + at + len(data)))
            self.story.append(f"{word.structure} {word.address + at:#x}: {what} {data[:16].hex()}")

    def _hit(self, word):
        if word.structure in ("name_text", "thread_name", "exception") and self.random.random() < 0.7:
            self._text(word)
        elif word.size in WHOLE:
            self._whole(word, 0, word.size)
        else:
            self._inside(word)

    def _whole(self, word, at, size):
        old = struct.unpack(WHOLE[size], self.anatomy.read(word.offset + at, size))[0]
        new, what = (self._pointer if size == 8 else self._count)(word, word.address + at, old)
        self._put(word, at, struct.pack(WHOLE[size], new & ((1 << 8 * size) - 1)), what)

    def _pointer(self, word, address, old):
        r = self.random
        # A neighbour: what another pointer of the same kind of structure holds, or where it lies.
        other = r.choice(self.anatomy.words[word.structure])
        held = int.from_bytes(self.anatomy.read(other.offset, min(other.size, 8)), "little")
        begin, end = r.choice(self.anatomy.mappings)[:2]
        if r.random() < 0.2:  # what fits best misleads best
            return held, "a neighbour's"
        return r.choice((
            (0, "null"), (address, "itself"), (address & ~0x3f, "its own structure"), (other.address, "a neighbour"),
            (r.choice(UNMAPPED), "unmapped"), (r.choice(KERNEL), "kernel"),
            (old + r.choice((1, -1, 2, 4)), "off by little"), (old + r.choice((8, -8, 16, -16, 24, 64)), "off by a word"),
            (old + r.choice((4096, -4096, 65536)), "off by a page"), (begin, "a mapping"),
            (end - r.choice((0, 1, 8)), "its end"),
            (old ^ (1 << r.randrange(64)), "a bit"), (old & 0xffffffff, "its lower half"), (r.getrandbits(64), "anything"),
            (r.choice(COUNTS), "a count")))

    def _count(self, word, address, old):
        r = self.random
        other = r.choice(self.anatomy.words[word.structure])
        held = int.from_bytes(self.anatomy.read(other.offset, min(other.size, word.size)), "little")
        return r.choice((
            (r.choice(COUNTS), "a count"), (old + r.choice((1, -1, 2, -2)), "off by little"), (-old, "negative"),
            (old ^ (1 << r.randrange(32)), "a flag"), (old * 2 + 1, "twice"), (old << 8, "shifted"), (old >> 8, "shifted"),
            (held, "a neighbour's"), (r.getrandbits(32), "anything"), (~old, "inverted")))

    def _inside(self, word):
        """Tables and pages: a word of it, or a run."""
        r = self.random
        if r.random() < 0.7:
            size = r.choice((1, 2, 4, 4, 8))
            if word.size >= size:
                self._whole(word, r.randrange(0, word.size - size + 1, size), size)
            return
        at = r.randrange(word.size)
        run = min(word.size - at, 1 << r.randrange(8))
        self._put(word, at, r.choice((bytes(run), b"\xff" * run, r.randbytes(run))), "a run")

    def _text(self, word):
        r = self.random
        text = r.choice(HOSTILE_TEXT)
        if word.structure != "name_text" and r.random() < 0.5:  # strings of the runtime are UTF-16
            text = b"".join(struct.pack("<H", byte) for byte in text)
        self._put(word, r.randrange(max(1, word.size - 1)), text, "text")
