"""IL stubs of P/Invokes with equal signatures are one stub: what it is called by is the method it was called for."""
import re
import unittest

from harness import LiveCase, SHARES_PINVOKE_STUBS
import mixstack_dump
import processes

STUB = "[stub: P/Invoke]"


def method_of(native_name):
    """The P/Invoke of a native function, by the scenarios' rule: scen_feed_cat is called through FeedCat."""
    return "".join(part.capitalize() for part in native_name.removeprefix("scen_").split("_"))


def stubs_with_callee(thread):
    """(name of the stub, name of the native frame it called or None) of each P/Invoke stub."""
    frames = [f for f in thread["frames"] if f["code_kind"] != "runtime_frame"]
    for i, frame in enumerate(frames):
        if frame["name"].startswith(STUB):
            callee = frames[i - 1] if i else None
            yield frame["name"], callee["name"] if callee and callee["kind"] == "native" else None


def target_of(name):
    """Bare name of the method a stub is said to be for, or None."""
    found = re.search(r" -> [^(]*?(\w+)\(", name)
    return found and found[1]


class SharedStubs(LiveCase):
    def look(self, scenario, *options):
        with processes.scenario(scenario) as debuggee:
            observation = self.observe(debuggee, options=options, with_gdb=False)
            self.assert_no_faults(observation)
            return observation

    def assert_targets(self, observation, thread_name, *targets):
        """The stubs of a thread, innermost first: each is called by the native function that it called; and the native
        frame agrees with what the program was told to do. What is no stub has the name itself."""
        if not SHARES_PINVOKE_STUBS:
            names = observation.names(thread_name, "managed")
            self.assert_order(names, *(f".SharedStubs.{target}(" for target in targets if target))
            targets = [target for target in targets if not target]
        found = list(stubs_with_callee(observation.thread(thread_name)))
        self.assertEqual([target_of(name) for name, _ in found], list(targets), found)
        for name, callee in found:
            if callee is not None and callee.startswith("scen_") and target_of(name) is not None:
                self.assertEqual(target_of(name), method_of(callee))

    def check_all(self, observation):
        self.assert_targets(observation, "door", "OpenDoor")
        self.assert_targets(observation, "missile", "LaunchMissile")
        self.assert_targets(observation, "cat", "FeedCat")
        self.assert_targets(observation, "statement", "Step")
        self.assert_targets(observation, "nested", "Knock", "Enter", "Knock")
        # The native call is to come, or is over: the stub knows for whom it runs all the same.
        self.assert_targets(observation, "before-call", "LaunchSlowly")
        self.assert_targets(observation, "after-call", "LaunchSlowly")
        # No P/Invoke method at all: an address, and a delegate.
        self.assert_targets(observation, "calli", None)
        self.assert_targets(observation, "delegate", None)

    def test_each_is_called_by_the_method_it_was_called_for(self):
        self.check_all(self.look("shared_stubs"))

    def test_with_explicit_frames(self):
        self.check_all(self.look("shared_stubs", "--frames"))

    @unittest.skipUnless(SHARES_PINVOKE_STUBS, "no stub has a P/Invoke for its target")
    def test_raw_names_are_those_of_clrmd(self):
        observation = self.look("shared_stubs")
        raw = {f["raw_name"] for f in observation.thread("missile")["frames"] if f["name"].startswith(STUB)}
        self.assertEqual(len(raw), 1)
        self.assertTrue(raw.pop().startswith("ILStubClass.IL_STUB_PInvoke("))

    def test_without_a_transition_nothing_proves_the_target(self):
        self.assert_targets(self.look("shared_stubs_suppressed"), "quiet", None if SHARES_PINVOKE_STUBS else "LaunchQuietly")

    def test_every_stub_that_the_other_scenarios_show(self):
        """No P/Invoke of these shares its native function's name with its method: the target is what ClrMD's Frame
        method or nothing; here only that the proof is not lost."""
        observation = self.look("marshalling")
        self.assert_one(observation, "string", "Native.BlockString(")
        self.assert_one(observation, "struct", "Native.BlockStruct(")
        self.assert_one(observation, "errno", "Native.BlockErrno(")

    def assert_one(self, observation, thread_name, target):
        if not SHARES_PINVOKE_STUBS:
            return self.assert_order(observation.names(thread_name, "managed"), target)
        [(name, _)] = stubs_with_callee(observation.thread(thread_name))
        self.assertIn(target, name)


class SharedStubsInCores(LiveCase):
    def test_a_core_says_the_same(self):
        import cores
        with cores.folder() as folder, cores.scenario("shared_stubs", where=folder) as debuggee:
            debuggee.stop()
            live = mixstack_dump.dump(debuggee.pid)
            dump = mixstack_dump.dump_core(cores.createdump(debuggee.pid, folder / "core"))
        for thread in live["threads"]:
            same = next(t for t in dump["threads"] if t["tid"] == thread["tid"])
            self.assertEqual(list(stubs_with_callee(thread)), list(stubs_with_callee(same)))
