"""Processes without a runtime."""
from harness import LiveCase
import processes


class Native(LiveCase):
    needs_dotnet = False

    def check_native(self, program, *arguments):
        with processes.native(program, *arguments) as debuggee:
            observation = self.observe(debuggee, with_oracle=False)
            self.assert_no_faults(observation)
            return observation

    def test_plain_program(self):
        seen = self.check_native("plain", 4)
        self.assertEqual(len(seen.dump["threads"]), 5)
        main, *others = sorted(seen.dump["threads"], key=lambda thread: thread["tid"])
        for thread in others:
            self.assert_order([frame["name"] for frame in thread["frames"]], "pause", "plain::", "qsort",
                              "plain::Square<double>::stand")
        # It may still be writing READY.
        self.assert_order([frame["name"] for frame in main["frames"]], "main", "_start")

    def test_signal_handler(self):
        seen = self.check_native("handler")
        [thread] = seen.dump["threads"]
        self.assert_order([frame["name"] for frame in thread["frames"]], "on_fault", "fault_at_first_instruction",
                          "middle", "main", "_start")

    def test_signal_handler_on_an_alternate_stack(self):
        seen = self.check_native("handler", "alt")
        [thread] = seen.dump["threads"]
        self.assert_order([frame["name"] for frame in thread["frames"]], "on_fault", "fault_at_first_instruction",
                          "middle", "main", "_start")
