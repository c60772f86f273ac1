"""Every way to host .NET walks and names the same program alike, also when the runtime's file is gone."""
import os
import pathlib
import shutil
import tempfile

import hostings
import mixstack_dump
import processes
import stack_compare
from harness import LiveCase

# The blocked thread, innermost first, as C# has it.
NEST = ["System.Threading.Thread.Sleep(int)",
        "Hosted.Holder<int>.Hold(int, int[])",
        "Hosted.Square.Draw(int[])",
        "Hosted.Nest.Middle<int>(int)",
        "Hosted.Nest.Outer(string, int)",
        "Hosted.Program.Main(string[]).lambda()"]
SPIN = ["Hosted.Program.Spin()"]


def managed_names(thread):
    return [f["name"] for f in thread["frames"] if f["kind"] == "managed"]


class Hostings(LiveCase):
    timeout = 600

    def command(self, make, *arguments):
        try:
            return make(*arguments)
        except RuntimeError as error:
            self.skipTest(f"cannot be built here: {str(error)[-300:]}")

    def look(self, debuggee):
        dump = mixstack_dump.dump(debuggee.pid)
        [runtime] = dump["process"]["runtimes"]
        self.assertEqual((runtime["kind"], runtime["walkable"], runtime["provider"]), ("CoreCLR", True, "cdac"))
        threads = {t["name"]: t for t in dump["threads"]}
        nest = managed_names(threads["nest"])
        nest = nest[nest.index(NEST[0]):]  # since .NET 11 a sleep is managed code further in, too
        self.assertEqual(nest[:len(NEST)], NEST)
        self.assertEqual(managed_names(threads["spin"])[:len(SPIN)], SPIN)
        main = next(t for t in dump["threads"] if t["tid"] == debuggee.pid)
        self.assertIn("Hosted.Program.Main(string[])", managed_names(main))
        for name in ("nest", "spin"):
            self.assertEqual(stack_compare.reason(threads[name]), stack_compare.COMPLETE, name)
            self.assertEqual([f for f in threads[name]["frames"] if f["trust"] not in ("certain", "checked")], [], name)
        return dump

    def whole(self, make, *arguments):
        with processes.Debuggee(self.command(make, *arguments)) as debuggee:
            dump = self.look(debuggee)
        self.assertEqual(dump["diagnoses"], [])
        own = [f for t in dump["threads"] for f in t["frames"] if f["kind"] == "managed" and f["name"].startswith("Hosted.")]
        self.assertEqual([f["name"] for f in own if not f["file"].endswith("/Program.cs") or not f["line"]], [])

    def test_framework_dependent(self):
        self.whole(hostings.published, "framework-dependent")

    def test_by_the_dotnet_command(self):
        self.whole(hostings.by_dotnet)

    def test_ready_to_run(self):
        self.whole(hostings.published, "ready-to-run")

    def test_self_contained(self):
        self.whole(hostings.published, "self-contained")

    def test_trimmed(self):
        self.whole(hostings.published, "trimmed")

    def test_composite(self):
        self.whole(hostings.published, "composite")

    def test_single_file(self):
        self.whole(hostings.published, "single-file")

    def test_single_file_compressed(self):
        self.whole(hostings.published, "single-file-compressed")

    def test_single_file_framework_dependent(self):
        self.whole(hostings.published, "single-file-framework-dependent")

    def test_single_file_with_the_pdb_inside(self):
        self.whole(hostings.published, "single-file-pdb-inside")

    def test_single_file_that_unpacks_itself(self):
        """Its assemblies lie in a folder of their own, the PDB beside the program."""
        with tempfile.TemporaryDirectory() as folder, processes.Debuggee(
                self.command(hostings.published, "single-file-unpacked"), {"DOTNET_BUNDLE_EXTRACT_BASE_DIR": folder}) as debuggee:
            dump = mixstack_dump.dump(debuggee.pid)
        nest = [f for t in dump["threads"] for f in t["frames"] if f["name"].startswith("Hosted.Nest.")]
        self.assertEqual([bool(f["file"]) for f in nest], [True] * len(nest))
        self.assertGreater(len(nest), 1)

    def test_own_host(self):
        self.whole(hostings.own_host)

    def without_the_file(self, change):
        """A running program of its own copy, whose runtime's file is then changed."""
        source = self.command(hostings.build, "self-contained")
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "app"
            shutil.copytree(source, copy)
            with processes.Debuggee([copy / "Hosted"]) as debuggee:
                change(copy)
                self.look(debuggee)

    def test_runtime_deleted(self):
        self.without_the_file(lambda app: (app / "libcoreclr.so").unlink())

    def test_all_deleted(self):
        self.without_the_file(shutil.rmtree)

    def test_runtime_replaced(self):
        def replace(app):
            other = app / "other"
            other.write_bytes(os.urandom(1 << 16))
            other.rename(app / "libcoreclr.so")
        self.without_the_file(replace)

    def test_runtime_replaced_by_another_version(self):
        def replace(app):
            shutil.copy(app / "libclrjit.so", app / "other")
            (app / "other").rename(app / "libcoreclr.so")
        self.without_the_file(replace)
