"""Options of the command against the witnesses: registers, explicit Frames, managed-only."""
from harness import LiveCase
import mixstack_dump
import processes
import stack_compare

SCENARIOS = ("reverse_pinvoke", "funclets", "hardware_exceptions", "resolvers", "spin", "uco_fnptr", "marshalling")


def _threads(seen):
    ours = {thread["tid"]: thread for thread in seen.dump["threads"]}
    for witness in seen.oracle["threads"]:
        if witness["isAlive"] and witness["osId"] in ours:
            yield witness["osId"], witness["frames"], ours[witness["osId"]]["frames"]


class Details(LiveCase):
    def test_registers(self):
        for scenario in SCENARIOS:
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                seen = self.observe(debuggee, ("--registers",), with_gdb=False)
                total = 0
                for tid, theirs, ours in _threads(seen):
                    differences, compared = stack_compare.compare_registers(tid, theirs, ours)
                    total += compared
                    self.assertEqual([str(d) for d in differences], [])
                self.assertGreater(total, 20, "hardly a register was compared")

    def test_explicit_frames(self):
        for scenario in SCENARIOS:
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                seen = self.observe(debuggee, ("--frames",), with_gdb=False)
                self.assert_no_faults(seen)
                for tid, theirs, ours in _threads(seen):
                    self.assertEqual([str(d) for d in stack_compare.compare_explicit(tid, theirs, ours)], [])

    def test_raw_names_are_the_dacs_text(self):
        """Letter by letter, assemblies of type arguments included."""
        for scenario in ("generics", "signatures", "members", "async", "r2r_generics", "dynamic_methods", "marshalling"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                seen = self.observe(debuggee, with_gdb=False)
                for _, theirs, ours in _threads(seen):
                    mine = {frame["sp"]: frame["raw_name"] for frame in ours if frame["kind"] == "managed"}
                    for frame in theirs:
                        if frame["kind"] == "managed" and frame["method"] and frame["sp"] in mine:
                            self.assertEqual(mine[frame["sp"]], frame["method"])

    def test_control_characters_of_a_threads_name_are_escaped(self):
        with processes.scenario("control_name") as debuggee:
            threads = mixstack_dump.dump(debuggee.pid)["threads"]
        names = [thread["managed"]["name"] for thread in threads if thread["managed"]]
        self.assertIn(r"bell\x07 and \x1b[2J,", [thread["name"] for thread in threads])
        self.assertIn(r"bell\x07 and \x1b[2J, \xc2\x9b31m", names)

    def test_managed_only(self):
        with processes.scenario("reverse_pinvoke") as debuggee:
            seen = self.observe(debuggee, ("--managed-only",), with_gdb=False)
            self.assert_no_faults(seen)
            kinds = {frame["kind"] for thread in seen.dump["threads"] for frame in thread["frames"]}
            self.assertEqual(kinds, {"managed"})

    def test_max_frames_marks_the_cut(self):
        with processes.scenario("deep", 500) as debuggee:
            seen = self.observe(debuggee, ("--max-frames", "50"), with_gdb=False)
            thread = seen.thread("deep")
            self.assertEqual(len(thread["frames"]), 50)
            self.assertEqual(stack_compare.reason(thread), "max-frames")

    def test_one_thread(self):
        with processes.scenario("sleep") as debuggee:
            whole = self.observe(debuggee, with_gdb=False)
            tid = whole.thread("sleeper")["tid"]
            single = self.observe(debuggee, ("-t", str(tid)), with_oracle=False, with_gdb=False)
            self.assertEqual([thread["tid"] for thread in single.dump["threads"]], [tid])
            self.assertEqual(single.dump["threads"][0]["frames"], whole.thread("sleeper")["frames"])
