""".NET 9 by what it says of itself and g_dacTable, without its DAC: equal to ClrMD (which has the DAC) and gdb."""
import contextlib
import pathlib
import re
import shutil
import tempfile

import cores
import debuggee_build
import harness
import mixstack_dump
import processes
import stack_compare
from harness import LiveCase


class OnRelease(LiveCase):
    """Of another release than the SDK's, self-contained."""
    timeout = 300
    release = 0

    def program(self):
        try:
            return debuggee_build.scenarios_on(self.release)
        except RuntimeError as error:
            self.skipTest(f"no .NET {self.release} runtime pack: {str(error)[-200:]}")

    @contextlib.contextmanager
    def scenario(self, name):
        with processes.Debuggee([self.program(), name]) as debuggee:
            yield debuggee

    def assert_by_contracts(self, dump):
        [runtime] = dump["process"]["runtimes"]
        self.assertEqual((runtime["walkable"], runtime["provider"]), (True, "cdac"), runtime["missing"])

    def compare(self, *names):
        for name in names:
            with self.subTest(name), self.scenario(name) as debuggee:
                compared = 0
                for _ in range(5):  # at some moments ClrMD walks few frames of threads in suppressed transitions
                    seen = self.observe(debuggee, options=("--registers",))
                    self.assert_by_contracts(seen.dump)
                    self.assertEqual(seen.dump["diagnoses"], [])
                    self.assert_no_faults(seen)
                    compared = max(compared, self.compare_registers(seen))
                    if compared > 10:
                        break
                self.assertGreater(compared, 10)

    def compare_registers(self, seen):
        compared = 0
        ours = {t["tid"]: t for t in seen.dump["threads"]}
        for thread in seen.oracle["threads"]:
            if thread["isAlive"] and thread["osId"] in ours:
                differences, n = stack_compare.compare_registers(thread["osId"], thread["frames"],
                                                                 ours[thread["osId"]]["frames"])
                self.assertEqual([str(d) for d in differences], [])
                compared += n
        return compared


class DotNet9(OnRelease):
    release = 9

    def test_frames(self):
        self.compare("sleep", "reverse_pinvoke", "marshalling", "suppress_gc_transition", "native_spin", "uco_fnptr",
                     "once_managed", "native_thread", "big_frames", "deep", "rbp_plain", "gc_wait")

    def test_code(self):
        self.compare("tiers", "osr", "r2r_generics", "dynamic_methods", "collectible", "spin", "tail_calls")

    def test_exceptions(self):
        self.compare("funclets", "exception_through_native", "hardware_exceptions", "signal_handler",
                     "rethrow", "nested_exceptions", "filter_native")

    def test_names(self):
        self.compare("generics", "signatures", "members", "lambdas", "async", "iterators", "locks", "reflection",
                     "pool", "resolvers")

    def test_explicit_frames(self):
        """Each under its own type and with its method, as ClrMD has it; FCalls have Frames of their own here."""
        compared, kinds = 0, set()
        for name in ("exception_through_native", "hardware_exceptions", "funclets", "reverse_pinvoke", "marshalling",
                     "sleep", "reflection", "locks"):
            with self.scenario(name) as debuggee:
                debuggee.stop()
                dump = mixstack_dump.dump(debuggee.pid, "--frames")
                self.assert_by_contracts(dump)
                oracle = harness._oracle.look(debuggee.pid)
                ours = {int(f["frame_address"], 16): f["name"] for t in dump["threads"] for f in t["frames"]
                        if f.get("code_kind") == "runtime_frame"}
                for frame in (f for t in oracle["threads"] if t["isAlive"] for f in t["frames"]):
                    place = int(frame["sp"], 16)
                    if frame["kind"] != "runtime" or not frame["frameName"] or place not in ours:
                        continue
                    self.assertTrue(ours[place].startswith(f"[{frame['frameName']}]"),
                                    f"{name} {place:#x}: {ours[place]}, ClrMD says {frame['frameName']}")
                    compared += 1
                    kinds.add(frame["frameName"])
        self.assertGreater(compared, 20)
        self.assertGreater(len(kinds), 4, kinds)
        self.assertTrue(any(kind.startswith("HelperMethodFrame") for kind in kinds), kinds)

    def test_cores(self):
        """The runtime's own createdump, three sizes."""
        with self.scenario("funclets") as debuggee, cores.folder() as folder:
            debuggee.stop()
            oracle = harness._oracle.look(debuggee.pid)
            gdb = harness.witnesses.gdb_stacks(debuggee.pid)
            for kind in ("u", "h", "n"):
                core = cores.createdump(debuggee.pid, folder / "core", kind)
                dump = mixstack_dump.dump_core(core)
                self.assert_by_contracts(dump)
                faults = [d for d in stack_compare.compare_process(dump, oracle, gdb, processes.mappings(debuggee.pid))
                          if not d.known]
                self.assertEqual([str(f) for f in faults if f.rule != "end"], [], kind)
                core.unlink()

    def test_without_a_dac(self):
        """A slim deployment: the library is not there, nor are ICU, diagnostics and the like."""
        program = self.program()
        with tempfile.TemporaryDirectory() as folder:
            slim = pathlib.Path(folder) / "app"
            shutil.copytree(program.parent, slim, symlinks=True)
            (slim.parent / "native").symlink_to(debuggee_build.NATIVE)
            listed = slim / "Scenarios.deps.json"
            listed.write_text(re.sub(r'"libmscordaccore.so": {[^}]*},', "", listed.read_text()))
            (slim / "libmscordaccore.so").unlink()
            with processes.Debuggee([slim / program.name, "sleep"]) as debuggee:
                debuggee.stop()
                dump = mixstack_dump.dump(debuggee.pid)
                self.assert_by_contracts(dump)
                self.assertEqual(dump["diagnoses"], [])
                names = [f["name"] for t in dump["threads"] for f in t["frames"] if f["kind"] == "managed"]
                self.assertTrue(any("Thread.Sleep" in name for name in names), names)
