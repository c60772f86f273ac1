"""Transitions between native and managed code, and what lies on a stack because of them."""
from harness import LiveCase, pinvoke
import stack_compare


class Transitions(LiveCase):
    def test_sleep(self):
        seen = self.check("sleep")
        self.assert_order(seen.names("sleeper"), "System.Threading.Thread.Sleep", "Scenarios.Scene.Park",
                          "System.Threading.Thread.StartCallback")
        self.assert_order(seen.names("native-sleeper"), "scen_block", "<Extra>b__", "StartCallback")

    def test_deep(self):
        seen = self.check("deep", with_gdb=False)
        names = seen.names("deep", "managed")
        self.assertEqual(sum("Scenarios.Depth.Even" in n or "Scenarios.Depth.Odd" in n for n in names), 20_001)

    def test_big_frames(self):
        seen = self.check("big_frames")
        self.assertEqual(sum("Depth.Big" in n for n in seen.names("big")), 13)
        self.assertEqual(sum("Depth.Localloc" in n for n in seen.names("localloc")), 41)
        self.assertEqual(sum("Depth.Spilled" in n for n in seen.names("spilled")), 31)

    def test_reverse_pinvoke(self):
        seen = self.check("reverse_pinvoke")
        self.assert_order(seen.names("levels"), "scen_block", pinvoke("BlockErrno"), "ErrnoLevel", "IL_STUB_ReversePInvoke",
                          "scen_call_errno", pinvoke("CallErrno"), "Second", "IL_STUB_ReversePInvoke", "scen_call",
                          pinvoke("CallDelegate"), "Between", "scen_call_deep", "scen_call_deep", "First", "scen_call",
                          "ReversePInvoke", "StartCallback")
        self.assert_order(seen.names("sort-fnptr"), "Scene.Park", "CompareValues", "qsort", "scen_sort", "SortWithPointer")
        self.assert_order(seen.names("sort-delegate"), "scen_block", "SortWithDelegate", "IL_STUB_ReversePInvoke", "qsort",
                          "scen_sort", pinvoke("SortDelegate"), "SortWithDelegate")
        self.assertEqual(sum("Interop.Level" in n for n in seen.names("many-levels", "managed")), 13)

    def test_marshalling(self):
        seen = self.check("marshalling")
        self.assert_order(seen.names("string"), "scen_block_string", pinvoke("BlockString"), "Marshalling")
        self.assert_order(seen.names("struct"), "scen_block_struct", pinvoke("BlockStruct"), "Marshalling")
        self.assert_order(seen.names("blittable"), "scen_block_value", "Marshalling")
        self.assert_order(seen.names("text-callback"), "scen_block_string", pinvoke("BlockString"), "Marshalling",
                          "IL_STUB_ReversePInvoke", "scen_call_string", pinvoke("CallString"), "Marshalling")

    def test_suppressed_transition(self):
        seen = self.check("suppress_gc_transition")
        self.assert_order(seen.names("suppressed"), "scen_spin", "Interop.Suppressed", "StartCallback")
        self.assertTrue(seen.oddities(stack_compare.UNSEEN_BY_CLRMD), "ClrMD was expected to see nothing here")

    def test_native_spin(self):
        seen = self.check("native_spin")
        self.assert_order(seen.names("native-spin"), "scen_spin", "StartCallback")

    def test_rbp_as_plain_register(self):
        seen = self.check("rbp_plain")
        self.assert_order(seen.names("rbp-native"), "scen_block", "BlockBelow", "scen_call_rbp_plain", "RbpPlain", "StartCallback")
        self.assert_order(seen.names("rbp-managed"), "Scene.Park", "BlockBelow", "scen_call_rbp_plain", "RbpPlain")
        self.assert_order(seen.names("rbp-twice"), "BlockBelow", "scen_call_rbp_plain", "Again", "scen_call_rbp_plain", "RbpPlain")

    def test_a_thread_that_never_saw_the_runtime(self):
        seen = self.check("native_thread")
        strangers = [t for t in seen.dump["threads"] if t["name"] == "never-managed"]
        self.assertEqual(len(strangers), 3)
        for thread in strangers:
            names = [frame["name"] for frame in thread["frames"]]
            self.assertEqual(sum("scen_native_deep" in name for name in names), 26)
            self.assertEqual([f for f in thread["frames"] if f["kind"] == "managed"], [])
            self.assertIsNone(thread.get("managed"))
        self.assert_order(seen.names("native-born"), "scen_block_value", "OnNativeThread", "scen_call")

    def test_a_thread_that_left_the_runtime(self):
        seen = self.check("once_managed")
        for thread in seen.dump["threads"]:
            if thread["name"] == "native-born":
                self.assertEqual([f for f in thread["frames"] if f["kind"] == "managed"], [])


class ContractExamples(LiveCase):
    """The two worked examples of the StackWalk contract, as shapes of a real stack."""

    def test_filter_blocked_in_native_code(self):
        seen = self.check("filter_native")
        self.assert_order(seen.names("filter-native"), "scen_block", "Exceptions.Stand", "Exceptions.Filter",
                          "Exceptions.InFilter", "System.Runtime.EH.FindFirstPassHandler", "System.Runtime.EH.DispatchEx",
                          "Exceptions.Throw", "Exceptions.InFilter")

    def test_unmanaged_callers_only_through_a_pointer(self):
        seen = self.check("uco_fnptr")
        self.assert_order(seen.names("uco-spin", "managed"), "Spinning.", "Interop.Bar", "Interop.Foo", "StartCallback")
        self.assert_order(seen.names("uco-block"), "scen_block", "Interop.Bar", "Interop.Foo", "StartCallback")


class Exceptions(LiveCase):
    def test_funclets(self):
        seen = self.check("funclets")
        self.assert_order(seen.names("catch", "managed"), "Exceptions.Stand", "Exceptions.InCatch", "Exceptions.Throw",
                          "Exceptions.InCatch", "StartCallback")
        self.assert_order(seen.names("catch-native"), "scen_block", "Exceptions.InCatch", "Exceptions.Throw", "Exceptions.InCatch")
        self.assert_order(seen.names("finally"), "scen_block", "Exceptions.InFinally", "Exceptions.Throw", "Exceptions.InFinally")
        self.assert_order(seen.names("filter"), "Exceptions.Filter", "Exceptions.InFilter", "EH.DispatchEx", "Exceptions.Throw",
                          "Exceptions.InFilter")
        self.assertIn("ScenarioException", seen.thread("catch")["managed"]["exception"])

    def test_nested(self):
        seen = self.check("nested_exceptions")
        names = seen.names("three-deep", "managed")
        self.assertEqual(sum("Exceptions.Recursive" in name for name in names), 8)

    def test_rethrow(self):
        seen = self.check("rethrow")
        self.assert_order(seen.names("rethrow", "managed"), "OuterOfRethrow", "InnerOfRethrow", "Exceptions.Throw",
                          "InnerOfRethrow", "OuterOfRethrow")

    def test_hardware(self):
        seen = self.check("hardware_exceptions")
        self.assert_order(seen.names("null-reference", "managed"), "NullReference", "LengthOfNull", "NullReference")
        self.assert_order(seen.names("divide", "managed"), "Divide", "Divide")

    def test_below_native_code(self):
        seen = self.check("exception_through_native")
        self.assert_order(seen.names("unmanaged-below"), "scen_block", "InCatch", "Throw", "InCatch", "CatchAboveNative",
                          "scen_call", "ThroughNative")


class Interrupted(LiveCase):
    def test_signal_handler(self):
        self.interrupted("signal_handler")

    def test_signal_handler_on_the_runtimes_alternate_stack(self):
        self.interrupted("signal_handler_altstack")

    def test_signal_handler_on_an_alternate_stack_of_its_own(self):
        self.interrupted("signal_handler_own_altstack")

    def interrupted(self, scenario):
        seen = self.check(scenario)
        self.assert_order(seen.names("interrupted-spin"), "pause", "Spinning.", "StartCallback")
        self.assert_order(seen.names("interrupted-sleep"), "pause", "Thread.Sleep", "StartCallback")
        self.assertTrue(any(frame.get("is_interrupted") for frame in seen.thread("interrupted-spin")["frames"][1:]),
                        "no frame is marked as interrupted")
