"""`mixstack why` of processes in which nothing is stuck: what they are busy with, against what was planted
(tests/debuggees/Busy); and that one that is stuck, or idle, is not sampled."""
import json
import pathlib
import subprocess
import time
import unittest

import jsonschema

import debuggee_build
import mixstack_dump
import processes
import recording_data
import refusals
from harness import LiveCase, alone

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/why.schema.json").read_text())


def busy_with(kind, threads, **environment):
    return processes.Debuggee([debuggee_build.busy(), kind, str(threads)], environment)


class Busy(LiveCase):
    timeout = 240

    def why(self, pid, *options):
        status, out, error, _ = mixstack_dump.run("why", pid, "--json", *options)
        self.assertIn(status, (0, 7, 11, 12), error)
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        return status, answer

    def share(self, answer, *kinds):
        busy = answer["busy"]
        return sum(busy["kinds"][k] for k in kinds) / max(busy["samples"], 1)

    def check(self, kind, planted, least, function, threads=1, options=(), **environment):
        """The planted kind is the first, with at least this share; the function is among the hottest. Not a verdict."""
        with busy_with(kind, threads, **environment) as debuggee:
            status, answer = self.why(debuggee.pid, *options)
            self.assertEqual((status, answer["verdicts"]), (0, []))
            busy = answer["busy"]
            self.assertTrue(busy and busy["is_busy"], busy)
            self.assertGreater(busy["samples"], 10, busy)  # a loaded machine gives it little
            self.assertEqual(max(busy["kinds"], key=busy["kinds"].get), planted, busy["kinds"])
            self.assertGreater(self.share(answer, planted), least, busy["kinds"])
            self.assertTrue(any(function in f["name"] for f in busy["functions"]), busy["functions"])
            self.assertEqual(sum(busy["kinds"].values()), busy["samples"])
            self.assertEqual(sum(t["samples"] for t in busy["threads"]), busy["samples"])
            return answer

    def test_methods_of_the_program(self):
        answer = self.check("user", "program", 0.8, "Busy.Program.Step(ulong)", threads=2)
        [step] = [f for f in answer["busy"]["functions"] if "Step" in f["name"]]
        self.assertEqual({t["name"] for t in step["threads"]}, {"user-0", "user-1"})
        self.assertEqual(step["kind"], "program")
        self.assertTrue(step["place"].split(":")[0].endswith("Program.cs"), step)

    def test_methods_of_libraries(self):
        self.check("framework", "framework", 0.7, "Busy.Program.Sort(int)")

    @alone("the time that a process stands still")
    def test_collections(self):
        for server in ("0", "1"):
            with self.subTest(server=server):
                environment = {"DOTNET_gcServer": server, "DOTNET_gcConcurrent": "0"}
                with busy_with("gc", 1, **environment) as debuggee:
                    begin, paused = time.monotonic(), int(debuggee.ask("pause"))
                    status, answer = self.why(debuggee.pid, "--sample", "2")
                    paused = (int(debuggee.ask("pause")) - paused) / 1000 / (time.monotonic() - begin)
                    self.assertEqual((status, answer["verdicts"]), (0, []))
                    print(f"       server={server}: stood still {paused:.2f} of the time, GC {self.share(answer, 'gc'):.2f} of what ran, "
                          f"{answer['busy']['kinds']}")
                    self.assertGreater(self.share(answer, "gc"), 0.3, answer["busy"]["kinds"])
                    self.assertTrue(any("Busy.Program.Allocate" in f["name"] for f in answer["busy"]["functions"]), answer["busy"]["functions"])

    def test_the_compiler(self):
        self.check("jit", "jit", 0.5, "Busy.Program.Compile()", DOTNET_TieredCompilation="1")

    @alone("shares of threads that spin for each other")
    def test_spinning(self):
        self.check("spin", "lock_spinning", 0.6, "Busy.Program.Spin(int)", threads=3, options=("--sample", "2"))

    @alone("who yields has what others leave of a processor")
    def test_yielding(self):
        self.check("yield", "lock_spinning", 0.6, "Busy.Program.Yields()", options=("--sample", "3"))

    def test_native_code(self):
        self.check("native", "native", 0.6, "Busy.Program.SearchInNativeCode()")

    def test_a_native_program(self):
        with processes.native("waits", 1) as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual(status, 7)  # of what it waits for nothing can be told
            self.assertEqual(max(answer["busy"]["kinds"], key=answer["busy"]["kinds"].get), "native")

    def test_the_first_line_is_the_answer(self):
        with busy_with("user", 1) as debuggee:
            status, out, error, _ = mixstack_dump.run("why", debuggee.pid)
            self.assertEqual((status, error), (0, ""))
            # A machine that does other work is said before.
            self.assertRegex(out.partition("\n\n")[2] if out.startswith("CROWDED") else out,
                             r"^BUSY: [\d.]+ .*\b\d+ %.*\n")
            self.assertIn("Busy.Program.Step(ulong)", out)

    def test_idle_processes_are_not_sampled(self):
        with busy_with("idle", 2) as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"], answer["busy"]), (0, [], None))
            _, answer = self.why(debuggee.pid, "--sample", "500ms")
            self.assertFalse(answer["busy"]["is_busy"], answer["busy"])

    def test_sampling_can_be_left_out(self):
        with busy_with("user", 1) as debuggee:
            self.assertIsNone(self.why(debuggee.pid, "--sample", "0")[1]["busy"])

    def test_what_is_stuck_is_not_sampled(self):
        with processes.scenario("deadlock") as debuggee:
            status, answer = self.why(debuggee.pid, "--sample", "5m")
            self.assertEqual((status, answer["busy"]), (11, None))

    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_without_perf_events_threads_are_stopped(self):
        with busy_with("user", 1) as debuggee:
            done = subprocess.run([mixstack_dump.binary(), "why", str(debuggee.pid), "--json"], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=60, preexec_fn=lambda: refusals.refuse("perf_event_open", "bpf"), check=True)
        busy = json.loads(done.stdout)["busy"]
        self.assertEqual(busy["source"], recording_data.STOPS)
        self.assertTrue(any("perf_event_open" in note for note in busy["notes"]), busy["notes"])
        self.assertEqual(max(busy["kinds"], key=busy["kinds"].get), "program", busy)

    def test_watching_tells_what_has_not_moved(self):
        with processes.scenario("deadlock") as debuggee:
            with subprocess.Popen([mixstack_dump.binary(), "why", str(debuggee.pid), "--json", "--watch", "200ms"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True) as watching:
                answers = []
                text = ""
                for line in watching.stdout:
                    text += line
                    try:
                        answers.append(json.loads(text))
                    except ValueError:
                        continue
                    text = ""
                    if len(answers) == 3:
                        watching.kill()
                        break
        for answer in answers:
            jsonschema.validate(answer, SCHEMA)
        self.assertIsNone(answers[0]["unmoved"])
        for answer in answers[1:]:
            stuck = {s["thread"] for v in answer["verdicts"] for s in v["steps"]}
            self.assertEqual(answer["unmoved"]["verdicts"], [True])
            self.assertLessEqual(stuck, set(answer["unmoved"]["threads"]))


if __name__ == "__main__":
    unittest.main()
