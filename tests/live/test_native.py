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
        for thread in seen.dump["threads"]:
            names = [frame["name"] for frame in thread["frames"]]
            self.assert_order(names, "pause", "plain::", "qsort", "plain::Square<double>::stand")
        main = next(t for t in seen.dump["threads"] if t["tid"] == seen.dump["threads"][0]["tid"])
        self.assert_order([f["name"] for f in main["frames"]], "main", "_start")

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
