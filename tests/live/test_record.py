"""mixstack record: what it saw against what the program did by construction, and how a recording ends."""
import collections
import errno
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import debuggee_build
import mixstack_dump
import processes
import recording_data
import refusals
from harness import LiveCase, alone

SPLIT = {"Scenarios.Split.Sixty()": 60, "Scenarios.Split.Thirty()": 30, "Scenarios.Split.Ten()": 10}


def record(pid, *options, timeout=120, refused=()):
    """(exit status, [(functions, outermost first; count)], what it said). `refused`: system calls it may not make."""
    command = [mixstack_dump.binary(), "record", "-p", str(pid), *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, preexec_fn=(lambda: refusals.refuse(*refused)) if refused else None)
    stacks = []
    for line in done.stdout.splitlines():
        names, count = line.rsplit(" ", 1)
        stacks.append((names.split(";"), int(count)))
    return done.returncode, stacks, done.stderr


def shares(stacks):
    """Of the three functions, in percent of what they have together."""
    counts = collections.Counter()
    for names, count in stacks:
        for name in SPLIT.keys() & set(names):
            counts[name] += count
    return {name: 100 * counts[name] / max(1, sum(counts.values())) for name in SPLIT}, sum(counts.values())


class Record(LiveCase):
    def recorded(self, pid, *options, refused=()):
        """A raw recording, whose facts are data (recording_data.py)."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return recording_data.record(folder.name, pid, *options,
                                     before=(lambda: refusals.refuse(*refused)) if refused else None)

    def assert_split(self, stacks, least):
        found, samples = shares(stacks)
        self.assertGreater(samples, least)
        # Four times the deviation that so many samples have by chance, and two points.
        for name, share in SPLIT.items():
            chance = 400 * (share / 100 * (1 - share / 100) / samples) ** 0.5
            self.assertAlmostEqual(found[name], share, delta=2 + chance, msg=f"{found} of {samples} samples")
        for names, _ in stacks:
            if "Scenarios.Split.Burn(long)" in names and "Scenarios.Split.Moment()" not in names:
                self.assertTrue(any("scen_call" in name for name in names), names)

    def assert_whole(self, stacks, share):
        """Nearly all stacks reach the thread's start."""
        every = sum(count for _, count in stacks)
        ends = sum(count for names, count in stacks if any(n.startswith(("clone3", "_start", "[dotnet]", "__libc_start", "[Scenarios]"))
                                                           for n in names[:2]))
        self.assertGreaterEqual(ends, share * every, [names[:3] for names, _ in stacks
                                                      if not names[0].startswith(("clone3", "_start", "[dotnet]"))][:5])

    def test_processor_time_of_a_known_split(self):
        with processes.scenario("split") as debuggee:
            status, stacks, said = record(debuggee.pid, "-d", "4", "--mode", "cpu", "-f", "folded", "-o", "-")
        self.assertEqual(status, 0, said)
        self.assert_split(stacks, 300)
        self.assert_whole(stacks, 0.999)

    @alone("a busy machine leaves rounds out")
    def test_wall_time_of_the_same(self):
        with processes.scenario("split") as debuggee:
            status, stacks, said = record(debuggee.pid, "-d", "5", "-r", "100", "-i", "-f", "folded", "-t", "-o", "-")
        self.assertEqual(status, 0, said)
        self.assert_split(stacks, 200)
        waiting = sum(count for names, count in stacks if any("Scenarios.Scene.Park()" in name for name in names))
        self.assertAlmostEqual(waiting, 500, delta=75, msg=said)

    @alone("a busy machine leaves rounds out")
    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_no_thread_has_more_time_than_there_was(self):
        with processes.scenario("split_moving") as debuggee:
            for mode in ((), ("--max-pause", "50%")):
                recorded = self.recorded(debuggee.pid, "-d", "2", "-r", "50", *mode)
                self.assertEqual(recorded.status, 0, recorded.said)
                threads = collections.Counter()
                for names, count in recorded.stacks("-i", "-t"):
                    threads[names[0]] += count
                self.assertGreater(len(threads), 3)
                self.assertLessEqual(max(threads.values()), 100, threads)
                if "perf events" in recorded.sources:
                    # Those that wait all the time have all of it.
                    self.assertGreaterEqual(max(threads.values()), 98 - recorded.facts["account"]["skipped"], threads)

    @unittest.skipUnless(os.geteuid() == 0 and refusals.NUMBERS, "needs to be root, and numbers of system calls")
    def test_where_in_the_kernel_threads_wait(self):
        with processes.scenario("split") as debuggee:
            recorded = self.recorded(debuggee.pid, "-d", "2", "--kernel")
            self.assertEqual(recorded.status, 0, recorded.said)
            waiting = [names for names, _ in recorded.stacks("-i") if any("Park()" in name for name in names)]
            self.assertTrue(waiting)
            has_kernel = any(name.endswith("[kernel]") or "futex" in name for names in waiting for name in names)
            if "BPF iterator" in recorded.sources and has_kernel:
                for names in waiting:
                    self.assertIn("futex", names[-1], names)
            without = self.recorded(debuggee.pid, "-d", "1", "--kernel", refused=("bpf",))
            self.assertEqual(without.status, 0, without.said)
            self.assertNotIn("BPF iterator", without.sources)
            for names, _ in without.stacks("-i"):
                if any("Park()" in name for name in names):
                    self.assertNotIn("futex_wait", names[-1], "no source tells it")

    def test_without_stops_nothing_is_said_of_them(self):
        with processes.scenario("split") as debuggee:
            recorded = self.recorded(debuggee.pid, "-d", "1", "--no-stop", refused=("bpf",))
        self.assertIn(recorded.status, (0, 4), recorded.said)
        if recorded.status == 0:
            self.assertNotIn("ptrace", recorded.sources)
            self.assertEqual(recorded.facts["holds"], 0)
            # The page tells why waiting threads are missing, and gives no advice: that is for who recorded.
            self.assertTrue(recorded.facts["notes"])
            for note in recorded.facts["notes"]:
                self.assertNotRegex(note, r"PATH/|--no-stop|[a-z] (Use|Run|Build|In) ")

    @alone("how many stops the budget allows")
    def test_stops_alone(self):
        """Where neither perf events nor BPF are allowed: it is said, the shares are right, and the budget is kept."""
        with processes.scenario("split") as debuggee:
            recorded = self.recorded(debuggee.pid, "-d", "5", "-r", "100", refused=("perf_event_open", "bpf"))
            self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{debuggee.pid}/status").read_text())
        self.assertEqual(recorded.status, 0, recorded.said)
        self.assertEqual((recorded.sources, recorded.facts["cpu_hertz"]), (recording_data.STOPS, 0))
        self.assertTrue(any("perf_event_open" in note for note in recorded.facts["notes"]), recorded.facts["notes"])
        stacks = recorded.stacks("-i", "-t")
        self.assert_split(stacks, 100)
        self.assert_whole(stacks, 0.999)

    @alone("how long threads are held")
    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_stops_keep_their_budget(self):
        with processes.scenario("split") as debuggee:
            recorded = self.recorded(debuggee.pid, "-d", "5", "-r", "100", "--max-pause", "1%",
                                     refused=("perf_event_open", "bpf"))
        self.assertEqual(recorded.status, 0, recorded.said)
        self.assertGreater(shares(recorded.stacks("-i"))[1], 0)
        facts = recorded.facts
        self.assertGreater(facts["holds"], 0)
        # Allowed are: its share of each thread's time, what it may begin with, and the round that spends the rest.
        held = facts["held_ns"] / len(recorded.head["threads"]) / facts["duration_ns"]
        self.assertLessEqual(100 * held, 1 + 100 * (0.1 * 0.01 + facts["longest_hold_ns"] / 1e9) / 5 + 0.01, facts)

    @alone("a busy machine leaves rounds out")
    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_threads_that_wait_are_stopped_without_bpf(self):
        with processes.scenario("split") as debuggee:
            recorded = self.recorded(debuggee.pid, "-d", "4", "-r", "100", refused=("bpf",))
        self.assertEqual(recorded.status, 0, recorded.said)
        self.assertRegex(recorded.sources, f"^perf events.*, {recording_data.STOPS}$")
        self.assertGreater(recorded.facts["holds"], 0)
        stacks = recorded.stacks("-i", "-t")
        self.assert_split(stacks, 150)
        waiting = sum(count for names, count in stacks if any("Scenarios.Scene.Park()" in name for name in names))
        # A busy machine has no time for all rounds, which is said.
        left_out = recorded.facts["account"]["skipped"]
        self.assertAlmostEqual(waiting + left_out, 400, delta=80, msg=recorded.said)

    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_nothing_that_stops_no_thread_is_allowed(self):
        with processes.scenario("split") as debuggee:
            status, _, said = record(debuggee.pid, "-d", "1", "--no-stop", "-o", "-", refused=("perf_event_open", "bpf"))
        self.assertEqual(status, 4, said)

    @alone("a busy machine asks late for names of code that goes")
    def test_code_that_comes_and_goes(self):
        with processes.scenario("split_moving") as debuggee:
            status, stacks, said = record(debuggee.pid, "-d", "5", "--mode", "cpu", "-f", "folded", "-o", "-")
        self.assertEqual(status, 0, said)
        self.assert_split(stacks, 150)
        self.assert_whole(stacks, 0.99)
        # What such a method calls is what it was made to call: an old name would stand over something else.
        above = collections.Counter()
        for names, count in stacks:
            moving = [i for i, name in enumerate(names) if name.startswith("moving")]
            for i in moving:
                following = names[i + 1] if i + 1 < len(names) else "Scenarios.Split.Moment()"
                self.assertTrue(following.startswith(("Scenarios.Split.Moment()", "[libcoreclr.so]")), names)
            if "Scenarios.Split.Moment()" in names:
                above[names[names.index("Scenarios.Split.Moment()") - 1]] += count
        # They live for a tenth of a second and more, and code of others is where theirs was.
        self.assertTrue(all(name.startswith(("moving", "[freed method]")) for name in above), above)
        self.assertLess(above["[freed method]"], sum(above.values()) / 10, above)

    @alone("a busy machine walks samples late, when what was awaited has ended")
    def test_async_callers_are_outermost_or_none_where_none_could_be_told(self):
        with processes.scenario("async_services") as debuggee:
            status, stacks, said = record(debuggee.pid, "-d", "3", "--mode", "cpu", "--async", "-f", "folded", "-o", "-")
        self.assertEqual(status, 0, said)
        found = collections.Counter()
        for names, count in (s for s in stacks if any("Orders.Compute(" in name for name in s[0])):
            awaiting = [re.sub(r"\(.*", "", name).rpartition(".")[2] for name in names if name.endswith("{awaits}")]
            found[tuple(awaiting), names[0].endswith("{awaits}")] += count
        self.assertGreater(sum(found.values()), 100, stacks)
        self.assertGreater(found[("Serve", "Handle"), True], 0.5 * sum(found.values()), found)
        self.assertLessEqual(found.keys(), {(("Serve", "Handle"), True), ((), False), (("Handle",), True)})

    def test_a_process_that_ends_meanwhile(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            out = pathlib.Path(folder) / "x.mxr"
            recording = subprocess.Popen([mixstack_dump.binary(), "record", "-p", str(debuggee.pid), "-d", "40", "-o", out],
                                         stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(3)
            os.kill(debuggee.pid, signal.SIGKILL)
            said = recording.communicate(timeout=60)[1]
            self.assertEqual(recording.returncode, 8, said)
            self.assertIn("Split", recording_data.convert(out, "-f", "folded"))
            facts = recording_data.head_of(recording_data.convert(out, "-f", "html"))["facts"]
            self.assertLess(facts["duration_ns"], 35e9)
            self.assertEqual(len([note for note in facts["notes"] if "ended" in note]), 1, facts["notes"])

    def test_signals_end_a_recording_and_write_it(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            for number in (signal.SIGINT, signal.SIGTERM):
                out = pathlib.Path(folder) / "x.html"
                recording = subprocess.Popen([mixstack_dump.binary(), "record", "-p", str(debuggee.pid), "-o", out],
                                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                time.sleep(2)
                recording.send_signal(number)
                said = recording.communicate(timeout=60)[1]
                self.assertEqual(recording.returncode, 0, said)
                self.assertIn("<html", out.read_text())
                out.unlink()
            self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{debuggee.pid}/status").read_text())

    def test_a_program_that_is_started_can_be_ended(self):
        """We hold signals up for ourselves; what we start does not inherit that."""
        with tempfile.TemporaryDirectory() as folder:
            told = pathlib.Path(folder) / "status"
            subprocess.run([mixstack_dump.binary(), "record", "-d", "2", "-o", pathlib.Path(folder) / "x.folded", "--",
                            "/bin/sh", "-c", f"grep SigBlk /proc/self/status > {told}; sleep 1"],
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
            self.assertEqual(told.read_text().split(), ["SigBlk:", "0000000000000000"])

    def test_a_program_that_is_started(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "x.folded"
            program = "import time\nend = time.process_time() + 1.5\nwhile time.process_time() < end: pass"
            done = subprocess.run([mixstack_dump.binary(), "record", "-o", out, "--", sys.executable, "-c", program],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("_PyEval_EvalFrameDefault", out.read_text())

    def test_processes_that_it_starts(self):
        program = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', " \
                  "'import time\\nend = time.process_time() + 2\\nwhile time.process_time() < end: pass'])"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "x.folded"
            done = subprocess.run([mixstack_dump.binary(), "record", "-s", "-o", out, "--", sys.executable, "-c", program],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            samples = sum(int(line.rsplit(" ", 1)[1]) for line in out.read_text().splitlines()
                          if "_PyEval_EvalFrameDefault" in line)
            self.assertGreater(samples, 60)

    def started(self, *words, options=()):
        """Exit status, what was said, whether there is a file."""
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "x.folded"
            done = subprocess.run([mixstack_dump.binary(), "record", *options, "-o", out, "--", *words],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
            return done.returncode, done.stderr, out.read_text() if out.exists() else None

    def test_a_program_that_ends_at_once(self):
        for words, end in ((("true",), 0), (("sh", "-c", "exit 3"), 3), (("sh", "-c", "kill -9 $$"), 128 + 9)):
            status, said, written = self.started(*words)
            if written is not None:  # we were faster than it
                self.assertNotEqual(status, 8, said)
                self.assertEqual(status, end, said)
                continue
            self.assertEqual(status, 8, said)

    def assert_runs_on(self, said):
        """One process, and it is told which."""
        [pid] = [subject for code, subject in mixstack_dump.told(said) if code == "run_on"]
        self.assertGreater(int(pid), 1)
        self.assertIn(f"sleep (pid {pid})", said)

    def test_how_a_program_that_is_started_ends(self):
        status, said, written = self.started(sys.executable, "-c", "import sys, time; time.sleep(1); sys.exit(3)")
        self.assertEqual(status, 3, said)
        self.assertIsNotNone(written)
        status, said, _ = self.started(sys.executable, "-c", "import os, time; time.sleep(1); os.kill(os.getpid(), 15)")
        self.assertEqual(status, 128 + 15, said)
        status, said, _ = self.started("sleep", "3", options=("-d", "1"))
        self.assertEqual(status, 0, said)
        self.assert_runs_on(said)

    def test_processes_that_are_left_behind(self):
        """By a program that ends before them: they are followed until they end, or the time is over."""
        burn = "import time\nend = time.process_time() + 1.5\nwhile time.process_time() < end: pass"
        status, said, written = self.started("sh", "-c", '"$1" -c "$2" & exit 4', "sh", sys.executable, burn, options=("-s",))
        samples = sum(int(line.rsplit(" ", 1)[1]) for line in written.splitlines() if "_PyEval_EvalFrameDefault" in line)
        self.assertGreater(samples, 60)
        self.assertEqual(status, 4, said)
        self.assertNotIn("run_on", mixstack_dump.codes(said))
        status, said, _ = self.started("sh", "-c", "sleep 6 & sleep 1; exit 4", options=("-s", "-d", "3"))
        self.assertEqual(status, 4, said)
        self.assert_runs_on(said)

    def test_files_in_a_row(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            status, _, said = record(debuggee.pid, "-d", "3", "--rotate", "1s", "-o", f"{folder}/x.folded")
            self.assertEqual(status, 0, said)
            self.assertEqual(sorted(os.listdir(folder)), ["x.1.folded", "x.2.folded", "x.3.folded"])

    @alone("gaps between samples")
    def test_files_in_a_row_leave_nothing_out(self):
        """Where one ends the next one goes on. On a busy machine a seam may wait for a processor; not each of four."""
        with tempfile.TemporaryDirectory() as folder:
            program = subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"], stdin=subprocess.DEVNULL)
            try:
                status, _, said = record(program.pid, "-d", "5", "--rotate", "1", "--mode", "cpu", "-o", f"{folder}/x.profile.json.gz")
            finally:
                self.end([program])
            self.assertEqual(status, 0, said)
            files = [json.loads(gzip.decompress(pathlib.Path(f"{folder}/x.{i}.profile.json.gz").read_bytes())) for i in range(1, 6)]
        spans = [(file["meta"]["startTime"], [t for thread in file["threads"] for t in thread["samples"]["time"]]) for file in files]
        gaps = [start + min(times) - (before + max(earlier)) for (before, earlier), (start, times) in zip(spans, spans[1:])]
        self.assertGreater(min(gaps), 0, gaps)
        self.assertLess(min(gaps), 15, gaps)

    @staticmethod
    def sleepers(*seconds):
        """Programs that run for so long."""
        code = "import sys, time\nend = time.time() + float(sys.argv[1])\nwhile time.time() < end: sum(range(1000))"
        return [subprocess.Popen([sys.executable, "-c", code, str(s)], stdin=subprocess.DEVNULL) for s in seconds]

    def end(self, programs):
        for program in programs:
            program.kill()
            program.wait()

    def test_one_of_several_ends(self):
        programs = self.sleepers(300, 3)
        pids = ",".join(str(p.pid) for p in programs)
        try:
            with tempfile.TemporaryDirectory() as folder:
                status, _, said = record(pids, "-d", "5", "--rotate", "1", "-o", f"{folder}/x.folded")
                self.assertEqual(status, 0, said)
                self.assertEqual(len(os.listdir(folder)), 5, said)
                self.assertEqual(len(re.findall(rf"{programs[1].pid}\)? (?:has )?ended", said)), 1, said)
        finally:
            self.end(programs)
        programs = self.sleepers(300, 3)
        try:
            recorded = self.recorded(",".join(str(p.pid) for p in programs), "-d", "5")
            self.assertEqual(recorded.status, 0, recorded.said)
            self.assertEqual([note for note in recorded.facts["notes"] if f"(pid {programs[1].pid})" in note],
                             [note for note in recorded.facts["notes"] if "(pid " in note])
            self.assertTrue(any(f"(pid {programs[1].pid})" in note for note in recorded.facts["notes"]))
        finally:
            self.end(programs)

    def assert_kept(self, said):
        kept = [subject for code, subject in mixstack_dump.told(said) if code == "kept"]
        self.assertEqual(len(kept), 1, said)
        self.assertTrue(os.path.exists(kept[0]))
        self.addCleanup(os.unlink, kept[0])
        return kept[0]

    def test_outputs_that_fail_afterwards(self):
        programs = self.sleepers(300)
        try:
            with tempfile.TemporaryDirectory() as folder:
                pipe = f"{folder}/pipe"
                os.mkfifo(pipe)
                command = [mixstack_dump.binary(), "record", "-p", str(programs[0].pid), "-f", "folded", "-d", "1", "-o"]
                status, _, said = record(programs[0].pid, "-d", "1", "-f", "folded", "-o", pipe)
                self.assertEqual(status, 9, said)
                names = {self.assert_kept(said)}
                with open("/dev/full", "w") as full:
                    two = [subprocess.Popen([*command, "-"], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                                            text=True) for _ in range(2)]
                for done in two:
                    said = done.communicate(timeout=60)[1]
                    self.assertEqual(done.returncode, 9, said)
                    names.add(self.assert_kept(said))
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run([*command, "-"], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                                      text=True, timeout=60)
                os.close(writer)
                self.assertEqual(done.returncode, 9, done.stderr)
                names.add(self.assert_kept(done.stderr))
                self.assertEqual(len(names), 4)
        finally:
            self.end(programs)

    def test_outputs_that_cannot_work_are_refused_before(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("nothing", f"{folder}/link.folded")
            for out, why in ((folder, errno.EISDIR), (f"{folder}/{'x' * 300}.folded", errno.ENAMETOOLONG),
                             (f"{folder}/link.folded", errno.ELOOP), ("/nowhere/x.folded", errno.ENOENT)):
                status, _, said = record(os.getpid(), "-d", "1", "-f", "folded", "-o", out)
                self.assertEqual(status, 9, said)
                # That is all: nothing was recorded.
                self.assertEqual([(m["code"], m["os_error"]) for m in mixstack_dump.messages(said)], [("no_output", why)])

    def test_a_thread_is_no_process(self):
        with processes.scenario("split") as debuggee:
            thread = max(int(t) for t in os.listdir(f"/proc/{debuggee.pid}/task"))
            for pids in (str(thread), f"{thread},{debuggee.pid}"):
                status, _, said = record(pids, "-d", "1", "-o", "-")
                self.assertEqual(status, 3, said)
                self.assertEqual(mixstack_dump.codes(said), ["is_thread"])
                self.assertIn(str(debuggee.pid), said)

    @unittest.skipUnless(os.geteuid() == 0, "needs to be root, to be nobody")
    def test_devices_need_no_folder(self):
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", mixstack_dump.binary(),
                               "record", "-d", "1", "-f", "folded", "-o", "/dev/null", "--", "sleep", "5"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertNotIn("no_output", mixstack_dump.codes(done.stderr))
        self.assertNotEqual(done.returncode, 2, done.stderr)

    def test_a_program_is_called_by_its_assembly(self):
        if not shutil.which("dotnet"):
            self.skipTest("no dotnet")
        dll = f"{debuggee_build.SCENARIOS}.dll"
        with processes.Debuggee(["dotnet", dll, "split"]) as debuggee:
            done = subprocess.run([mixstack_dump.binary(), "record", "-p", str(debuggee.pid), "-d", "1", "-i", "-f",
                                   "speedscope", "-o", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"Scenarios ({debuggee.pid})", json.loads(done.stdout)["name"])

    def test_states_that_are_asked_for(self):
        with processes.scenario("split") as debuggee:
            status, stacks, said = record(debuggee.pid, "-d", "2", "-o", "-", "-f", "folded", "--state", "waiting")
            self.assertEqual(status, 0, said)
            self.assertTrue(any("Scenarios.Scene.Park()" in names for names, _ in stacks), stacks)
            status, stacks, said = record(debuggee.pid, "-d", "4", "-o", "-", "-f", "folded", "--state", "running")
            self.assertEqual(status, 0, said)
            self.assertTrue(any("Scenarios.Split.Burn(long)" in names for names, _ in stacks), stacks)
            self.assertFalse(any("Scenarios.Scene.Park()" in names for names, _ in stacks), stacks)

    def test_a_pattern_that_nothing_has_is_said(self):
        with processes.scenario("split") as debuggee:
            status, _, said = record(debuggee.pid, "-d", "1", "-o", "-", "-f", "folded", "-I", "NoSuchThing")
            self.assertEqual(status, 0, said)
            self.assertIn("nothing_to_show", mixstack_dump.codes(said))

    @unittest.skipUnless(refusals.NUMBERS and shutil.which("gdb"), "needs gdb, and numbers of system calls")
    def test_a_debugger_that_stays_is_said(self):
        with processes.scenario("split") as debuggee:
            with subprocess.Popen(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(debuggee.pid), "-ex",
                                   "shell sleep 600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True) as gdb:
                try:
                    status = pathlib.Path(f"/proc/{debuggee.pid}/status")
                    for _ in range(300):
                        if f"TracerPid:\t{gdb.pid}\n" in status.read_text():
                            break
                        time.sleep(0.1)
                    code, _, said = record(debuggee.pid, "-d", "2", "-o", "-", "-f", "folded", refused=("perf_event_open", "bpf"))
                finally:
                    os.killpg(gdb.pid, signal.SIGKILL)
            self.assertEqual(code, 5, said)
            self.assertEqual([m["code"] for m in mixstack_dump.messages(said) if m["exit_code"] != 0], ["already_traced"])
            self.assertIn(f"{gdb.pid} (gdb)", said)

    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_a_main_thread_that_has_ended_is_not_lost(self):
        program = "import ctypes, threading, time\n" \
                  "def work():\n" \
                  "    while True: sum(range(20000)); time.sleep(0.002)\n" \
                  "for _ in range(2): threading.Thread(target=work).start()\n" \
                  "time.sleep(0.5); ctypes.CDLL(None).pthread_exit(None)\n"
        with subprocess.Popen([sys.executable, "-c", program]) as one:
            try:
                state = ""
                for _ in range(300):
                    state = pathlib.Path(f"/proc/{one.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
                    if state == "Z":
                        break
                    time.sleep(0.1)
                self.assertEqual(state, "Z")
                recorded = self.recorded(one.pid, "-d", "2", refused=("perf_event_open", "bpf"))
            finally:
                one.kill()
        said = recorded.said
        self.assertEqual(recorded.status, 0, said)
        self.assertGreater(sum(count for _, count in recorded.stacks("-i", "-t")), 50, said)
        self.assertLessEqual(recorded.facts["account"]["lost_to_stops"], 5, said)

    def test_a_process_named_twice_is_recorded_once(self):
        with processes.scenario("split") as debuggee:
            status, once, said = record(debuggee.pid, "-d", "1", "-i", "-t", "-o", "-", "-f", "folded")
            self.assertEqual(status, 0, said)
            status, twice, said = record(debuggee.pid, "-p", str(debuggee.pid), "-d", "1", "-i", "-t", "-o", "-", "-f", "folded")
            self.assertEqual(status, 0, said)
        roots = [{names[0].split(" [")[0] for names, _ in stacks} for stacks in (once, twice)]
        self.assertEqual(roots[0] - {".NET Tiered Compilation Worker", ".NET Tiered Com"},
                         roots[1] - {".NET Tiered Compilation Worker", ".NET Tiered Com"})

    def test_what_cannot_be(self):
        with processes.scenario("split") as debuggee:
            pid = debuggee.pid
            for options, status, words in (
                    (("-p", "x"), 2, "not a pid"), (("-p", "4194000"), 3, "4194000"),
                    (("-p", str(pid), "-o", "x.nothing"), 2, ".speedscope.json"),
                    (("-p", str(pid), "-f", "nothing"), 2, "folded"),
                    (("-p", str(pid), "-r", "0"), 2, "1 to 20000"), (("-p", str(pid), "-r", "1000000"), 2, "1 to 20000"),
                    (("-p", str(pid), "-d", "abc"), 2, "10s (seconds), 500ms, 5m"), (("-p", str(pid), "-d", "0"), 2, "from 1 on"),
                    (("-p", str(pid), "--state", "x"), 2, "runnable"), (("-p", str(pid), "--max-pause", "x"), 2, "share"),
                    (("-n", "no-such-program"), 3, "no-such-program"), ((), 2, "which process"),
                    (("--", "/nowhere/program"), 3, "/nowhere/program"),
                    (("-p", str(pid), "-d", "1", "-o", "/dev/full", "-f", "folded"), 9, "space left")):
                done = subprocess.run([mixstack_dump.binary(), "record", *options], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
                kept = [subject for code, subject in mixstack_dump.told(done.stderr) if code == "kept"]
                for path in kept:
                    os.unlink(path)
                with self.subTest(options=options):
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.assertEqual(len(kept), status == 9, done.stderr)
                    self.assertIn(words, done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs to be root, to be nobody")
    def test_without_rights(self):
        with processes.scenario("split") as debuggee:
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", mixstack_dump.binary(),
                                   "record", "-p", str(debuggee.pid), "-d", "1", "-o", "-"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 4, done.stderr)

    def test_a_raw_recording_says_the_same_later(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            raw = pathlib.Path(folder) / "x.mxr"
            status, _, said = record(debuggee.pid, "-d", "2", "--mode", "cpu", "-o", raw)
            self.assertEqual(status, 0, said)
            done = subprocess.run([mixstack_dump.binary(), "convert", raw, "-f", "folded", "-o", "-"], check=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60)
            stacks = [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in done.stdout.splitlines()]
            self.assert_split(stacks, 100)
            scope = subprocess.run([mixstack_dump.binary(), "convert", raw, "-f", "speedscope", "-o", "-"], check=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60)
            document = json.loads(scope.stdout)
            self.assertIn("Scenarios.Split.Sixty()", {frame["name"] for frame in document["shared"]["frames"]})
            version = subprocess.run([mixstack_dump.binary(), "--version"], check=True, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, text=True, timeout=60).stdout.splitlines()[0]
            self.assertEqual(document["exporter"], version)
            waits = pathlib.Path(folder) / "waits.mxr"
            status, _, said = record(debuggee.pid, "-d", "2", "--mode", "wall", "-o", waits)
            self.assertEqual(status, 0, said)
            done = subprocess.run([mixstack_dump.binary(), "diff", raw, waits, "-f", "folded"], check=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            if "perf events" in recording_data.head_of(recording_data.convert(raw, "-f", "html"))["facts"]["source"]:
                self.assertIn("different_modes", mixstack_dump.codes(done.stderr))


if __name__ == "__main__":
    unittest.main()
