"""The same stopped process, live and as a core: identical traces. And what ClrMD and gdb see in the same core."""
import pathlib

import harness
from harness import LiveCase
import core_compare
import cores
import debuggee_build
import mixstack_dump
import processes
import stack_compare
import witnesses

# Everything that a dump can hold.
EVERYTHING = ("--frames", "--registers")
# Need something else than a start and a wait, or are not for this test.
OTHERWISE = {
    "forks": "children come and go all the time: see test_agent_control",
    "vfork": "a thread that waits in vfork never stops, and createdump waits for it: see test_vfork",
    "crash_native_fault": "ends by the signal itself, not by abort: see test_core_crashes",
    "crash_null_call": "as above",
    "crash_stack_overflow": "the runtime prints the stack for seconds before it aborts: see test_core_crashes",
    "crash_stack_overflow_main": "as above",
    "crash_stack_overflow_mixed": "as above",
    "crash_stack_overflow_small": "as above",
}
FEWER = {"sleepers": ("60", "25")}
# Known only of a process that is there: who the others are that it waits for, and where its sockets lead.
OTHER_PROCESSES = [r"thread\.wait\.detail", r"thread\.wait\.processes\.length"]
OF_THE_KERNEL = {"sync_over_socket": [r"thread\.wait\.(type|detail)"],
                 **dict.fromkeys(("child_process", "coprocess", "file_lock_cycle", "full_pipe", "stopped_child"), OTHER_PROCESSES)}


def all_scenarios():
    done = mixstack_dump.subprocess.run([debuggee_build.SCENARIOS], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def make(name):
    """A crash scenario stands still where the runtime would abort."""
    environment = {"LD_PRELOAD": str(debuggee_build.NATIVE / "libholdabort.so")} if name.startswith("crash") else None
    return processes.scenario(name, *FEWER.get(name, ()), environment=environment)


class LiveAndCore(LiveCase):
    """Every scenario: stopped once, looked at twice."""

    def look_twice(self, debuggee, *options):
        """(the dump of the process, the dump of its full core)."""
        with cores.folder() as folder:
            debuggee.stop()
            live = mixstack_dump.dump_at_rest(debuggee.pid, *EVERYTHING, *options)
            core = cores.createdump(debuggee.pid, folder / "core")
            return live, mixstack_dump.dump_core(core, *EVERYTHING, *options)

    def assert_identical(self, live, core, allowed=()):
        faults = core_compare.compare(live, core, allowed)
        if faults:
            self.fail(f"{len(faults)} differences:\n  " + "\n  ".join(faults[:25]))
        self.assertEqual(core["diagnoses"], [])

    def look_at(self, name, tries=4):
        """The same of a scenario; of another process of it when createdump crashes."""
        for left in reversed(range(tries)):
            with make(name) as debuggee:
                try:
                    return self.look_twice(debuggee)
                except cores.ToolCrash:
                    if left == 0:
                        raise
        return None

    def check_scenario(self, name):
        live, core = self.look_at(name)
        self.assert_identical(live, core, OF_THE_KERNEL.get(name, ()))
        self.assertTrue(any(f["kind"] == "managed" for t in core["threads"] for f in t["frames"]))
        self.assertEqual(core["process"]["consistency"], "all_stopped_together")

    def test_identical(self):
        names = [name for name in all_scenarios() if name not in OTHERWISE]
        self.assertGreater(len(names), 40)
        for name in names:
            with self.subTest(name):
                self.check_scenario(name)

    test_identical.timeout = 600

    def test_raw_names_and_limits(self):
        for options in (("--raw-names",), ("--max-frames", "5"), ("--managed-only",)):
            with self.subTest(options), make("funclets") as debuggee:
                self.assert_identical(*self.look_twice(debuggee, *options))

    def test_code_in_a_segment_without_the_right_to_execute(self):
        """createdump makes one segment of mappings that touch, with the rights of the first: here of data and a barrier."""
        with make("barrier_field") as debuggee, cores.folder() as folder:
            for _ in range(200):
                debuggee.stop()
                live = mixstack_dump.dump_at_rest(debuggee.pid, *EVERYTHING)
                barriers = [int(t["frames"][0]["ip"], 16) for t in live["threads"] if t["frames"][0]["note"] == "patched copy"]
                if barriers:
                    break
                debuggee.resume()
            else:
                self.fail("the thread was never seen in a barrier")
            core = cores.createdump(debuggee.pid, folder / "core")
            cores.forbid_execution(core, barriers[0])
            self.assert_identical(live, mixstack_dump.dump_core(core, *EVERYTHING))

    def test_chosen_threads(self):
        with make("generics") as debuggee, cores.folder() as folder:
            debuggee.stop()
            tids = sorted(processes.thread_states(debuggee.pid))[-3:]
            wanted = ("-t", ",".join(map(str, tids)))
            live = mixstack_dump.dump_at_rest(debuggee.pid, *wanted)
            core = mixstack_dump.dump_core(cores.createdump(debuggee.pid, folder / "core"), *wanted)
        self.assertEqual(sorted(t["tid"] for t in core["threads"]), tids)
        self.assert_identical(live, core)

    def test_groups(self):
        """--merge: threads in other calls of the same methods are other groups, of a process and of its core alike."""
        for name in ("two_calls", "sleepers", "reverse_pinvoke", "shared_stubs"):
            with self.subTest(name), make(name) as debuggee:
                live, core = self.look_twice(debuggee, "--merge")
                self.assertEqual(live["groups"], core["groups"])
                threads = {t["tid"]: t for t in live["threads"]}
                for group in live["groups"]:
                    returns = {tuple(f["ip"] for f in threads[tid]["frames"] if f["kind"] == "managed"
                                     and not f["is_interrupted"]) for tid in group["tids"]}
                    self.assertEqual(len(returns), 1, group)
                if name != "two_calls":
                    continue
                names = {tid: (t["managed"] or {}).get("name") or "" for tid, t in threads.items()}
                groups = [sorted(names[tid] for tid in group["tids"]) for group in live["groups"]]
                self.assertIn(["first0", "first1"], groups)
                self.assertIn(["second0", "second1"], groups)

    def test_vfork(self):
        """createdump cannot stop such a process; the kernel can."""
        obstacle = cores.kernel_obstacle()
        if obstacle:
            self.skipTest(obstacle)
        with cores.folder() as folder, cores.scenario("vfork", where=folder) as debuggee:
            live = mixstack_dump.dump(debuggee.pid, stop_timeout=100)
            core = mixstack_dump.dump_core(cores.kernel_core(debuggee, folder))
        waiting = [t["tid"] for t in live["threads"] if not t["captured"]]
        self.assertEqual(len(waiting), 1)
        [thread] = [t for t in core["threads"] if t["tid"] == waiting[0]]
        self.assertEqual(stack_compare.reason(thread), stack_compare.COMPLETE)
        self.assert_order([f["name"] for f in thread["frames"]], "vfork", "Scenarios")


class OtherObservers(LiveCase):
    """ClrMD opens the same core; gdb, too."""

    SCENARIOS = ("reverse_pinvoke", "funclets", "r2r_generics", "exception_details", "dynamic_methods")

    def test_clrmd_and_gdb_on_the_same_core(self):
        for name in self.SCENARIOS:
            with self.subTest(name), cores.folder() as folder, make(name) as debuggee:
                debuggee.stop()
                core = cores.createdump(debuggee.pid, folder / "core")
                debuggee.end()
                dump = mixstack_dump.dump_core(core)
                oracle = harness._oracle.look(f"core {core}")
                gdb = witnesses.gdb_core_stacks(debuggee_build.SCENARIOS, core) if name == "reverse_pinvoke" else None
                self.assertEqual(oracle["pid"], debuggee.pid)
                observation = harness.Observation(dump, oracle, gdb)
                self.assert_no_faults(observation)
                matched = sum(frame["kind"] == "managed" for t in oracle["threads"] for frame in t["frames"])
                self.assertGreater(matched, 20)

    test_clrmd_and_gdb_on_the_same_core.timeout = 300


if __name__ == "__main__":
    raise SystemExit(f"run {pathlib.Path(__file__).with_name('run.py')}")
