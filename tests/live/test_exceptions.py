"""Exceptions in flight and dying processes against ClrMD's exception objects and what the scenarios threw."""
import re
import shutil
import subprocess
import unittest

from harness import LiveCase
import cores
import debuggee_build
import mixstack_dump
import processes

MAX_MESSAGE = 4096  # UTF-16 units
CLRMD_FRAMES = 64
# A process that would call abort() says READY and stands still instead.
HOLD = {"LD_PRELOAD": str(debuggee_build.NATIVE / "libholdabort.so")}


def _message(units):
    """ClrMD's message (hex of UTF-16 units) as mixstack writes it."""
    if units is None:
        return None
    raw = bytes.fromhex(units)
    cut = len(raw) >= 2 * MAX_MESSAGE  # ClrMD ends there, too, without a word
    if cut:
        raw = raw[:2 * MAX_MESSAGE]
        if 0xD8 <= raw[-2] < 0xDC:
            raw = raw[:-2]
    text = raw.decode("utf-16-be", "surrogatepass").encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    return text + "…" if cut else text


def _type(name):
    """Type name without type arguments, nested types as C# writes them."""
    return re.sub("[<`].*", "", name or "").replace("+", ".")


class Exceptions(LiveCase):
    def observe_exceptions(self, scenario, environment=None):
        """(threads by name, ClrMD's threads by tid) of one stopped process."""
        with processes.scenario(scenario, environment=environment) as debuggee:
            seen = self.observe(debuggee, with_gdb=False)
        threads = {(t["managed"] or {}).get("name") or t["name"]: t for t in seen.dump["threads"]}
        return threads, {t["osId"]: t for t in seen.oracle["threads"]}

    def observe_end(self, scenario):
        """The same of a process that stands where its runtime calls abort()."""
        threads, oracle = self.observe_exceptions(scenario, HOLD)
        self.assertIsNone(threads["bystander"]["managed"]["abort"])
        self.assertEqual(threads["bystander"]["managed"]["exceptions"], [])
        return threads["crash"], oracle[threads["crash"]["tid"]]["exception"]

    def assert_same_object(self, ours, theirs):
        self.assertIsNone(ours["error"])
        self.assertEqual(ours["object"], theirs["address"])
        self.assertEqual(_type(ours["type"]), _type(theirs["type"]))
        self.assertEqual(ours["message"], _message(theirs["message"]))
        self.assertEqual(int(ours["hresult"], 16), theirs["hresult"])
        self.assertFalse(ours["thrown_at_is_cut"])
        mine = [(f["method_desc"], f["sp"], f["raw_name"]) for f in ours["thrown_at"]]
        witness = [(f["methodDesc"], f["sp"], f["method"]) for f in theirs["stack"]]
        # ClrMD reads 64 frames at most, and none where the array of the trace also keeps dynamic methods alive.
        if len(witness) == CLRMD_FRAMES or any("DynamicClass" in f["raw_name"] for f in ours["thrown_at"]):
            mine = mine[:len(witness)]
        self.assertEqual(mine, witness)
        for index, (frame, witness) in enumerate(zip(ours["thrown_at"], theirs["stack"])):
            # The DAC takes one off the address of a fault, too, as if it had been called from.
            allowed = (0, 1) if index == 0 else (0,)
            self.assertIn(int(frame["ip"], 16) - int(witness["ip"], 16), allowed)
            self.assertGreater(frame["offset"], 0)

    def assert_same_chain(self, exception, theirs):
        """Along the inner exceptions, as far as we list them. Returns how many were compared."""
        chain = exception["chain"]
        index, compared = 0, 0
        while index is not None:
            self.assert_same_object(chain[index], theirs)
            compared += 1
            index = next((i for i, e in enumerate(chain) if e["inner_of"] == index), None)
            theirs = theirs["inner"]
            if index is None and not exception["inner_are_cut"]:
                self.assertIsNone(theirs)
        return compared

    def test_details(self):
        threads, oracle = self.observe_exceptions("exception_details")
        compared = 0
        for name, thread in threads.items():
            witness = oracle.get(thread["tid"], {}).get("exception")
            exceptions = (thread["managed"] or {}).get("exceptions") or []
            with self.subTest(name):
                self.assertIsNone((thread["managed"] or {}).get("abort"))
                if not exceptions:
                    # The last exception of a thread that handles none any more is not in flight.
                    self.assertTrue(witness is None or name == "over", name)
                    continue
                self.assertIsNotNone(witness)
                self.assertEqual(thread["managed"]["exception"], exceptions[0]["chain"][0]["type"])
                compared += self.assert_same_chain(exceptions[0], witness)
        self.assertGreaterEqual(compared, 45)
        self.assertEqual(threads["never"]["managed"]["exceptions"], [])
        self.assertEqual(threads["over"]["managed"]["exceptions"], [])
        self.check_contents({name: thread["managed"]["exceptions"][0] for name, thread in threads.items()
                             if (thread["managed"] or {}).get("exceptions")})

    def check_contents(self, held):
        """What the scenario threw, whatever ClrMD says."""
        first = {name: exception["chain"][0] for name, exception in held.items()}
        self.assertEqual(first["plain"]["message"], 'said "so"\n\tin two lines')
        self.assertIsNone(first["no-message"]["message"])
        self.assertEqual(first["empty-message"]["message"], "")
        self.assertEqual(first["code"]["hresult"], "0x8badf00d")
        self.assertEqual(first["generic"]["type"],
                         "Scenarios.ExceptionDetails.Generic<Dictionary<string, int[]>>")
        self.assertEqual(first["wide"]["message"], "grüß 日本 😀 \ufffd alone \ufffd")
        self.assertEqual(first["long"]["message"], "x" * 4095 + "…")
        self.assertEqual([e["message"] for e in held["inner"]["chain"]],
                         ["outer", "middle", "has a code of its own"])
        parts = [e for e in held["aggregate"]["chain"] if e["inner_of"] == 0]
        self.assertEqual([e["message"] for e in parts], ["from below"] * 2)
        self.assertEqual([sum("ExceptionDetails.Throw(" in f["name"] for f in e["thrown_at"]) for e in parts], [2, 3])
        many = held["many-inner"]
        self.assertEqual([e["message"] for e in many["chain"][1:]], [f"part {i}" for i in range(16)])
        self.assertTrue(many["inner_are_cut"])
        self.assertEqual([e["message"] for e in held["deep-inner"]["chain"]], [f"link {i}" for i in range(40, 23, -1)])
        self.assertTrue(held["deep-inner"]["inner_are_cut"])
        self.assertEqual([e["message"] for e in held["cycle"]["chain"]], ["head", "tail"])
        self.assertTrue(held["cycle"]["inner_are_cut"])
        self.assertFalse(held["aggregate-empty"]["inner_are_cut"])
        self.assertEqual(len(held["aggregate-empty"]["chain"]), 1)
        self.assertEqual(sum(f["ends_first_part"] for f in first["dispatch-info"]["thrown_at"]), 1)
        self.assertEqual(sum("Throw(" in f["name"] for f in first["deep-throw"]["thrown_at"]), 3001)
        self.assert_order([f["raw_name"] for f in first["dynamic-method"]["thrown_at"]], "DynamicClass.Thrower()",
                          "ExceptionDetails+<>c.<Details>b__", "Hold")

    def test_other_scenarios(self):
        """Funclets, nested exceptions, rethrows and faults: the newest exception is ClrMD's current one."""
        for scenario in ("funclets", "nested_exceptions", "rethrow", "hardware_exceptions", "exception_through_native"):
            threads, oracle = self.observe_exceptions(scenario)
            compared = 0
            for name, thread in threads.items():
                exceptions = (thread["managed"] or {}).get("exceptions") or []
                with self.subTest(scenario, thread=name):
                    if exceptions:
                        compared += self.assert_same_chain(exceptions[0], oracle[thread["tid"]]["exception"])
            self.assertGreater(compared, 0, scenario)

    def test_nested(self):
        threads, _ = self.observe_exceptions("nested_exceptions")
        nested = {name: [len(e["chain"]) for e in threads[name]["managed"]["exceptions"]]
                  for name in ("catch-in-catch", "filter-in-finally", "throw-in-filter", "three-deep")}
        self.assertEqual({name: len(chains) for name, chains in nested.items()},
                         {"catch-in-catch": 2, "filter-in-finally": 2, "throw-in-filter": 2, "three-deep": 4})
        depths = [len([f for f in e["chain"][0]["thrown_at"] if ".Throw(" in f["name"]])
                  for e in threads["three-deep"]["managed"]["exceptions"]]
        self.assertEqual(depths, [1, 2, 3, 4])

    def test_fail_fast(self):
        for scenario, message in (("crash_fail_fast", 'the "disk" is on fire ☠ 🔥'),
                                  ("crash_fail_fast_exception", "could not go on"), ("crash_fail_fast_silent", None)):
            with self.subTest(scenario):
                thread, _ = self.observe_end(scenario)
                self.assertEqual(thread["managed"]["abort"], {"kind": "fail_fast", "message": message,
                                                              "message_inferred": message is not None})
                self.assertEqual(thread["stop_reason"], "end_of_stack")

    def test_exception_given_to_fail_fast(self):
        thread, theirs = self.observe_end("crash_fail_fast_exception")
        if not debuggee_build.RUNTIME:  # since .NET 11 nothing is wrapped round it
            self.assertEqual(theirs["type"], "System.ExecutionEngineException")
            theirs = theirs["inner"]
        [exception] = thread["managed"]["exceptions"]
        self.assert_same_chain(exception, theirs)
        self.assertEqual(exception["chain"][0]["message"], "at the bottom")

    def test_failed_assertion(self):
        thread, _ = self.observe_end("crash_assert")
        self.assertEqual(thread["managed"]["abort"]["kind"], "fail_fast")
        self.assertTrue(thread["managed"]["abort"]["message"].startswith("Assertion Failed\nshort\ndetailed\n"))

    def test_unhandled(self):
        for scenario in ("crash_unhandled", "crash_unhandled_native"):
            with self.subTest(scenario):
                thread, theirs = self.observe_end(scenario)
                self.assertEqual(thread["managed"]["abort"]["kind"], "unhandled_exception")
                newest, handled = thread["managed"]["exceptions"]
                self.assertEqual(self.assert_same_chain(newest, theirs), 3)
                self.assertEqual([e["message"] for e in newest["chain"]],
                                 ["wrapped once", "wrapped twice", "at the bottom"])
                self.assertEqual([e["message"] for e in handled["chain"]], ["at the bottom"])
                thrown = [f["name"] for f in newest["chain"][0]["thrown_at"]]
                self.assertEqual(thrown[0], "Scenarios.Crashes.Wrap(int)")

    def test_stack_overflow(self):
        for scenario, period in (("crash_stack_overflow", 2), ("crash_stack_overflow_mixed", 2)):
            with self.subTest(scenario):
                thread, theirs = self.observe_end(scenario)
                self.assertEqual(theirs["type"], "System.StackOverflowException")
                self.assertEqual(thread["managed"]["abort"]["kind"], "stack_overflow")
                self.assertEqual(thread["stop_reason"], "end_of_stack")
                [repeat] = thread["repeats"]
                self.assertEqual(repeat["period"], period)
                self.assertGreater(repeat["count"], 5000)
                names = [f["name"] for f in thread["frames"]]
                self.assert_order(names, "abort", "Scenarios.Crashes.", "Scenarios.Crashes.", "lambda()",
                                  "System.Threading.Thread.StartCallback", "clone3")
                outside = names[:repeat["first"]] + names[repeat["first"] + period * repeat["count"]:]
                self.assertLess(len(outside), 40)
                self.assertEqual({f["trust"] for f in thread["frames"]}, {"certain"})

    def test_stack_overflow_on_the_main_stack(self):
        """A quarter of a million frames are some forty lines."""
        with processes.scenario("crash_stack_overflow_main", environment=HOLD) as debuggee:
            status, text, _, _ = mixstack_dump.run("dump", debuggee.pid, "-t", debuggee.pid, "--max-frames", 400_000)
        self.assertEqual(status, 0)
        lines = text.splitlines()
        self.assertLess(len(lines), 60)
        self.assert_order(lines, "stack overflow", "abort", "more times the 2 frames above", "Program.Main", "_start")
        self.assertNotIn("stack cut", text)

    def test_explicit_frames_of_an_overflow_lie_where_clrmd_has_them(self):
        """The newest lies on the stack of the handler, the others at the far end of the thread's own."""
        with (cores.folder() as folder,
              cores.scenario("crash_stack_overflow_small", where=folder, environment=HOLD) as debuggee):
            seen = self.observe(debuggee, options=("--frames",), with_gdb=False)
            dumps = [seen.dump]
            if not cores.kernel_obstacle():
                dumps.append(mixstack_dump.dump_core(cores.kernel_core(debuggee, folder), "--frames"))
        tid = seen.thread("crash")["tid"]
        theirs = next(t["frames"] for t in seen.oracle["threads"] if t["osId"] == tid)
        wanted = [(f["sp"], f["method"] or f"[{f['frameName']}]") for f in theirs]
        self.assertEqual(wanted[0][1], "[FaultingExceptionFrame]")
        self.assertEqual(wanted[-1][1], "[DebuggerU2MCatchHandlerFrame]")
        for dump in dumps:
            frames = next(t["frames"] for t in dump["threads"] if t["tid"] == tid)
            ours = [(f["sp"], f["name"] if f["code_kind"] == "runtime_frame" else f["raw_name"])
                    for f in frames if f["code_kind"] in ("managed", "runtime_frame")]
            self.assertTrue(ours == wanted, (ours[:3], ours[-3:], len(ours), len(wanted)))
            self.assertEqual(frames[0]["code_kind"], "native")

    def test_overflowing_frames_are_clrmds(self):
        with processes.scenario("crash_stack_overflow", environment=HOLD) as debuggee:
            seen = self.observe(debuggee, with_gdb=False)
        tid = seen.thread("crash")["tid"]
        theirs = next(t["frames"] for t in seen.oracle["threads"] if t["osId"] == tid)
        managed = [(f["ip"], f["sp"]) for f in theirs if f["kind"] == "managed"]
        self.assertGreater(len(managed), 10_000)
        self.assertEqual([(f["ip"], f["sp"]) for f in seen.thread("crash")["frames"] if f["kind"] == "managed"],
                         managed)


# ClrRestoreNonvolatileContextWorker (src/coreclr/vm/amd64/Context.S, .NET 10): the registers of the catching method are
# back, the frame pointer among them, and sp is not: mov 0xf0(%r10),%r15 comes last, then a jump with the new sp.
LAST_REGISTER = bytes.fromhex("4d8bbaf0000000")
NEW_STACK = bytes.fromhex("498ba298000000ffe0")


def _resuming(pid):
    """Address of the instruction that restores the last register, or None where this runtime has no such code."""
    for line in open(f"/proc/{pid}/maps"):
        fields = line.split()
        if not line.rstrip().endswith("/libcoreclr.so") or "x" not in fields[1]:
            continue
        begin, end = (int(part, 16) for part in fields[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory:
            memory.seek(begin)
            code = memory.read(end - begin)
        stack = code.find(NEW_STACK)
        found = code.rfind(LAST_REGISTER, max(0, stack - 128), stack) if stack >= 0 else -1
        if found >= 0:
            return begin + found
    return None


@unittest.skipUnless(shutil.which("gdb"), "no gdb")
class Resuming(LiveCase):
    @staticmethod
    def leave_at(debuggee, address):
        """The stop signal is taken by the thread before it executes anything more."""
        subprocess.run(["gdb", "-batch", "-nx", "-p", str(debuggee.pid), "-ex", "handle all nostop noprint pass",
                        "-ex", f"break *{address:#x}", "-ex", "continue", "-ex", "delete",
                        "-ex", f"shell kill -STOP {debuggee.pid}", "-ex", "detach"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)

    def test_the_catching_method_is_there_while_its_registers_are_restored(self):
        """The CFI of that code is based on the frame pointer, which is the catching method's by then."""
        with processes.scenario("exception_storm") as debuggee:
            address = _resuming(debuggee.pid)
            if address is None:
                self.skipTest("this runtime resumes with other code")
            there = []
            for _ in range(20):  # sometimes gdb steps the other thrower over its breakpoint and lets this one run
                self.leave_at(debuggee, address)
                seen = self.observe(debuggee, with_oracle=False, with_gdb=False)
                there = [t for t in seen.dump["threads"] if t["frames"] and int(t["frames"][0]["ip"], 16) == address]
                if there:
                    break
                debuggee.resume()
            self.assertTrue(there, "gdb left no thread where its breakpoint was")
            for thread in there:
                names = [frame["name"] for frame in thread["frames"]]
                self.assert_order(names, "ThrowAndCatch", "Storm().lambda()", "StartCallback")
                self.assertNotEqual(thread["frames"][1]["trust"], "certain", names)
                self.assertEqual(thread["stop_reason"], "end_of_stack", names)
