"""`mixstack agent`: loading the agent into a process, asking it, and what stands in the way."""
import collections
import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import jsonschema

from harness import LiveCase
import mixstack_dump
import processes
import test_agent
from mixstack_dump import codes

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/profile.schema.json").read_text())
# A process that is no .NET process; it may be asked to listen at a path as somebody who lies.
LIAR = """
import os, socket, sys, time
path, answer, hangs = sys.argv[1].replace("PID", str(os.getpid())), bytes.fromhex(sys.argv[2]), sys.argv[3] == "hang"
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen(8)
print("READY", os.getpid(), flush=True)
kept = []
while True:
    link, _ = server.accept()
    if answer:
        link.recv(65536)
        link.sendall(answer)
    if hangs:
        kept.append(link)
    else:
        link.close()
"""


def control(*arguments, timeout=60.0):
    """(exit status, standard output, standard error) of `mixstack agent`."""
    status, out, error, _ = mixstack_dump.run("agent", *arguments, timeout=timeout)
    return status, out, error


class AgentControl(LiveCase):
    def setUp(self):
        super().setUp()
        if test_agent.library() is None:
            self.skipTest("no libmixstack_agent.so beside the command")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mixstack-control-")))

    def report(self, pid):
        status, out, error = control("status", pid, "--json")
        self.assertEqual((status, error), (0, ""))
        return json.loads(out)

    def good(self, *arguments):
        status, out, error = control(*arguments)
        self.assertEqual(status, 0, error)
        return out

    def assert_stays_loaded(self, pid):
        """Silent, it answers, says why it remains, and its library is mapped."""
        report = self.report(pid)
        self.assertEqual((report["sampling"], bool(report["remains"])), (False, True))
        self.assertIn("/libmixstack_agent", pathlib.Path(f"/proc/{pid}/maps").read_text())

    def wait_for_samples(self, pid, count=10):
        self.wait_until(lambda: self.report(pid)["samples"] >= count, f"{count} samples")

    @staticmethod
    def quit(debuggee):
        debuggee._process.stdin.write(b"quit\n")
        debuggee._process.stdin.flush()
        return debuggee.wait(60)

    @staticmethod
    def threads(pid):
        return [pathlib.Path(path).read_text().strip() for path in glob.glob(f"/proc/{pid}/task/*/comm")]

    @staticmethod
    def caught(pid, number):
        """Whether the process has a handler for a signal."""
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"SigCgt:\s*(\w+)", text)[1], 16) >> (number - 1) & 1 == 1

    @contextlib.contextmanager
    def liar(self, name, answer=b"", hangs=True):
        """A process that listens at a socket of this name, answers this, and may never hang up."""
        environment = {"TMPDIR": str(self.folder)}
        with processes.Debuggee(["/usr/bin/python3", "-c", LIAR, self.folder / name, answer.hex(), "hang" if hangs else "go"],
                                environment) as process:
            yield process.pid


class Lifecycle(AgentControl):
    def test_attach_status_stop_attach_again(self):
        with processes.scenario("spin") as debuggee:
            pid, out = debuggee.pid, self.folder / "first.txt"
            names = f"{tempfile.gettempdir()}/mixstack-agent-{pid}-*"
            left = glob.glob(names)  # by processes that had this number before and were killed
            status, _, error = control("status", pid)
            self.assertEqual(status, 6)
            self.assertEqual(codes(error), ["no_agent"])
            self.assertIn(f"mixstack agent attach {pid}", error)
            self.good("attach", pid, "--hz", 200, "--out", out)
            self.wait_for_samples(pid)
            report = self.report(pid)
            self.assertTrue(report["sampling"])
            self.assertEqual((report["cpu_hertz"], report["wall_hertz"], report["out"]), (200, 0, str(out)))
            self.assertGreater(report["methods"], 10)
            self.assertGreater(report["threads_timed"], 2)
            self.assertEqual((report["threads_untimed"], report["lost"]), (0, 0))
            self.assertRegex(report["runtime"], r"^\d+\.\d+\.\d+$")
            self.assertIn("mixstack-sample", self.threads(pid))
            status, _, error = control("attach", pid, "--hz", 100)
            self.assertEqual(status, 5)
            self.assertEqual(codes(error), ["samples_already"])
            self.assertIn(f"mixstack agent stop {pid}", error)

            self.good("stop", pid)
            self.assert_stays_loaded(pid)
            self.assertIn("Scenarios.Spinning", out.read_text())
            self.assertNotIn("mixstack-sample", self.threads(pid))
            self.assertIn("mixstack-agent", self.threads(pid))
            self.assertTrue(self.caught(pid, signal.SIGPROF), "a late signal must not end the process")
            os.kill(pid, signal.SIGPROF)
            silent = self.report(pid)
            self.assertFalse(silent["sampling"])
            self.assertGreaterEqual(silent["samples"], report["samples"], "the last account is kept")
            self.good("stop", pid)

            second = self.folder / "second.json"
            self.good("attach", pid, "--out", second, "--format", "json")
            self.wait_for_samples(pid)
            self.assertEqual(self.quit(debuggee), 0)
            profile = json.loads(second.read_text())
            jsonschema.validate(profile, SCHEMA)
            self.assertEqual(profile["pid"], pid)
            self.assertEqual(sorted(glob.glob(names)), sorted(left), "its socket's name is gone")

    def test_memory_is_given_back(self):
        with processes.scenario("spin") as debuggee:
            pid = debuggee.pid

            def mapped():
                """MiB of address space."""
                return int(re.search(r"VmSize:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) >> 10
            silent = []
            for _ in range(4):
                self.good("attach", pid, "--hz", 1000)
                self.wait_for_samples(pid)
                sampling = mapped()
                self.good("stop", pid)
                silent.append(mapped())
                self.assertLess(silent[-1], sampling - 100, "the map of code and the ring are gone")
            self.assertLess(silent[-1], silent[0] + 16, f"nothing is kept by each round: {silent}")

    def test_from_the_start_it_is_asked_the_same_way(self):
        environment = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f10}",
                       "CORECLR_PROFILER_PATH": str(test_agent.library()), "MIXSTACK_AGENT_HZ": "100"}
        with processes.scenario("spin", environment=environment) as debuggee:
            self.wait_for_samples(debuggee.pid)
            self.good("stop", debuggee.pid)
            self.good("attach", debuggee.pid, "--wall", 50)
            self.wait_for_samples(debuggee.pid)
            self.assertEqual(self.quit(debuggee), 0)

    def test_the_library_need_not_be_ours_but_trusted(self):
        with processes.scenario("spin") as debuggee:
            copy = self.folder / "libmixstack_agent.so"
            shutil.copy(test_agent.library(), copy)
            copy.chmod(0o666)
            status, _, error = control("attach", debuggee.pid, "--library", copy)
            self.assertEqual(status, 4, error)
            self.assertEqual(codes(error), ["library_not_trusted"])
            status, _, error = control("attach", debuggee.pid, "--library", self.folder / "no.so")
            self.assertEqual(status, 6)
            self.assertEqual(codes(error), ["no_such_file"])
            status, _, error = control("status", debuggee.pid)
            self.assertEqual(status, 6, "nothing was loaded")


    def test_signals_of_others_are_not_samples(self):
        with processes.scenario("sleep") as debuggee:
            self.good("attach", debuggee.pid, "--hz", 1)
            for number in range(1, 4):
                os.kill(debuggee.pid, signal.SIGPROF)
                self.wait_until(lambda: self.report(debuggee.pid)["foreign_signals"] == number, "a signal")
            self.assertEqual(self.quit(debuggee), 0)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Boundaries(AgentControl):
    """Other users, other namespaces."""

    NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")

    def as_nobody(self, *arguments):
        done = subprocess.run([*self.NOBODY, str(mixstack_dump.binary()), "agent", *map(str, arguments)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_a_container_has_its_own_pids_and_its_own_tmp(self):
        program = processes.debuggee_build.SCENARIOS
        probe = subprocess.run(["unshare", "-m", "-p", "--fork", "--mount-proc", "true"], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("no namespaces to be had here")
        with processes.Debuggee(["unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                                 f"mount -t tmpfs none /tmp && exec {program} spin"]) as shell:
            children = pathlib.Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()
            [pid] = [int(c) for c in children]
            self.assertRegex(pathlib.Path(f"/proc/{pid}/status").read_text(), rf"NSpid:\s+{pid}\s+1\n")
            self.good("attach", pid, "--hz", 200)
            self.wait_for_samples(pid)
            self.assertEqual(glob.glob(f"/tmp/mixstack-agent-{pid}-*") + glob.glob("/tmp/mixstack-agent-1-*"), [])
            status, out, error = control("record", pid, "-d", "500ms")
            self.assertEqual(status, 0, error)
            self.good("stop", pid)
            self.assert_stays_loaded(pid)

    def test_only_its_user_and_root_may_ask(self):
        with processes.scenario("spin") as debuggee:
            status, _, error = self.as_nobody("attach", debuggee.pid)
            self.assertEqual(status, 4, error)
            self.assertEqual(codes(error), ["not_permitted"])
            self.good("attach", debuggee.pid)
            for verb in ("status", "stop", "attach", "record"):
                status, _, error = self.as_nobody(verb, debuggee.pid)
                self.assertEqual(status, 4, error)
                self.assertEqual(codes(error), ["not_permitted"])
            # Where the mode of the socket's file does not keep him out, the agent does.
            [path] = glob.glob(f"{tempfile.gettempdir()}/mixstack-agent-{debuggee.pid}-*")
            os.chmod(path, 0o666)
            status, out, error = self.as_nobody("status", debuggee.pid)
            self.assertNotEqual(status, 0, out)
            self.assertEqual(codes(error), ["hung_up"])

    def test_root_may_ask_another_users_process(self):
        with processes.Debuggee([*self.NOBODY, "env", "HOME=/tmp", processes.debuggee_build.SCENARIOS, "spin"]) as debuggee:
            self.good("attach", debuggee.pid, "--hz", 200)
            self.wait_for_samples(debuggee.pid)
            status, _, error = self.as_nobody("stop", debuggee.pid)
            self.assertEqual(status, 0, error)


class Recordings(AgentControl):
    def collapsed(self, path):
        return {tuple(stack.split(";")): int(count)
                for stack, _, count in (line.rpartition(" ") for line in path.read_text().splitlines())}

    def test_a_recording_shows_what_a_dump_shows(self):
        with processes.scenario("spin") as debuggee:
            dump = mixstack_dump.dump(debuggee.pid)
            out = self.folder / "out.txt"
            status, _, error = control("record", debuggee.pid, "-d", 1, "--hz", 200, "-o", out, timeout=120)
            self.assertEqual(status, 0, error)
            stacks = self.collapsed(out)
            for name in ("spin", "spin-optimized"):
                shown = next(t for t in dump["threads"] if (t.get("managed") or {}).get("name") == name)
                expected = test_agent.methods(shown)
                self.assertTrue(any(test_agent.Agent.holds(s, expected[:-1]) for s in stacks), (expected, list(stacks)[:5]))
            self.assertFalse(self.report(debuggee.pid)["sampling"], "it was not there before")
            self.assertNotIn("mixstack-sample", self.threads(debuggee.pid))

    def test_json_with_wall_time(self):
        with processes.scenario("spin") as debuggee:
            out = self.folder / "out.json"
            hertz = 10 if test_agent.IS_EMULATED else 100  # there a wall sample costs more CPU time than 10 ms
            status, _, error = control("record", debuggee.pid, "-d", 2, "--hz", hertz, "--wall", 50, "-o", out, "--format",
                                       "json", timeout=120)
            self.assertEqual(status, 0, error)
            profile = json.loads(out.read_text())
            jsonschema.validate(profile, SCHEMA)
            states = {}
            for stack in profile["stacks"]:
                of_thread = states.setdefault(stack["state"], collections.Counter())
                of_thread[stack["tid"]] += stack["count"]
                self.assertLess(max(stack["frames"], default=0), len(profile["frames"]))
            names = {t["tid"]: t["name"] for t in profile["threads"]}
            main = debuggee.pid
            # It waits for a line; all of its CPU time is that of being sampled.
            self.assertGreater(states["waiting"][main], 10 * states["cpu"][main])
            self.assertTrue({t for t in states["running"] if names[t].startswith("spin")})
            self.assertNotIn("mixstack-sample", names.values())

    def test_one_that_samples_already_goes_on(self):
        with processes.scenario("spin") as debuggee:
            self.good("attach", debuggee.pid, "--hz", 150)
            status, out, error = control("record", debuggee.pid, "-d", 1, "--format", "json", timeout=120)
            self.assertEqual(status, 0, error)
            profile = json.loads(out)
            self.assertEqual((profile["cpu_hertz"], profile["wall_hertz"]), (150, 0))
            self.assertTrue(any("Spinning" in frame["name"] for frame in profile["frames"]), profile["frames"])
            self.assertTrue(self.report(debuggee.pid)["sampling"])

    def recorder(self, pid, *options):
        child = subprocess.Popen([str(mixstack_dump.binary()), "agent", "record", str(pid), *map(str, options)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        def is_recording():  # not: has recorded before
            if control("status", pid)[0] != 0:
                return False
            report = self.report(pid)
            return report["sampling"] and report["samples"] > 5
        self.wait_until(is_recording, "a recording")
        return child

    def test_it_ends_by_ctrl_c_by_stop_and_with_the_process(self):
        with processes.scenario("spin") as debuggee:
            child = self.recorder(debuggee.pid)
            child.send_signal(signal.SIGINT)
            out, error = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 0, error)
            self.assertIn("Spinning", out)

            child = self.recorder(debuggee.pid)
            self.good("stop", debuggee.pid)
            out, error = child.communicate(timeout=60)
            self.assertEqual((child.returncode, codes(error)), (7, ["recorded", "ended_early"]), error)
            self.assertIn("Spinning", out)

            child = self.recorder(debuggee.pid)
            self.assertEqual(self.quit(debuggee), 0)
            out, error = child.communicate(timeout=60)
            self.assertEqual((child.returncode, codes(error)), (7, ["recorded", "ended_early"]), error)
            self.assertIn("Spinning", out)

    def test_a_recorder_that_is_killed_ends_the_sampling(self):
        with processes.scenario("spin") as debuggee:
            self.recorder(debuggee.pid).kill()
            self.wait_until(lambda: not self.report(debuggee.pid)["sampling"], "silence")

    def test_a_recorder_that_does_not_read_costs_samples_and_nothing_else(self):
        with processes.scenario("deep") as debuggee:
            child = self.recorder(debuggee.pid, "--hz", 1000, "--wall", 1000, "--wall-threads", 64, "--format", "json")
            child.send_signal(signal.SIGSTOP)
            self.wait_until(lambda: self.report(debuggee.pid)["lost_on_way"] > 0, "losses")
            child.send_signal(signal.SIGCONT)
            child.send_signal(signal.SIGINT)
            out, error = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 0, error)
            self.assertGreater(json.loads(out)["account"]["lost_on_way"], 0)


class Hostile(AgentControl):
    def test_a_process_without_a_runtime(self):
        child = subprocess.Popen(["sleep", "600"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        status, _, error = control("attach", child.pid)
        self.assertEqual(status, 6)
        self.assertEqual(codes(error), ["no_diagnostics_socket"])
        status, _, error = control("attach", 2**31 - 1)
        self.assertEqual(status, 3)

    def test_a_runtime_that_was_told_not_to_listen(self):
        with processes.scenario("spin", environment={"DOTNET_EnableDiagnostics": "0"}) as debuggee:
            status, _, error = control("attach", debuggee.pid)
            self.assertEqual(status, 6)
            self.assertEqual(codes(error), ["no_diagnostics_socket"])

    def test_a_stopped_process_is_not_waited_for(self):
        with processes.scenario("spin") as debuggee:
            debuggee.stop()
            for verb in ("attach", "status", "stop", "record"):
                status, _, error = control(verb, debuggee.pid)
                self.assertEqual(status, 6)
                self.assertEqual(codes(error), ["process_stopped"])

    def test_sockets_that_hang_hang_up_or_lie(self):
        ok = b"DOTNET_IPC_V1\0" + struct.pack("<HBBHI", 24, 0xff, 0, 0, 0)
        cases = (("silent", b"", True, 1, "runtime_no_answer"), ("hangs up", b"", False, 8, "runtime_hung_up"),
                 ("rubbish", b"HTTP/1.1 400 Bad Request\r\n\r\n", True, 6, "not_a_runtime"),
                 ("half", ok[:22], True, 1, "runtime_no_answer"),
                 ("second profiler", ok[:16] + b"\xff\xff\0\0" + struct.pack("<I", 0x8013136a), True, 6, "profiler_there"),
                 ("says it is done", ok, True, 6, "no_socket_of_agent"))
        for what, answer, hangs, expected, code in cases:
            with self.subTest(what), self.liar("dotnet-diagnostic-PID-1-socket", answer, hangs) as pid:
                status, _, error = control("attach", pid, "--timeout", "1s")
                self.assertEqual((status, codes(error)), (expected, [code]), error)

    def test_an_agent_that_lies_or_is_of_another_version(self):
        header = lambda version, kind, size: struct.pack("<IHHI", 0x4741584d, version, kind, size)
        refusal = struct.pack("<HH", 1, 3) + b"9.9" + struct.pack("<H", 4) + b"new\x1b"
        cases = (("refusal", header(9, 17, len(refusal)) + refusal, "other_version", "(9.9: new\\x1b)"),
                 ("report of another version", header(9, 16, 3) + b"abc", "other_version", ""),
                 ("too large", header(3, 16, 2**31), "not_an_agent", ""), ("rubbish", b"x" * 64, "not_an_agent", ""),
                 ("half a report", header(3, 16, 40) + bytes(40), "not_an_agent", ""))
        for what, answer, code, its_words in cases:
            with self.subTest(what), self.liar("mixstack-agent-PID-1-socket", answer) as pid:
                for verb in ("status", "stop"):
                    status, _, error = control(verb, pid)
                    self.assertEqual((status, codes(error)), (6, [code]), error)
                    self.assertIn(its_words, mixstack_dump.messages(error)[0]["text"])

    def test_what_others_put_into_the_folder_is_not_spoken_to(self):
        """A socket with the name of the runtime's, newer, of another process."""
        with processes.scenario("spin", environment={"TMPDIR": str(self.folder)}) as debuggee:
            with self.liar(f"dotnet-diagnostic-{debuggee.pid}-2-socket", b"x" * 64), \
                    self.liar(f"mixstack-agent-{debuggee.pid}-2-socket", b"x" * 64):
                self.good("attach", debuggee.pid, "--hz", 100)
                self.wait_for_samples(debuggee.pid)

    def test_rubbish_at_the_agents_socket(self):
        """Whoever may connect may say what he likes; the process goes on and others are answered."""
        with processes.scenario("spin", environment={"TMPDIR": str(self.folder)}) as debuggee:
            self.good("attach", debuggee.pid, "--hz", 500)
            [path] = glob.glob(f"{self.folder}/mixstack-agent-{debuggee.pid}-*")
            question = lambda kind, text=b"", version=1: struct.pack("<IHHI", 0x4741584d, version, kind, len(text)) + text
            for bytes_ in (b"x" * 5000, question(99), question(16), question(1, version=7), question(1)[:7],
                           question(2, b"MIXSTACK_AGENT_HZ=-1"), question(5), question(4, b"\0" * 4000) + question(4),
                           struct.pack("<IHHI", 0x4741584d, 1, 2, 2**32 - 1)):
                with socket.socket(socket.AF_UNIX) as link:
                    link.connect(path)
                    link.sendall(bytes_)
                    link.settimeout(0.2)
                    with contextlib.suppress(OSError):
                        link.recv(65536)
            self.assertTrue(self.report(debuggee.pid)["sampling"])
            self.assertEqual(self.quit(debuggee), 0)

    def test_another_profiler_is_there_first(self):
        other = self.folder / "libother.so"
        shutil.copy(test_agent.library(), other)  # a profiler like any, whose socket nobody finds
        environment = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f11}",
                       "CORECLR_PROFILER_PATH": str(other)}
        with processes.scenario("spin", environment=environment) as debuggee:
            for path in glob.glob(f"{tempfile.gettempdir()}/mixstack-agent-{debuggee.pid}-*"):
                os.unlink(path)
            status, _, error = control("attach", debuggee.pid)
            self.assertEqual(status, 6)
            self.assertIn("0x8013136a", error)
            self.assertEqual(codes(error), ["profiler_there"])


class UnderWay(AgentControl):
    """Sampled fast while the process does what hurts."""

    RATES = ("--hz", 1000, "--wall", 200, "--wall-threads", 64)

    def test_forks(self):
        with processes.scenario("forks") as debuggee:
            self.good("attach", debuggee.pid, *self.RATES)
            progress = lambda: [int(n) for n in debuggee.ask("forked").split()[1:]]
            before = progress()
            self.wait_until(lambda: progress()[0] > before[0] + 50 and progress()[1] > before[1] + 20, "children")
            self.assertEqual(progress()[2], before[2], "children that did not end well")
            self.good("stop", debuggee.pid)
            self.good("attach", debuggee.pid, *self.RATES)
            self.assertEqual(self.quit(debuggee), 0)

    def test_short_lived_threads(self):
        with processes.scenario("churn") as debuggee:
            self.good("attach", debuggee.pid, *self.RATES)
            churned = lambda: int(debuggee.ask("churned").split()[1])
            before = churned()
            self.wait_until(lambda: churned() > before + 1000, "threads")
            self.wait_for_samples(debuggee.pid)
            status, out, error = control("record", debuggee.pid, "-d", 1, timeout=120)
            self.assertEqual(status, 0, error)
            self.assertEqual(self.quit(debuggee), 0)

    def test_begun_and_ended_over_and_over(self):
        with processes.scenario("traffic") as debuggee:
            for _ in range(20):
                self.good("attach", debuggee.pid, *self.RATES)
                self.good("stop", debuggee.pid)
            trips, _, errors = (int(n) for n in debuggee.ask("traffic").split()[1:])
            self.assertEqual(errors, 0)
            self.wait_until(lambda: int(debuggee.ask("traffic").split()[1]) > trips + 100, "round trips")
            self.assertEqual(self.quit(debuggee), 0)

    def test_the_process_ends_while_it_is_sampled_and_asked(self):
        for _ in range(5):
            with processes.scenario("gc_storm") as debuggee:
                self.good("attach", debuggee.pid, *self.RATES)
                is_over = threading.Event()

                def ask():
                    while not is_over.is_set():
                        control("status", debuggee.pid)
                asker = threading.Thread(target=ask)
                asker.start()
                try:
                    self.assertEqual(self.quit(debuggee), 0)
                finally:
                    is_over.set()
                    asker.join()

    def test_it_says_what_it_does_when_told_to(self):
        said = self.folder / "said.txt"
        with open(said, "wb") as error:
            child = subprocess.Popen([str(processes.debuggee_build.SCENARIOS), "spin"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=error,
                                     env={**os.environ, "CORECLR_ENABLE_PROFILING": "1",
                                          "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f10}",
                                          "CORECLR_PROFILER_PATH": str(test_agent.library()), "MIXSTACK_AGENT_HZ": "100",
                                          "MIXSTACK_DEBUG": "1"})
            self.addCleanup(child.stdout.close)
            self.addCleanup(child.stdin.close)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            self.wait_until(lambda: said.read_text().count("mixstack agent: ") > 1, "two lines")
        self.assertRegex(said.read_text(), r"mixstack agent: \d+ samples, \d+ cut, \d+ lost; \d+ threads")


if __name__ == "__main__":
    unittest.main()
