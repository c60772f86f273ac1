""".NET 11, newer than the SDK: what differs from 10 and a little of everything, equal to ClrMD (by the runtime's own DAC)
and gdb. The whole suites run on it by `run.py --runtime 11` (scripts/nightly)."""
import cores
import harness
import mixstack_dump
import processes
import stack_compare
import test_dotnet9


class DotNet11(test_dotnet9.OnRelease):
    release = 11

    def test_frames(self):
        self.compare("marshalling", "reverse_pinvoke", "gc_wait")

    def test_code(self):
        self.compare("osr", "dynamic_methods", "r2r_generics")

    def test_exceptions(self):
        self.compare("funclets", "hardware_exceptions")

    def test_names(self):
        self.compare("generics", "async", "locks")

    def test_lines_and_threads(self):
        """Debug information has another form, and a managed thread its name at another place."""
        with self.scenario("marshalling") as debuggee:
            debuggee.stop()
            dump = mixstack_dump.dump(debuggee.pid)
        [thread] = [t for t in dump["threads"] if (t["managed"] or {}).get("name") == "text-callback"]
        lines = {f["raw_name"].partition("(")[0]: f["line"] for f in thread["frames"] if f["kind"] == "managed"}
        found = [line for name, line in lines.items() if "Scenarios.Interop" in name]
        self.assertTrue(found and all(found), (lines, dump["diagnoses"]))

    def test_cores(self):
        """The runtime's own createdump, the smallest: the runtime's file is known by its build id."""
        with self.scenario("funclets") as debuggee, cores.folder() as folder:
            debuggee.stop()
            oracle = harness._oracle.look(debuggee.pid)
            core = cores.createdump(debuggee.pid, folder / "core", "n")
            dump = mixstack_dump.dump_core(core)
            self.assert_by_contracts(dump)
            gdb = harness.witnesses.gdb_stacks(debuggee.pid)
            faults = [d for d in stack_compare.compare_process(dump, oracle, gdb, processes.mappings(debuggee.pid))
                      if not d.known]
            self.assertEqual([str(f) for f in faults], [])
