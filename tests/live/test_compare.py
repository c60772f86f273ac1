"""The comparison itself, on canned JSON: a harness that cannot fail proves nothing."""
import unittest

import harness  # noqa: F401  (puts tests/support on the path)
import stack_compare as compare
from method_names import canonical


def ours(*frames, tid=1, stop="end-of-stack"):
    return {"tid": tid, "name": "t", "frames": list(frames), "stop_reason": stop}


def frame(kind, ip, sp, name, **more):
    return {"kind": kind, "ip": hex(ip), "sp": hex(sp), "name": name, "raw_name": name, "module": "m", **more}


def seen(kind, ip, sp, method=None, frame_name=None, **more):
    return {"kind": kind, "ip": hex(ip), "sp": hex(sp), "method": method, "frameName": frame_name, **more}


def process(ours_thread, *witness_frames, gdb=None):
    oracle = {"threads": [{"osId": ours_thread["tid"], "isAlive": True, "frames": list(witness_frames)}]}
    return compare.compare_process({"threads": [ours_thread]}, oracle, gdb)


class ManagedRules(unittest.TestCase):
    def setUp(self):
        self.stack = ours(frame("native", 0x10, 0x100, "pause"), frame("managed", 0x20, 0x120, "A.B(System.Int32)"),
                          frame("native", 0x11, 0x140, "call"), frame("managed", 0x30, 0x160, "A.C()"))
        self.first = seen("managed", 0x20, 0x120, "A.B(Int32)")
        self.second = seen("managed", 0x30, 0x160, "A.C()")

    def test_equal_stacks_have_no_difference(self):
        self.assertEqual(process(self.stack, seen("runtime", 0x10, 0x110), self.first, self.second), [])

    def test_a_missing_frame_is_a_fault(self):
        del self.stack["frames"][1]
        [fault] = process(self.stack, self.first, self.second)
        self.assertEqual((fault.rule, fault.known), ("missing", ""))

    def test_a_missing_last_frame_is_a_fault(self):
        del self.stack["frames"][3]
        self.assertEqual([d.rule for d in process(self.stack, self.first, self.second)], ["missing"])

    def test_wrong_order_is_a_fault(self):
        self.stack["frames"].reverse()
        self.assertIn("missing", [d.rule for d in process(self.stack, self.first, self.second) if not d.known])

    def test_a_wrong_name_is_a_fault(self):
        self.first["method"] = "A.B(UInt32)"
        self.assertEqual([d.rule for d in process(self.stack, self.first, self.second)], ["method"])

    def test_a_wrong_method_desc_is_a_fault_even_when_the_name_is_right(self):
        self.first["methodDesc"] = "0x7000"
        self.stack["frames"][1]["method_desc"] = "0x8000"
        self.assertEqual([d.rule for d in process(self.stack, self.first, self.second)], ["method"])

    def test_a_wrong_ip_is_a_fault(self):
        self.first["ip"] = "0x21"
        [fault] = process(self.stack, self.first, self.second)
        self.assertEqual((fault.rule, fault.known), ("ip", ""))

    def test_the_address_of_an_inlined_call_frame_is_a_known_difference(self):
        self.first["ip"] = "0x2f"
        [difference] = process(self.stack, seen("runtime", 0x2f, 0x110, frame_name="InlinedCallFrame"), self.first,
                               self.second)
        self.assertEqual(difference.known, compare.INLINED_CALL_ADDRESS)

    def test_the_sp_of_a_call_below_a_stackalloc_is_a_known_difference(self):
        self.first["sp"] = "0x138"
        [difference] = process(self.stack, seen("runtime", 0x20, 0x110, frame_name="InlinedCallFrame"), self.first,
                               self.second)
        self.assertEqual(difference.known, compare.CALL_SITE_SP)

    def test_another_sp_elsewhere_is_a_fault(self):
        self.first["sp"] = "0x138"
        self.assertIn("missing", [d.rule for d in process(self.stack, self.first, self.second) if not d.known])

    def test_an_extra_frame_between_is_a_fault(self):
        self.stack["frames"].insert(2, frame("managed", 0x25, 0x130, "A.Extra()"))
        [fault] = process(self.stack, self.first, self.second)
        self.assertEqual((fault.rule, fault.known), ("extra", ""))

    def test_a_thread_clrmd_cannot_see_is_known(self):
        differences = process(self.stack, seen("runtime", 0x10, 0x180, frame_name="DebuggerU2MCatchHandlerFrame"))
        self.assertEqual({d.known for d in differences}, {compare.UNSEEN_BY_CLRMD})

    def neighbours(self, *frames, mappings=((0x100, 0x200), (0x200, 0x300))):
        """Differences on a thread that is being born, beside one whose stack lies above and ends at ip 0x40."""
        born = ours(frame("native", 0x10, 0x120, "clone3"), tid=2)
        oracle = {"threads": [{"osId": 1, "isAlive": True, "frames": [
                                  self.first, self.second, seen("runtime", 0x40, 0x170, frame_name="Debugger")]},
                              {"osId": 2, "isAlive": True, "frames": list(frames)}]}
        return [d for d in compare.compare_process({"threads": [self.stack, born]}, oracle, mappings=mappings)
                if d.tid == 2]

    def test_a_neighbours_frame_is_known(self):
        for mappings, sp in ((((0x100, 0x200), (0x200, 0x300)), 0x260), (None, 0x7f0000000000)):
            [difference] = self.neighbours(seen("managed", 0x40, sp), mappings=mappings)
            self.assertEqual((difference.rule, difference.known), ("foreign", compare.NEIGHBOURS_FRAME))

    def test_a_frame_without_a_method_elsewhere_is_known(self):
        """The native end of a stack that ClrMD did not print: no method, not on this stack, and alone."""
        self.assertEqual([d.known for d in self.neighbours(seen("managed", 0x41, 0x260))], [compare.NEIGHBOURS_FRAME])

    def test_another_frame_elsewhere_is_a_fault(self):
        self.assertEqual([d.known for d in self.neighbours(seen("managed", 0x41, 0x260, "A.B()"))], [""])
        two = (seen("managed", 0x40, 0x260), seen("managed", 0x41, 0x270))
        self.assertEqual([d.known for d in self.neighbours(*two)], ["", ""])

    def test_a_nameless_frame_on_the_threads_own_stack_is_a_fault(self):
        [fault] = self.neighbours(seen("managed", 0x40, 0x160))
        self.assertEqual((fault.rule, fault.known), ("missing", ""))

    def test_a_thread_that_is_not_dumped_is_a_fault(self):
        oracle = {"threads": [{"osId": 2, "isAlive": True, "frames": []}]}
        self.assertEqual([d.rule for d in compare.compare_process({"threads": [self.stack]}, oracle)], ["thread"])

    def test_a_cut_stack_is_a_fault(self):
        self.stack["stop_reason"] = "no-unwind-info"
        self.assertEqual([d.rule for d in process(self.stack, self.first, self.second)], ["end"])


class NativeRules(unittest.TestCase):
    def setUp(self):
        self.stack = ours(frame("native", 0x10, 0x100, "pause"), frame("native", 0x11, 0x120, "call"),
                          frame("managed", 0x30, 0x160, "A.C()"))
        self.frames = [{"pc": 0x10, "sp": 0x100, "name": "pause", "kind": "native", "library": "libc"},
                       {"pc": 0x11, "sp": 0x120, "name": "call", "kind": "native", "library": "libx"},
                       {"pc": 0x30, "sp": 0x160, "name": None, "kind": "native", "library": None},
                       {"pc": 0x666, "sp": 0x170, "name": None, "kind": "native", "library": None}]

    def compare(self, end="outermost"):
        return compare.compare_native(1, {"frames": self.frames, "end": end}, self.stack["frames"])

    def test_frames_behind_the_first_managed_one_do_not_count(self):
        self.assertEqual(self.compare(), [])

    def test_a_wrong_native_address_is_a_fault(self):
        self.frames[1]["pc"] = 0x12
        self.assertEqual([d.rule for d in self.compare()], ["native"])

    def test_the_return_address_into_managed_code_counts(self):
        self.frames[2]["pc"] = 0x31
        self.assertEqual([d.rule for d in self.compare()], ["native"])

    def test_resuming_from_the_frame_is_a_known_difference(self):
        self.frames[2].update(pc=0x31, sp=0x150)
        [difference] = compare.compare_native(1, {"frames": self.frames, "end": "outermost"}, self.stack["frames"],
                                              {(0x30, 0x160)})
        self.assertEqual(difference.known, compare.RESUMED_FROM_FRAME)

    def test_of_a_newborn_thread_gdb_tells_its_maker(self):
        seen = {"frames": self.frames, "end": "outermost", "newborn": True}
        [difference] = compare.compare_native(1, seen, self.stack["frames"][:1])
        self.assertEqual(difference.known, compare.NEWBORN)
        [fault] = compare.compare_native(1, seen, self.stack["frames"][:2])  # of two frames it is not excused
        self.assertEqual(fault.known, "")

    def test_a_shorter_stack_than_gdbs_is_a_fault(self):
        [fault] = compare.compare_native(1, {"frames": self.frames, "end": "outermost"}, self.stack["frames"][:1])
        self.assertEqual(fault.known, "")

    def test_a_longer_stack_than_gdbs_is_a_fault(self):
        del self.frames[2:]
        self.assertEqual([d.rule for d in self.compare()], ["native"])

    def test_where_gdb_gets_stuck_it_is_no_witness(self):
        del self.frames[2:]
        self.assertEqual(self.compare("stuck"), [])

    def test_a_shorter_stack_than_gdbs_is_a_fault(self):
        del self.stack["frames"][1:]
        self.assertEqual([d.rule for d in self.compare()], ["native"])


class FrameRules(unittest.TestCase):
    def setUp(self):
        self.ours = frame("runtime", 0x20, 0x120, "[PInvokeCalliFrame]", code_kind="runtime_frame", frame_address="0x120",
                          method_desc="0x7000")
        self.seen = seen("runtime", 0x20, 0x120, frame_name="PInvokeCalliFrame", methodDesc="0x7000")

    def compare(self):
        return len(compare.compare_explicit(1, [self.seen], [self.ours]))

    def test_the_same(self):
        self.assertEqual(self.compare(), 0)

    def test_another_method_kind_or_address_is_a_fault(self):
        for key, value in (("methodDesc", "0x7008"), ("frameName", "HijackFrame"), ("sp", "0x128")):
            before, self.seen[key] = self.seen[key], value
            self.assertEqual(self.compare(), 1, key)
            self.seen[key] = before


class Names(unittest.TestCase):
    SAME = [
        ("N.T.M(Int32, System.String)", "N.T.M(System.Int32, System.String)"),
        ("N.L`1[[System.Int32, System.Private.CoreLib]].M(System.Action`1<Int32>)",
         "N.L`1<System.Int32>.M(System.Action`1<System.Int32>)"),
        ("N.L`1[[System.__Canon, System.Private.CoreLib]].M()", "N.L`1[System.__Canon].M()"),
        ("N.O`1+I`1[[System.Int32, A],[System.__Canon, A]].M[[System.DateTime, A]](Int32, System.DateTime)",
         "N.O`1+I`1<System.Int32,System.__Canon>.M<System.DateTime>(System.Int32,System.DateTime)"),
        ("N.P`2[[N.P`2[[System.Int32, A],[System.Int64, A]], B],[System.Byte, A]].M()",
         "N.P`2<N.P`2<System.Int32,System.Int64>,System.Byte>.M()"),
        ("N.T.M(Nested ByRef, Int32**, Double[,,], Int64[][])",
         "N.T.M(N.T+Nested&, System.Int32**, System.Double[,,], System.Int64[][])"),
        ("N.T.M(Int32, <>c__DisplayClass1_0 ByRef)", "N.T.M(System.Int32, N.T+<>c__DisplayClass1_0&)"),
        ("N.T.M(System.String (Int32), Void ())", "N.T.M(delegate*<System.Int32, System.String>, delegate*<System.Void>)"),
        ("N.T.M(Int32 (Void*))", "N.T.M(System.Int32 *(System.Void*))"),
        ("N.T.System.IComparable<N.T>.CompareTo(N.T)", "N.T.System.IComparable<N.T>.CompareTo(N.T)"),
        ("N.T..ctor()", "N.T..ctor()"),
        ("DynamicClass.odd name, <with> [marks]`2(Int32)", "DynamicClass.odd name, <with> [marks]`2(System.Int32)"),
        ("N.T.M(TypedReference)", "N.T.M(System.TypedReference)"),
    ]
    DIFFERENT = [
        ("N.T.M(Int32)", "N.T.M(UInt32)"),
        ("N.T.M(Int32)", "N.T.M(Int32&)"),
        ("N.T.M(Int32[])", "N.T.M(Int32[,])"),
        ("N.L`1[[System.Int32, A]].M()", "N.L`1<System.__Canon>.M()"),
        ("N.L`1[[System.Int32, A]].M()", "N.L`1.M()"),
        ("N.T.M()", "N.T2.M()"),
        ("N.T+A.M()", "N.T+B.M()"),
        ("N.T.M(N.A)", "N.T.M(X.A)"),
        ("N.T.M()", ""),
    ]

    def test_same(self):
        for clrmd, mixstack in self.SAME:
            with self.subTest(clrmd):
                self.assertEqual(canonical(clrmd), canonical(mixstack))

    def test_different(self):
        for left, right in self.DIFFERENT:
            with self.subTest(left):
                self.assertNotEqual(canonical(left), canonical(right))
