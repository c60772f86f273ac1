"""Every kind of core, whole or packed, with the binaries at hand, in another folder, or nowhere."""
import json
import os
import pathlib
import re
import time

from harness import LiveCase
import core_compare
import cores
import mixstack_dump
import stack_compare

SCENARIOS = ("reverse_pinvoke", "r2r_generics")
FOR_GCORE = SCENARIOS[:1]  # gdb writes every page of the heap's reserve: 800 MB
if os.environ.get("MIXSTACK_ALL_CORES"):
    SCENARIOS += ("funclets", "dynamic_methods", "async")
    FOR_GCORE = SCENARIOS
# A triage or normal core lacks the heap: strings are gone (which is said), and some types that only arguments are of.
# What was inlined is concluded from metadata and IL, of which pages are missing.
INLINED = [r"thread\.frames\[\d+\]\.inlined(\[\d+\])?\..*"]
# A wait is told by objects; where they are missing it is not told, never another one.
WITHOUT_HEAP = [r"thread\.managed\.name", r"thread\.wait", r"thread\.managed\.exceptions\[\d+\]\.chain\[\d+\]\.(message|error)", *INLINED]
# Without symbol files static functions have no names.
STATIC_NAMES = core_compare.frame_names("name", "raw_name", "named", "symbol_offset")
# Without PDBs there are no lines.
LINES = [*core_compare.frame_names("file", "line"), *INLINED]
# Threads of the runtime are still being born when a scenario is ready; and a process that is continued to die may move.
SETTLE, ATTEMPTS = 0.2, 4
UNKNOWN = "**UNKNOWN TYPE**"
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


def pdb_files(assemblies):
    """Those beside assemblies."""
    pdbs = [path.removesuffix(".dll") + ".pdb" for path in assemblies if path.endswith(".dll")]
    return [path for path in pdbs if os.path.exists(path)]


class Kind:
    """A core of one process and the dump of the living one."""

    def __init__(self, scenario, make, folder, is_end):
        with cores.scenario(scenario, where=folder) as debuggee:
            time.sleep(SETTLE)
            debuggee.stop()
            self.is_end = is_end
            self.compare = core_compare.compare_running if is_end else core_compare.compare
            self.live = mixstack_dump.dump_at_rest(debuggee.pid)
            self.files = cores.mapped_files(debuggee.pid)
            self.files += pdb_files(self.files)
            self.core = make(debuggee, folder)
        for name in ("tree", "flat", "empty"):
            (folder / name).mkdir()
        cores.copy_tree([*self.files, *debug_files(self.live)], folder / "tree")
        cores.copy_flat(self.files, folder / "flat")
        self.folder = folder

    def pairs(self, dump):
        """(thread of the core, the same of the living process) of all that stood still."""
        busy = core_compare.busy_threads(self.live) if self.is_end else set()
        ours = {t["tid"]: t for t in self.live["threads"] if t["tid"] not in busy}
        theirs = {t["tid"]: t for t in dump["threads"] if t["tid"] not in busy}
        assert ours.keys() == theirs.keys(), f"threads {sorted(ours)} but in the core {sorted(theirs)}"
        return [(theirs[tid], ours[tid]) for tid in ours]

    def stood_still(self):
        """Whether the core's threads are where they were: by the registers that were written, whatever follows."""
        _, dump = run(self.core)
        if not self.is_end:
            return True
        live = {t["tid"]: t for t in self.live["threads"]}
        busy = core_compare.busy_threads(self.live)
        return live.keys() == {t["tid"] for t in dump["threads"]} and all(
            t["frames"][0][key] == live[t["tid"]]["frames"][0][key]
            for t in dump["threads"] if t["tid"] not in busy for key in ("ip", "sp"))

    def sysroot(self, name):
        return "--only-sysroot", "--sysroot", self.folder / name


class CoreKinds(LiveCase):
    timeout = 300

    def assert_same(self, kind, options, allowed, what):
        status, dump = run(kind.core, *options)
        faults = kind.compare(kind.live, dump, allowed)
        if list(allowed[:len(WITHOUT_HEAP)]) == WITHOUT_HEAP:
            faults = [fault for fault in faults if not self.lacks_a_type(fault)]
        self.assertEqual(faults[:10], [], what)
        self.assertEqual((dump["diagnoses"], status), ([], 0), what)
        return dump

    @staticmethod
    def lacks_a_type(fault):
        """The same name but for a mark where the type of an argument is not in the core, or for the shared form of one that
        only an object of the heap tells; a wait whose object is not there."""
        if re.search(r"\.wait\.type: .* but in the core None$", fault):
            return True
        parts = re.search(r"\.(?:raw_)?name: (.*) but in the core (.*)", fault)
        if parts is None:
            return False
        shown = re.escape(parts[2]).replace(re.escape(UNKNOWN), ".+").replace(re.escape("?"), ".+").replace("__Canon", ".+")
        return ".+" in shown and re.fullmatch(shown, parts[1]) is not None

    def assert_whole(self, kind, allowed):
        """All that the process itself shows, whichever way the binaries are found."""
        self.assert_same(kind, (), allowed, "own files")
        self.assert_same(kind, kind.sysroot("tree"), allowed, "a tree")
        self.assert_same(kind, kind.sysroot("flat"), [*allowed, *STATIC_NAMES], "one folder")

    def assert_missing_is_said(self, kind):
        """No binaries: the frames there are have module and offset, and the files that would help are named."""
        status, dump = run(kind.core, *kind.sysroot("empty"))
        self.assertEqual(status, 7)
        said = {d["subject"]: d for d in dump["diagnoses"]}
        for thread, live in kind.pairs(dump):
            first, wanted = thread["frames"][0], live["frames"][0]
            self.assertEqual((first["ip"], first["module"], first["module_offset"]),
                             (wanted["ip"], wanted["module"], wanted["module_offset"]))
            last = thread["frames"][-1]
            if stack_compare.reason(thread) != stack_compare.COMPLETE and last["module"] and last["trust"] == "certain":
                self.assertIn(last["module_path"], said)
        for path, diagnosis in said.items():
            if path.startswith("/"):
                self.assertEqual(diagnosis["error"]["code"], "not_found", diagnosis)
                self.assertIn("--sysroot", diagnosis["text"])
                if path.endswith(".so") and self.HAS_BUILD_IDS:
                    self.assertRegex(diagnosis["text"], r"\b[0-9a-f]{40}\b")
        return dump

    HAS_BUILD_IDS = True

    def assert_needs_nothing(self, kind, allowed):
        """The core holds its images: without any file the stacks are whole, only static functions lack names."""
        _, dump = run(kind.core, *kind.sysroot("empty"))
        self.assertEqual(kind.compare(kind.live, dump, [*allowed, *STATIC_NAMES, *LINES])[:10], [])
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

    def each_scenario(self, make, check, is_end=False, scenarios=SCENARIOS):
        for scenario in scenarios:
            with self.subTest(scenario):
                for _ in range(ATTEMPTS):
                    with cores.folder() as folder:
                        kind = Kind(scenario, make, folder, is_end)
                        if kind.stood_still():
                            check(kind)
                            break
                else:
                    self.fail(f"{scenario} did not stand still until its end in {ATTEMPTS} attempts")

    def kernel(self, coredump_filter, check):
        obstacle = cores.kernel_obstacle()
        if obstacle:
            self.skipTest(obstacle)
        self.each_scenario(lambda d, f: cores.kernel_core(d, f, coredump_filter), check, is_end=True)

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
            self.assertTrue(any(re.search(r"\b[0-9a-f]{40}\b", d["text"]) for d in dump["diagnoses"]))
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
        self.each_scenario(lambda d, f: cores.gcore(d.pid, f / "core"), check, scenarios=FOR_GCORE)

    def test_gcore_with_every_page(self):
        def make(debuggee, folder):
            cores.allow(debuggee.pid, 0x7f)  # gdb goes by the kernel's filter
            return cores.gcore(debuggee.pid, folder / "core")

        def check(kind):
            self.assert_whole(kind, ())
            self.assert_needs_nothing(kind, ())
        self.each_scenario(make, check, scenarios=FOR_GCORE)

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
