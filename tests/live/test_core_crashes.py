"""Cores that the kernel writes of processes that crash: who did it, with which signal, and how he got there."""
import json
import os
import pathlib
import resource
import signal
import subprocess

from harness import LiveCase
import core_compare
import cores
import debuggee_build
import harness
import mixstack_dump
import processes
import stack_compare

START = ("System.Threading.Thread.StartCallback", "start_thread")


def die(name, folder, coredump_filter, timeout=100, **settings):
    """Lets a crash scenario die; (its core, the signal)."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DOTNET_Dbg", "COMPlus_"))}
    environment.update(settings)

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        pathlib.Path("/proc/self/coredump_filter").write_text(hex(coredump_filter))

    with cores.kernel_writes_files():
        process = subprocess.Popen([debuggee_build.SCENARIOS, name], cwd=folder, env=environment, preexec_fn=limit,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            status = process.wait(timeout)
        finally:
            process.kill()
            process.wait()
        return cores.find_kernel_core(process.pid, folder), -status


class Crashes(LiveCase):
    timeout = 200

    def setUp(self):
        super().setUp()
        obstacle = cores.kernel_obstacle()
        if obstacle:
            self.skipTest(obstacle)

    def look(self, name, *options, coredump_filter=0x33):
        """(the dump, the thread that crashed). Whatever happened, every stack is whole. ClrMD opens kernel cores with
        every page only."""
        with cores.folder() as folder:
            core, number = die(name, folder, coredump_filter)
            status, out, error, _ = mixstack_dump.run("dump", "--core", core, "--json", *options)
            self.assertEqual(status, 0, error)
            dump = json.loads(out)
            self.assertEqual(dump["process"]["crash"]["signal"], number)
            self.assertEqual(dump["diagnoses"], [])
            first = dump["threads"][0]
            self.assertEqual(dump["process"]["crash"]["tid"], first["tid"])
            self.assertEqual(int(first["registers"]["rip"], 16), int(first["frames"][0]["ip"], 16))
            bystander = next(t for t in dump["threads"] if (t["managed"] or {}).get("name") == "bystander")
            for thread in [first, bystander] if options else dump["threads"]:
                self.assertEqual(stack_compare.reason(thread), stack_compare.COMPLETE, thread["tid"])
            if coredump_filter == 0x7f:
                self.assert_no_faults(harness.Observation(dump, harness._oracle.look(f"core {core}"), None))
            return dump, first

    def names(self, thread):
        return [f["raw_name"] or f["name"] for f in thread["frames"]]

    def assert_fault(self, dump, address):
        crash = dump["process"]["crash"]
        self.assertEqual((crash["name"], crash["signal"]), ("SIGSEGV", signal.SIGSEGV))
        self.assertEqual(int(crash["address"], 16), address)
        self.assertNotIn("sender", crash)

    def assert_abort(self, dump, kind):
        self.assertEqual(dump["process"]["crash"]["name"], "SIGABRT")
        self.assertEqual(dump["threads"][0]["managed"]["abort"]["kind"], kind)

    def test_fault_in_native_code(self):
        dump, thread = self.look("crash_native_fault")
        self.assert_fault(dump, 0)
        self.assertEqual(thread["managed"]["name"], "crash")
        self.assertEqual(thread["frames"][0]["name"], "scen_fault")
        self.assert_order(self.names(thread), "scen_fault", "<NativeFault>", *START)

    def test_call_through_null(self):
        dump, thread = self.look("crash_null_call")
        self.assert_fault(dump, 0)
        self.assertEqual(int(thread["frames"][0]["ip"], 16), 0)
        self.assert_order(self.names(thread), "scen_call", "NullCall", *START)

    def test_fail_fast(self):
        dump, thread = self.look("crash_fail_fast", coredump_filter=0x7f)
        self.assert_abort(dump, "fail_fast")
        self.assertEqual(thread["managed"]["abort"]["message"], 'the "disk" is on fire \u2620 \U0001f525')
        self.assert_order(self.names(thread), "raise", "abort", "Environment.FailFast", "Crashes.GiveUp", *START)

    def test_unhandled_exception(self):
        dump, thread = self.look("crash_unhandled", coredump_filter=0x7f)
        self.assert_abort(dump, "unhandled_exception")
        exception = thread["managed"]["exceptions"][0]  # behind it the one that was handled when it was thrown
        self.assertEqual([e["message"] for e in exception["chain"]], ["wrapped once", "wrapped twice", "at the bottom"])
        thrown = [f["raw_name"] for f in exception["chain"][-1]["thrown_at"]]
        self.assert_order(thrown, "Crashes.Throw", "Crashes.Throw", "Crashes.Throw", "Crashes.Wrap")
        self.assert_order(self.names(thread), "abort", "Crashes.Wrap", *START)

    def test_stack_overflow(self):
        dump, thread = self.look("crash_stack_overflow", "--max-frames", "200000")
        self.assert_abort(dump, "stack_overflow")
        names = self.names(thread)
        deepest = sum("Crashes.Ping" in name or "Crashes.Pong" in name for name in names)
        self.assertGreater(deepest, 10_000)
        self.assert_order(names, "abort", "Crashes.P", "Crashes.P", *START)

    def test_killed_from_outside(self):
        """.NET takes the first SIGABRT for itself; the second one ends it."""
        with cores.folder() as folder, cores.scenario("funclets", where=folder) as debuggee:
            live = mixstack_dump.dump_at_rest(debuggee.pid)
            cores.allow(debuggee.pid)
            with cores.kernel_writes_files():
                for _ in range(200):
                    if not debuggee.is_alive():
                        break
                    os.kill(debuggee.pid, signal.SIGABRT)
                    processes.time.sleep(0.1)
                dump = mixstack_dump.dump_core(cores.find_kernel_core(debuggee.pid, folder))
        crash = dump["process"]["crash"]
        self.assertEqual((crash["name"], crash["sender"]), ("SIGABRT", os.getpid()))
        self.assertEqual(crash["tid"], dump["threads"][0]["tid"])
        # The one that was hit ran the runtime's handler once; the others stand where they stood.
        handlers = {crash["tid"], *(t["tid"] for t in live["threads"] if t["name"] == ".NET SigHandler")}
        for side in (live, dump):
            side["threads"] = [t for t in side["threads"] if t["tid"] not in handlers]
            side["process"]["thread_count"] = len(side["threads"])
        self.assertEqual(core_compare.compare_running(live, dump)[:5], [])

    def running_and_core(self, name):
        with cores.folder() as folder:
            with cores.scenario(name, where=folder) as debuggee:
                live = mixstack_dump.dump_at_rest(debuggee.pid)
                core = cores.kernel_core(debuggee, folder)
            return live, mixstack_dump.dump_core(core)

    def test_out_of_signal_handlers(self):
        """A core written while a handler runs: the walk crosses the signal's frame, alternate stacks included."""
        for name in ("signal_handler", "signal_handler_altstack", "signal_handler_own_altstack"):
            with self.subTest(name):
                # The finalizer waits two seconds in one way and then in another, also between the two looks.
                for _ in range(3):
                    live, dump = self.running_and_core(name)
                    faults = core_compare.compare_running(live, dump)
                    if not faults or any("(.NET Finalizer)" not in fault for fault in faults):
                        break
                self.assertEqual(faults[:5], [])
                kinds = {frame["code_kind"] for thread in dump["threads"] for frame in thread["frames"]}
                self.assertIn("signal_trampoline", kinds)


class CreatedumpOfACrash(LiveCase):
    """The runtime calls createdump out of its signal handler and waits: the thread's registers are those of the wait."""

    timeout = 300

    def setUp(self):
        super().setUp()
        obstacle = cores.kernel_obstacle()
        if obstacle:
            self.skipTest(obstacle)

    def look(self, name):
        """Two dumps of one crash: of createdump's core, and of the kernel's, which is written when the handler has
        returned and the same instruction faults again: the same registers."""
        with cores.folder() as folder:
            made = folder / "by-createdump"
            core, number = die(name, folder, 0x33, DOTNET_DbgEnableMiniDump="1", DOTNET_DbgMiniDumpType="4",
                               DOTNET_DbgMiniDumpName=str(made))
            self.assertEqual(number, signal.SIGSEGV)
            text = mixstack_dump.run("dump", "--core", made, "--registers")[1]
            return mixstack_dump.dump_core(made), mixstack_dump.dump_core(core), text

    def crashed(self, dump):
        crash = dump["process"]["crash"]
        self.assertEqual(crash["signal"], signal.SIGSEGV)
        return next(t for t in dump["threads"] if t["tid"] == crash["tid"])

    def check(self, name, function):
        made, kernels, text = self.look(name)
        ours, truth = self.crashed(made), self.crashed(kernels)
        self.assertEqual((ours["registers_from"], truth["registers_from"]), ("signal_frame", "thread"))
        self.assertEqual(ours["registers"], truth["registers"])
        self.assertEqual(truth["frames"][0]["ip"], truth["registers"]["rip"])
        self.assertNotEqual(ours["frames"][0]["ip"], ours["registers"]["rip"])
        at_fault = next(f for f in ours["frames"] if f["ip"] == ours["registers"]["rip"])
        self.assertTrue(at_fault["is_interrupted"])
        self.assertIn(function, (at_fault["name"], ours["frames"][ours["frames"].index(at_fault) + 1]["name"]))
        self.assertIn(f"rip {int(truth['registers']['rip'], 16):016x}", text)
        self.assertNotIn("vector_registers", ours)

    def test_fault_in_native_code(self):
        self.check("crash_native_fault", "scen_fault")

    def test_call_through_null(self):
        self.check("crash_null_call", "scen_call")


if __name__ == "__main__":
    raise SystemExit(f"run {pathlib.Path(__file__).with_name('run.py')}")
