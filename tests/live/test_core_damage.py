"""Single damages to the runtime's records in a core that once made frames certain which the thread never had."""
import os
import struct
import tempfile

from harness import LiveCase
import cores
import mixstack_dump
import processes
import typed_checks
import typed_damage

FAR = 1 << 30  # more than lies between the stacks of two threads
THREAD = 0x100  # a Thread's bytes are at least so many, its other words are single
ROW = 12  # RUNTIME_FUNCTION: where a function begins and ends, and its unwind codes


class Core:
    """A full core, what its words are, and what is said of it."""

    def __init__(self, path):
        tool = mixstack_dump.binary().with_name("core_structures")
        self.path, self.anatomy = path, typed_damage.Anatomy(path, tool)
        self.whole = mixstack_dump.dump_core(path)
        self.frames = {a - back for a, _, _ in self.words("frame_chain") for back in (0, 8)}  # identifier, next

    def words(self, structure, size=8):
        """(address, place in the file, bytes) of each of these words."""
        for word in self.anatomy.words.get(structure, ()):
            if word.size == size:
                yield word.address, word.offset, self.anatomy.read(word.offset, size)

    def threads(self):
        """(where its newest Frame stands, where its stack's end stands, that end) of each Thread."""
        for word in self.anatomy.words["thread"]:
            if word.size < THREAD:
                continue
            fields = struct.unpack_from(f"<{word.size // 8}Q", self.anatomy.read(word.offset, word.size))
            frame = next((i for i, f in enumerate(fields) if f in self.frames), None)
            end = self._end_of_stack(fields)
            if frame is not None and end is not None:
                yield word.offset + 8 * frame, word.offset + 8 * end, fields[end], fields[frame]

    def _end_of_stack(self, fields):
        tops = [max(int(f["sp"], 16) for f in t["frames"]) for t in self.whole["threads"] if t["frames"]]
        return next((i for i, f in enumerate(fields) if any(top <= f <= top + (1 << 17) for top in tops)), None)

    def certain_but_new(self, patches):
        """Frames that a damage made, although nothing proves them."""
        with open(self.path, "r+b", buffering=0) as file:
            before = [(at, os.pread(file.fileno(), len(data), at)) for at, data in patches]
            for at, data in patches:
                os.pwrite(file.fileno(), data, at)
            damaged = mixstack_dump.dump_core(self.path)
            for at, data in before:
                os.pwrite(file.fileno(), data, at)
        known = typed_checks.frames_of(self.whole)
        return [f for place, f in typed_checks.frames_of(damaged).items() if f["trust"] == "certain" and place not in known]


class Damaged(LiveCase):
    def setUp(self):
        super().setUp()
        if not mixstack_dump.binary().with_name("core_structures").exists():
            self.skipTest("core_structures is not built beside mixstack")
        folder = self.enterContext(tempfile.TemporaryDirectory())
        with processes.scenario("nested_exceptions") as debuggee:
            self.core = Core(cores.createdump(debuggee.pid, os.path.join(folder, "core"), "u"))

    def test_the_frames_of_another_thread(self):
        """A thread that names another's Frame, and a stack that reaches beyond its own: all of it fits together."""
        threads = list(self.core.threads())
        self.assertGreater(len(threads), 3)
        tried = 0
        for frame_at, end_at, end, _ in threads:
            for _, _, _, others in threads:
                if end < others < end + FAR:
                    patches = [(frame_at, struct.pack("<Q", others)), (end_at, struct.pack("<Q", end + FAR))]
                    self.assertEqual(self.core.certain_but_new(patches), [])
                    tried += 1
        self.assertGreater(tried, 2)

    def test_code_whose_method_is_unknown(self):
        """Unwind codes that are another function's: when its method is not known, either, nothing says so."""
        methods = {int(f["method_desc"], 16) for f in typed_checks.frames_of(self.core.whole).values() if f["method_desc"]}
        unknown = [(at, bytes(8)) for _, at, content in self.core.words("code_header")
                   if struct.unpack("<Q", content)[0] in methods]
        self.assertGreater(len(unknown), 3)
        rows = [(at, content[8:]) for _, at, content in self.core.words("unwind_rows", ROW)]
        codes = sorted({code for _, code in rows})
        self.assertGreater(len(codes), 3)
        for code in codes:
            others = [(at + 8, code) for at, _ in rows]
            self.assertEqual(self.core.certain_but_new(unknown + others), [], code)
