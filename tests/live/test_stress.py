"""Short forms of tests/stress: the target survives kills of mixstack, and no dump under churn shows a wrong frame as sure."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "stress"))

from harness import LiveCase
import churn
import debuggee_build
import dumps
import grammar
import mixstack_dump
import processes
import sigkill

_DUMPS = int(os.environ.get("MIXSTACK_STRESS", "400"))


class Kills(LiveCase):
    def test_a_killed_mixstack_leaves_no_trace(self):
        try:
            sigkill.run(max(10, _DUMPS * 3 // 20), seed=7)
        except sigkill.Traced as wrong:
            self.fail(str(wrong))


class Churn(LiveCase):
    timeout = 300

    def dump_under(self, setting):
        """Half of the dumps by one Session where it is built, the rest by commands."""
        checker = churn.Checker(only_wrong=True)
        redumps = _DUMPS * 2 // 5 if dumps.redump_binary() else 0
        churn.run_chunk(checker, setting, redumps, _DUMPS // 2 - redumps, seed=11)
        totals = checker.totals
        self.assertEqual(totals.wrong, 0, "\n".join(totals.lines()))
        self.assertEqual(totals.misnamed, 0)
        self.assertGreater(totals.checked, totals.dumps * 15)
        # Code that is freed before it is read cannot be unwound, and the busier the machine, the later it is read.
        cut = sum(n for end, n in totals.ends.items() if end != "end_of_stack")
        self.assertLess(cut, totals.threads // 200 + 3, totals.ends)

    def test_no_wrong_frame_is_shown_as_sure(self):
        self.dump_under("server-gc-eager-tiering")

    def test_nor_with_code_compiled_all_the_time(self):
        self.dump_under("no-precompiled-code")


class FreedNames(LiveCase):
    """Dynamic methods are made and freed all the while: what lies where a name was is not shown as one."""

    timeout = 300
    NAME = re.compile(r"[mgxk]_[0-9a-f]+_[0-9]+\(")  # as Churn calls its own
    MARKS = ("freed while named", "may have been freed while named")

    def test_what_is_no_name_is_not_shown_as_one(self):
        dynamic, wrong = 0, []
        with processes.Debuggee([debuggee_build.CHURN, 14, 10, 30, 3], {"DOTNET_GCgen0size": "0x20000"}) as program:
            for _ in range(_DUMPS):
                for thread in mixstack_dump.dump(program.pid)["threads"]:
                    for frame in thread["frames"]:
                        if not frame["name"].endswith(" [dynamic]"):
                            continue
                        dynamic += 1
                        is_text = all(c.isprintable() for c in frame["name"] + frame["raw_name"]) and "\\" not in frame["name"]
                        is_right = self.NAME.match(frame["name"]) or frame["note"] in self.MARKS
                        if not is_text or not is_right:
                            wrong.append((frame["name"], frame["raw_name"], frame["note"]))
        self.assertGreater(dynamic, _DUMPS)
        self.assertEqual(wrong, [])


class Grammar(LiveCase):
    """The checker itself must see what is wrong."""

    BOTTOM = ["Churn.Links.Next(X)", "Churn.Links.Start(X)", "Churn.Program+<>c__DisplayClass7_0.<Begin>b__0()",
              "System.Threading.Thread.StartCallback()"]

    def verdict(self, name, *managed, is_cut=False):
        """On a thread with these frames above the thread's start; "n:" and "*" as in grammar.py, "?" before a marked one."""
        def frame(text):
            sure, text = not text.startswith("?"), text.lstrip("?")
            if text.startswith("n:"):
                return grammar.Frame("native", text[2:], sure)
            return grammar.Frame("managed", text.lstrip("*"), sure, text.startswith("*"))
        bottom = [] if is_cut else [*self.BOTTOM, "n:libcoreclr.so", "n:clone3"]
        return grammar.check(name, [frame(text) for text in [*managed, *bottom]], is_cut)

    def problem(self, name, *managed):
        return self.verdict(name, *managed).problem

    def test_right_stacks_pass(self):
        step = "Churn.Links.Next(X)"
        self.assertEqual(self.problem("s1-Ak", "Churn.Leaves.Spin(X)", "Churn.Leaves.Run(X)", step, "Churn.Links.A(X)"), "")
        self.assertEqual(self.problem("c1-Ak"), "")
        self.assertEqual(self.problem("c2-Gk", step, "DynamicClass.g_2_77(X)", "Churn.Links.G(X)"), "")
        self.assertEqual(self.problem("c2-Hk", step, "Churn.Links.CalledBack(X)", "n:scen_call", "Churn.Links.H(X)"), "")
        self.assertEqual(self.problem("c2-Fk", step, "*Churn.Links.F(X)", "n:libcoreclr.so", "Churn.Links.Throw(X)", "Churn.Links.F(X)"), "")

    def test_wrong_stacks_do_not(self):
        step = "Churn.Links.Next(X)"
        for name, frames in (("s1-Ak", [step, "Churn.Links.A(X)"]),                          # a steady thread without its leaf
                             ("c1-Ak", [step, "Churn.Links.B(X)"]),                          # another method
                             ("c1-Ak", [step]),                                              # a method left out
                             ("c1-Ak", ["Churn.Links.A(X)", "Churn.Links.A(X)"]),            # one shown twice
                             ("c1-Ak", [step, "n:scen_call", "Churn.Links.A(X)"]),           # native code that is not there
                             ("c2-Hk", [step, "Churn.Links.CalledBack(X)", "Churn.Links.H(X)"]),
                             ("c2-Gk", [step, "DynamicClass.g_3_77(X)", "Churn.Links.G(X)"]),  # another thread's dynamic method
                             ("c1-Ak", ["Churn.Leaves.Store(X)", "Churn.Leaves.Run(X)", step, "Churn.Links.A(X)"])):
            self.assertNotEqual(self.problem(name, *frames), "", (name, frames))

    def test_a_mark_excuses_its_own_frame_and_a_gap_inside_of_it(self):
        step, a, g = "Churn.Links.Next(X)", "Churn.Links.A(X)", "Churn.Links.G(X)"
        for name, frames in (("c2-Gk", [step, "?DynamicClass.g_3_77(X)", "?" + g]),
                             ("c2-GAk", [step, a, step, "?Churn.Links.G(X)"]),                # a frame left out
                             ("c2-GAk", [step, a, "?" + step]),                               # several
                             ("c2-GAk", [a, step, "?n:somewhere", "?" + g])):
            verdict = self.verdict(name, *frames)
            self.assertTrue(verdict.problem and verdict.marked, (name, frames, verdict))

    def test_a_mark_elsewhere_does_not(self):
        step, a, b, g = "Churn.Links.Next(X)", "Churn.Links.A(X)", "Churn.Links.B(X)", "Churn.Links.G(X)"
        dynamic = "DynamicClass.g_2_77(X)"
        for name, frames, index in (("c2-GAk", [b, step, "?" + dynamic, "?" + g], 0),         # wrong inside of the mark
                                    ("c2-AGk", ["?" + step, "?" + dynamic, g, step, b], 4),    # wrong outside of it
                                    ("c2-AGk", ["?" + step, dynamic, step, a], 1),             # a gap whose edge is sure
                                    ("c2-GAk", [step, step, "?" + dynamic, "?" + g], 0),
                                    ("s2-GAk", [a, step, "?" + dynamic, "?" + g], 0)):         # a steady thread without its leaf
            verdict = self.verdict(name, *frames)
            self.assertTrue(verdict.problem and not verdict.marked, (name, frames, verdict))
            self.assertEqual(verdict.index, index, (name, frames, verdict))

    def test_what_a_cut_stack_shows_must_be_right(self):
        step, a, g = "Churn.Links.Next(X)", "Churn.Links.A(X)", "Churn.Links.G(X)"
        self.assertEqual(self.verdict("c2-GAk", step, a, step, is_cut=True).problem, "")
        self.assertNotEqual(self.verdict("c2-GAk", step, a, a, is_cut=True).problem, "")
        self.assertNotEqual(self.verdict("c2-GAk", step, a, step, g, is_cut=True).problem, "")
