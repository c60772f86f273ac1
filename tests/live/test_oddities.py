"""Each known difference from a witness, shown to exist. When one of these fails because the difference is gone, the
rule that excuses it in stack_compare.py must go too."""
from harness import LiveCase
import stack_compare as compare


class Oddities(LiveCase):
    def assert_shown(self, seen, *names):
        found = {difference.known for difference in seen.differences}
        self.assertTrue(found & set(names), f"none of {names} in {found}")

    def test_the_address_in_an_inlined_call_frame_is_not_the_return_address(self):
        """Precompiled code. We print the physical return address (gdb's), or say that we resumed from the Frame."""
        self.assert_shown(self.check("sleep"), compare.INLINED_CALL_ADDRESS, compare.RESUMED_FROM_FRAME)

    def test_the_call_site_sp_above_a_stackalloc(self):
        """A stub that marshals strings allocates below the Frame it made: CallSiteSP is not the sp of the call."""
        self.assert_shown(self.check("marshalling"), compare.CALL_SITE_SP, compare.RESUMED_FROM_FRAME)

    def test_threads_clrmd_cannot_see(self):
        """No Frame while in cooperative mode: suppressed transitions, helpers, signal handlers above jitted code."""
        for scenario in ("suppress_gc_transition", "signal_handler"):
            with self.subTest(scenario):
                self.assert_shown(self.check(scenario), compare.UNSEEN_BY_CLRMD)

    def test_exception_dispatch_shows_below_a_filter_only(self):
        """The managed half of the dispatch lies physically below a filter (and a finally), not below a catch."""
        seen = self.check("funclets")
        self.assert_order(seen.names("filter", "managed"), "Exceptions.Filter", "System.Runtime.EH.", "Exceptions.Throw")
        self.assertFalse([name for name in seen.names("catch", "managed") if "System.Runtime.EH." in name])

    def test_tail_calling_dynamic_methods_vanish(self):
        """Not a difference: `call; ret` of a DynamicMethod is a jump, for every observer."""
        names = self.check("tail_calls").names("tail-chain", "managed")
        self.assertFalse([name for name in names if "DynamicClass.Tail" in name])

    def test_threads_without_a_frame_have_no_managed_frames(self):
        """ClrMD sometimes repeats the previous thread's last frame on them; ours never."""
        seen = self.check("once_managed")
        for thread in seen.dump["threads"]:
            if thread["name"] == "native-born":
                self.assertFalse([frame for frame in thread["frames"] if frame["kind"] == "managed"])

    def test_interrupted_frames_are_marked(self):
        """A thread in the activation handler: the frame below __restore_rt was interrupted, it is not calling."""
        seen = self.check("signal_handler")
        frames = seen.thread("interrupted-spin")["frames"]
        self.assertTrue([frame for frame in frames if frame["kind"] == "managed" and frame["is_interrupted"]])
