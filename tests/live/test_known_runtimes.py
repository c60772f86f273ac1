"""Small cores on a machine without any file of theirs: managed frames are there all the same, for a released runtime is
known by its build id; and which package has what is missing is said."""
import contextlib
import re

import cores
import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase


def managed(dump):
    """{tid: [(sp, name), ...]} of the managed frames. (Where native frames cannot be walked for want of their file, a
    precompiled P/Invoke's caller is found by its Frame, which has an instruction shortly before the call.)"""
    found = {t["tid"]: [(f["sp"], f["raw_name"]) for f in t["frames"] if f["kind"] == "managed"] for t in dump["threads"]}
    return {tid: frames for tid, frames in found.items() if frames}


class KnownRuntimes(LiveCase):
    timeout = 300

    @contextlib.contextmanager
    def stopped(self, version, scenario, folder):
        try:
            program = debuggee_build.scenarios_on(version)
        except RuntimeError as error:
            self.skipTest(f"no .NET {version} runtime pack: {str(error)[-200:]}")
        with processes.Debuggee([program, scenario], cwd=folder) as debuggee:
            mixstack_dump.dump_at_rest(debuggee.pid)  # the main thread may be on its way to where it waits
            debuggee.stop()
            yield debuggee

    def empty(self, core, folder):
        nothing = folder / "nothing"
        nothing.mkdir(exist_ok=True)
        return mixstack_dump.dump_core(core, "--provider", "cdac", "--only-sysroot", "--sysroot", nothing)

    def assert_package_is_said(self, dump, version):
        [runtime] = dump["process"]["runtimes"]
        said = {d["subject"]: d["text"] for d in dump["diagnoses"]}
        self.assertIn(f" microsoft.netcore.app.runtime.linux-x64 {version} ",
                      said[runtime["module_path"]])

    def small_cores(self, major):
        for scenario in ("funclets", "generics", "reverse_pinvoke"):
            with cores.folder() as folder, self.stopped(major, scenario, folder) as debuggee:
                live = mixstack_dump.dump(debuggee.pid)
                wanted = managed(live)
                for kind in ("t", "n"):
                    with self.subTest(scenario=scenario, kind=kind):
                        core = cores.createdump(debuggee.pid, folder / "core", kind)
                        dump = self.empty(core, folder)
                        core.unlink()
                        [runtime] = dump["process"]["runtimes"]
                        self.assertTrue(runtime["walkable"], runtime["missing"])
                        self.assertEqual((runtime["version"], runtime["provider"]),
                                         (live["process"]["runtimes"][0]["version"], "cdac"))
                        self.assert_package_is_said(dump, runtime["version"])
                        seen = managed(dump)
                        self.assertEqual({tid: [sp for sp, _ in frames] for tid, frames in seen.items()},
                                         {tid: [sp for sp, _ in frames] for tid, frames in wanted.items()})
                        self.assert_names(seen, wanted)

    def assert_names(self, seen, wanted):
        """The same names but for types of arguments that are not in the core, which are marked."""
        for tid, frames in seen.items():
            for (_, name), (_, whole) in zip(frames, wanted[tid]):
                parts = re.split(r"\*\*UNKNOWN TYPE\*\*|\?", name)
                self.assertRegex(whole, "^" + ".*".join(map(re.escape, parts)) + "$")
                self.assertGreater(len("".join(parts)), 3)

    def test_small_cores_of_9(self):
        self.small_cores(9)

    def test_small_cores_of_10(self):
        self.small_cores(10)

    def test_small_cores_of_11(self):
        self.small_cores(11)

    def test_the_kernels_filter(self):
        """Its default: private memory, and the first page of each image. Frames that are left are right, and named where
        their methods were jitted from assemblies whose metadata is in memory."""
        if obstacle := cores.kernel_obstacle():
            self.skipTest(obstacle)
        with cores.folder() as folder, self.stopped(10, "funclets", folder) as debuggee:
            wanted = managed(mixstack_dump.dump(debuggee.pid))
            core = cores.kernel_core(debuggee, folder)
            dump = self.empty(core, folder)
            [runtime] = dump["process"]["runtimes"]
            self.assertTrue(runtime["walkable"], runtime["missing"])
            self.assert_package_is_said(dump, runtime["version"])
            found = 0
            for tid, frames in managed(dump).items():
                self.assertTrue({sp for sp, _ in frames} <= {sp for sp, _ in wanted[tid]}, tid)
                found += len(frames)
            self.assertGreater(found, 10)

    def test_without_a_descriptor_the_dac_is_named(self):
        """.NET 8 has none: its DAC is asked for, with the package that has it."""
        with cores.folder() as folder, self.stopped(8, "sleep", folder) as debuggee:
            core = cores.createdump(debuggee.pid, folder / "core", "n")
            nothing = folder / "nothing"
            nothing.mkdir()
            dump = mixstack_dump.dump_core(core, "--only-sysroot", "--sysroot", nothing)
            [runtime] = dump["process"]["runtimes"]
            self.assertEqual((runtime["version"], runtime["walkable"]), ("8.0.29", False))
            text = next(d["text"] for d in runtime["missing"] if d["subject"].endswith("libmscordaccore.so"))
            self.assertIn(" microsoft.netcore.app.runtime.linux-x64 8.0.29 ", text)
