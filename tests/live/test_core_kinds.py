"""Every kind of core, whole or packed, with the binaries at hand, in another folder, or nowhere."""
import json
import os
import pathlib
import re

from harness import LiveCase
import core_compare
import cores
import mixstack_dump
import stack_compare

SCENARIOS = ("reverse_pinvoke", "r2r_generics")
if os.environ.get("MIXSTACK_ALL_CORES"):
    SCENARIOS += ("funclets", "dynamic_methods", "async")
# A triage or normal core lacks the heap: strings are gone, and so are some types that only arguments are of.
WITHOUT_HEAP = [r"thread\.managed\.name"]
# Without symbol files static functions have no names.
STATIC_NAMES = core_compare.frame_names("name", "raw_name", "named", "symbol_offset")
DEBUG_FILES = "/usr/lib/debug/.build-id"


def run(core, *options):
    status, out, error, _ = mixstack_dump.run("dump", "--core", core, "--json", *options)
    if not out:
        raise mixstack_dump.DumpError(f"status {status}: {error}")
    return status, json.loads(out)


def debug_files(dump):
    """The separate debug files of the images in a dump, as far as this machine has them."""
    ids = {f["build_id"] for t in dump["threads"] for f in t["frames"] if f.get("build_id")}
    found = [f"{DEBUG_FILES}/{i[:2]}/{i[2:]}.debug" for i in ids]
    return [path for path in found if os.path.exists(path)]


class Kind:
    """A core of one process and the dump of the living one."""

    def __init__(self, scenario, make, folder, stop=True):
        with cores.scenario(scenario, where=folder) as debuggee:
            if stop:
                debuggee.stop()
            self.stood = stop
            self.compare = core_compare.compare if stop else core_compare.compare_running
            self.live = mixstack_dump.dump(debuggee.pid)
            self.files = cores.mapped_files(debuggee.pid)
            self.core = make(debuggee, folder)
        for name in ("tree", "flat", "empty"):
            (folder / name).mkdir()
        cores.copy_tree([*self.files, *debug_files(self.live)], folder / "tree")
        cores.copy_flat(self.files, folder / "flat")
        self.folder = folder

    def pairs(self, dump):
        """(thread of the core, the same of the living process) of all that stood still."""
        busy = {t["tid"] for t in self.live["threads"] if not self.stood and t["name"] in core_compare.BUSY}
        ours = {t["tid"]: t for t in self.live["threads"] if t["tid"] not in busy}
        theirs = {t["tid"]: t for t in dump["threads"] if t["tid"] not in busy}
        assert ours.keys() == theirs.keys(), f"threads {sorted(ours)} but in the core {sorted(theirs)}"
        return [(theirs[tid], ours[tid]) for tid in ours]

    def sysroot(self, name):
        return "--only-sysroot", "--sysroot", self.folder / name


class CoreKinds(LiveCase):
    timeout = 300

    def assert_same(self, kind, options, allowed, what):
        status, dump = run(kind.core, *options)
        faults = [fault for fault in kind.compare(kind.live, dump, allowed) if not self.lacks_a_type(fault)]
        self.assertEqual(faults[:10], [], what)
        self.assertEqual((dump["diagnoses"], status), ([], 0), what)
        return dump

    @staticmethod
    def lacks_a_type(fault):
        """A name with a question mark where the type of an argument is not in the core."""
        return re.search(r"\.(raw_)?name: .* but in the core .*[\[<(, ]\?[\]>), ]", fault)

    def assert_whole(self, kind, allowed):
        """All that the process itself shows, whichever way the binaries are found."""
        self.assert_same(kind, (), allowed, "own files")
        self.assert_same(kind, kind.sysroot("tree"), allowed, "a tree")
        self.assert_same(kind, kind.sysroot("flat"), [*allowed, *STATIC_NAMES], "one folder")

    def assert_missing_is_said(self, kind):
        """No binaries: the frames there are have module and offset, and the files that would help are named."""
        status, dump = run(kind.core, *kind.sysroot("empty"))
        self.assertEqual(status, 7)
        said = {d["subject"]: d["text"] for d in dump["diagnoses"]}
        for thread, live in kind.pairs(dump):
            first, wanted = thread["frames"][0], live["frames"][0]
            self.assertEqual((first["ip"], first["module"], first["module_offset"]),
                             (wanted["ip"], wanted["module"], wanted["module_offset"]))
            last = thread["frames"][-1]
            if stack_compare.reason(thread) != stack_compare.COMPLETE and last["module"] and last["trust"] == "certain":
                self.assertIn(last["module_path"], said)
        for path, text in said.items():
            if path.startswith("/"):
                self.assertRegex(text, r"missing.*--sysroot")
                if path.endswith(".so") and self.HAS_BUILD_IDS:
                    self.assertRegex(text, r"build id [0-9a-f]{40}")
        return dump

    HAS_BUILD_IDS = True

    def assert_needs_nothing(self, kind, allowed):
        """The core holds its images: without any file the stacks are whole, only static functions lack names."""
        _, dump = run(kind.core, *kind.sysroot("empty"))
        self.assertEqual(kind.compare(kind.live, dump, [*allowed, *STATIC_NAMES])[:10], [])
        for thread in dump["threads"]:
            for frame in thread["frames"]:
                if frame["kind"] == "managed":
                    self.assertTrue(frame["named"], frame)
                elif not frame["named"] and frame["module"]:
                    self.assertEqual(frame["name"], f"{frame['module']}+{frame['module_offset']}")

    def assert_packed(self, kind, suffixes):
        status, plain = run(kind.core)
        for suffix in suffixes:
            packed = cores.pack(kind.core, suffix)
            other_status, other = run(packed)
            packed.unlink()
            self.assertEqual((other_status, other["threads"], other["diagnoses"]),
                             (status, plain["threads"], plain["diagnoses"]), suffix)

    def each_scenario(self, make, check, stop=True):
        for scenario in SCENARIOS:
            with self.subTest(scenario), cores.folder() as folder:
                check(Kind(scenario, make, folder, stop))

    def kernel(self, coredump_filter, check):
        obstacle = cores.kernel_obstacle()
        if obstacle:
            self.skipTest(obstacle)
        self.each_scenario(lambda d, f: cores.kernel_core(d, f, coredump_filter), check, stop=False)

    def test_kernel_with_its_default_filter(self):
        def check(kind):
            self.assert_whole(kind, ())
            self.assert_missing_is_said(kind)
            self.assert_packed(kind, cores.PACKERS)
        self.kernel(0x33, check)

    def test_kernel_with_every_page(self):
        def check(kind):
            self.assert_whole(kind, ())
            self.assert_needs_nothing(kind, ())
            self.assert_packed(kind, ("zst",))
        self.kernel(0x7f, check)

    def test_kernel_with_headers_only(self):
        def check(kind):
            self.assert_registers_only(kind)
            dump = self.assert_missing_is_said(kind)
            self.assertTrue(any("build id" in d["text"] for d in dump["diagnoses"]))
        self.kernel(0x10, check)

    def test_kernel_with_no_memory(self):
        self.HAS_BUILD_IDS = False

        def check(kind):
            self.assert_registers_only(kind)
            self.assertTrue(self.assert_missing_is_said(kind)["diagnoses"])
        self.kernel(0x00, check)

    def assert_registers_only(self, kind):
        status, dump = run(kind.core)
        self.assertEqual(status, 7)
        for thread, live in kind.pairs(dump):
            self.assertEqual(thread["frames"][0]["ip"], live["frames"][0]["ip"])
            self.assertNotEqual(stack_compare.reason(thread), stack_compare.COMPLETE)
            for frame in thread["frames"][1:]:
                self.assertNotEqual(frame["trust"], "certain")

    def test_gcore(self):
        def check(kind):
            self.assert_whole(kind, ())
            self.assert_missing_is_said(kind)
        self.each_scenario(lambda d, f: cores.gcore(d.pid, f / "core"), check)

    def test_gcore_with_every_page(self):
        def make(debuggee, folder):
            cores.allow(debuggee.pid, 0x7f)  # gdb goes by the kernel's filter
            return cores.gcore(debuggee.pid, folder / "core")

        def check(kind):
            self.assert_whole(kind, ())
            self.assert_needs_nothing(kind, ())
        self.each_scenario(make, check)

    def test_createdump_triage(self):
        self.createdump("t", WITHOUT_HEAP, ("zst", "lz4"))

    def test_createdump_normal(self):
        self.createdump("n", WITHOUT_HEAP, ("gz", "lz4"))

    def test_createdump_heap(self):
        self.createdump("h", (), ("zst",))

    def createdump(self, letter, allowed, suffixes):
        def check(kind):
            self.assert_whole(kind, allowed)
            self.assert_missing_is_said(kind)
            self.assert_packed(kind, suffixes)
        self.each_scenario(lambda d, f: cores.createdump(d.pid, f / "core", letter), check)

    def test_createdump_full(self):
        def check(kind):
            self.assert_whole(kind, ())
            self.assert_needs_nothing(kind, ())
            self.assert_packed(kind, ("lz4",))
        self.each_scenario(lambda d, f: cores.createdump(d.pid, f / "core", "u"), check)


if __name__ == "__main__":
    raise SystemExit(f"run {pathlib.Path(__file__).with_name('run.py')}")
