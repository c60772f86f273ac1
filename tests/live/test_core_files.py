"""Binaries that are not those of the core, cores that end early, single-file programs, programs without .NET."""
import json
import os
import pathlib
import re
import shutil
import time

from harness import LiveCase
import core_compare
import cores
import debuggee_build
import mixstack_dump
import processes
import stack_compare

TOKEN = re.compile(r"(\[stub: .*\] -> )?\S+!0x6[0-9a-f]+")
OLD_PACK = pathlib.Path.home() / ".nuget/packages/microsoft.netcore.app.runtime.linux-x64/9.0.18"


def kernel_or_skip(test):
    obstacle = cores.kernel_obstacle()
    if obstacle:
        test.skipTest(obstacle)


def by_thread(dump):
    return {thread["tid"]: thread for thread in dump["threads"]}


def at_its_call_again(thread):
    """Where a thread in a system call stands that the kernel has interrupted and will restart: at the instruction."""
    if thread["syscall"] is None or not thread["frames"]:
        return None
    first, size = thread["frames"][0], 2 if os.uname().machine == "x86_64" else 4
    return hex(int(first["ip"], 16) - size), first["sp"]


class WrongFiles(LiveCase):
    """Other files under the right names, below --sysroot."""

    timeout = 300

    def assert_nothing_wrong(self, live, core, what):
        """Each frame of the core is one of the living process, and has its name or none."""
        wanted = by_thread(live)
        for thread in core["threads"]:
            truth = {(f["ip"], f["sp"]): f for f in wanted[thread["tid"]]["frames"]}
            if innermost := at_its_call_again(wanted[thread["tid"]]):
                truth[innermost] = wanted[thread["tid"]]["frames"][0]
            for frame in thread["frames"]:
                if frame["trust"] != "certain":
                    continue  # it says so itself
                self.assertIn((frame["ip"], frame["sp"]), truth, what)
                true = truth[(frame["ip"], frame["sp"])]["name"]
                plain = f"{frame['module']}+{frame['module_offset']}"
                if frame["name"] not in (true, plain, frame["ip"]):
                    self.assertRegex(frame["name"], TOKEN, what)

    def replacements(self, files):
        """(what, path in the core, file to put there, whether every core must say so)."""
        runtime = next(f for f in files if f.endswith("/libcoreclr.so"))
        scenarios = str(debuggee_build.SCENARIOS.with_name("Scenarios.dll"))
        yield "a library with another build id", next(f for f in files if f.endswith("/libscen.so")), \
            debuggee_build.NATIVE / "libholdabort.so", True
        yield "another assembly", scenarios, debuggee_build.ORACLE.with_name("Oracle.dll"), False
        yield "a text", scenarios, pathlib.Path(__file__), False
        yield "no ELF image", runtime, pathlib.Path(__file__), True
        for name in ("libcoreclr.so", "System.Private.CoreLib.dll"):
            old = next(OLD_PACK.rglob(name), None)
            if old is not None:
                yield f"{name} of .NET 9", str(pathlib.Path(runtime).with_name(name)), old, True

    def look(self, make, expect_all):
        with cores.folder() as folder:
            with cores.scenario("reverse_pinvoke", where=folder) as debuggee:
                time.sleep(0.2)  # threads of the runtime are still being born
                debuggee.stop()
                live, files = mixstack_dump.dump_at_rest(debuggee.pid), cores.mapped_files(debuggee.pid)
                core = make(debuggee, folder)
            for number, (what, path, other, always) in enumerate(self.replacements(files)):
                root = folder / str(number)
                cores.copy_tree([f for f in files if f != path], root)
                (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(other, root / path.lstrip("/"))
                with self.subTest(what):
                    dump = mixstack_dump.dump_core(core, "--only-sysroot", "--sysroot", root)
                    said = {d["subject"]: d for d in dump["diagnoses"]}
                    if always or expect_all:
                        # It is none, or nothing proves that it is the one. Else it would be "not_found".
                        self.assertIn(said[path]["error"]["code"], ("mismatch", "unsupported"), (what, said[path]))
                    if "build id" in what:
                        self.assertEqual(said[path]["error"]["code"], "mismatch")
                        self.assertRegex(said[path]["text"], r"\b[0-9a-f]{40}\b.*\b[0-9a-f]{40}\b")  # its own, and the core's
                    self.assert_nothing_wrong(live, dump, what)

    def test_kernel_core(self):
        kernel_or_skip(self)
        self.look(lambda d, f: cores.kernel_core(d, f), expect_all=True)

    def test_normal_createdump_core(self):
        """Holds the metadata it needs: another assembly does not matter and is not mentioned."""
        self.look(lambda d, f: cores.createdump(d.pid, f / "core", "n"), expect_all=False)

    def test_own_files_that_changed(self):
        """The paths of the core lead to other files on this machine."""
        kernel_or_skip(self)
        with cores.folder() as folder:
            own = folder / "native"
            shutil.copytree(debuggee_build.NATIVE, own)
            environment = {"SCEN_NATIVE": str(own)}
            with cores.scenario("reverse_pinvoke", where=folder, environment=environment) as debuggee:
                time.sleep(0.2)  # threads of the runtime are still being born
                debuggee.stop()
                live = mixstack_dump.dump_at_rest(debuggee.pid)
                core = cores.kernel_core(debuggee, folder)
            library = own / "libscen.so"
            (own / "libholdabort.so").rename(library)
            changed = mixstack_dump.dump_core(core)
            said = {d["subject"]: d for d in changed["diagnoses"]}[str(library)]
            self.assertEqual(said["error"]["code"], "mismatch")
            self.assertRegex(said["text"], r"\b[0-9a-f]{40}\b")
            self.assert_nothing_wrong(live, changed, "changed")
            library.unlink()
            gone = mixstack_dump.dump_core(core)
            said = {d["subject"]: d for d in gone["diagnoses"]}[str(library)]
            self.assertEqual(said["error"]["code"], "not_found")
            self.assertRegex(said["text"], r"\b[0-9a-f]{40}\b")
            self.assert_nothing_wrong(live, gone, "gone")


class SingleFile(LiveCase):
    """Precompiled assemblies inside the program's own file, mapped from where they lie in it."""

    timeout = 400

    def test_precompiled_code_in_a_bundle(self):
        kernel_or_skip(self)
        try:
            program = debuggee_build.single_file()
        except RuntimeError as error:
            self.skipTest(f"no runtime pack: {str(error)[-200:]}")
        environment = {"SCEN_NATIVE": str(debuggee_build.NATIVE)}
        for coredump_filter in (0x33, 0x7f):
            with self.subTest(hex(coredump_filter)), cores.folder() as folder:
                with processes.Debuggee([program, "r2r_generics"], environment, cwd=folder) as debuggee:
                    debuggee.stop()
                    live = mixstack_dump.dump_at_rest(debuggee.pid)
                    core = cores.kernel_core(debuggee, folder, coredump_filter)
                dump = mixstack_dump.dump_core(core)
                self.assertEqual(core_compare.compare_running(live, dump)[:10], [])
                self.assertEqual(dump["diagnoses"], [])
                names = [f["name"] for t in dump["threads"] for f in t["frames"] if f["kind"] == "managed"]
                self.assertGreater(sum(name.startswith("System.Collections.") for name in names), 10)
                (folder / "empty").mkdir()
                without = mixstack_dump.dump_core(core, "--only-sysroot", "--sysroot", folder / "empty")
                self.assertIn(str(program), [d["subject"] for d in without["diagnoses"]])
                # --exe stands for the program, wherever it lies now.
                moved = shutil.copyfile(program, folder / "moved")
                given = mixstack_dump.dump_core(core, "--exe", moved)
                self.assertEqual(given["threads"], dump["threads"])


class Truncated(LiveCase):
    timeout = 300

    def test_cores_that_end_early(self):
        with cores.folder() as folder:
            with cores.scenario("funclets", where=folder) as debuggee:
                debuggee.stop()
                live = mixstack_dump.dump_at_rest(debuggee.pid)
                core = cores.createdump(debuggee.pid, folder / "core")
            size = os.stat(core).st_size
            for percent in (90, 50, 10):
                with self.subTest(percent):
                    os.truncate(core, size * percent // 100)
                    dump = mixstack_dump.dump_core(core)
                    self.assertTrue([d for d in dump["diagnoses"] if d["error"]["code"] == "truncated"], dump["diagnoses"])
                    self.assert_prefixes(live, dump)
                    (folder / "empty").mkdir(exist_ok=True)
                    self.assert_prefixes(live, mixstack_dump.dump_core(core, "--only-sysroot", "--sysroot",
                                                                       folder / "empty"))
            for size in (100_000, 4096, 64, 5, 0):
                with self.subTest(size):
                    os.truncate(core, size)
                    status, out, error, _ = mixstack_dump.run("dump", "--core", core, "--json")
                    self.assertIn(status, (1, 2, 6, 7))
                    self.assertTrue(error.strip() or json.loads(out)["diagnoses"])

    def assert_prefixes(self, live, dump):
        """Every thread is there; what is shown as certain is true; a shorter stack says that it is cut."""
        wanted = by_thread(live)
        self.assertEqual(wanted.keys(), by_thread(dump).keys())
        for thread in dump["threads"]:
            truth = [(f["ip"], f["sp"]) for f in wanted[thread["tid"]]["frames"]]
            again = at_its_call_again(wanted[thread["tid"]])
            ours = [(f["ip"], f["sp"]) for f in thread["frames"] if f["trust"] == "certain"]
            for place in ours:
                self.assertIn(place, [*truth, again])
            if len(ours) < len(truth):
                self.assertNotEqual(stack_compare.reason(thread), stack_compare.COMPLETE)


class WithoutDotnet(LiveCase):
    needs_dotnet = False

    def test_native_program(self):
        kernel_or_skip(self)
        for name in ("plain", "handler"):
            with self.subTest(name), cores.folder() as folder:
                with processes.Debuggee([debuggee_build.NATIVE / name], cwd=folder) as debuggee:
                    debuggee.stop()
                    live = mixstack_dump.dump_at_rest(debuggee.pid)
                    core = cores.kernel_core(debuggee, folder)
                status, out, _, _ = mixstack_dump.run("dump", "--core", core, "--json")
                dump = json.loads(out)
                self.assertEqual((status, dump["process"]["runtimes"], dump["diagnoses"]), (0, [], []))
                self.assertEqual(core_compare.compare_running(live, dump)[:10], [])

    def test_no_core_at_all(self):
        for path, words in ((debuggee_build.NATIVE / "plain", "core"), (__file__, "core"), ("/nonexistent", "no"),
                            ("/", "")):
            with self.subTest(str(path)):
                status, out, error, _ = mixstack_dump.run("dump", "--core", path)
                self.assertNotIn(status, (0, 7))
                self.assertEqual(out, "")
                self.assertIn(words, error)


if __name__ == "__main__":
    raise SystemExit(f"run {pathlib.Path(__file__).with_name('run.py')}")
