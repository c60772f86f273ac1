"""`mixstack doctor`: each right is really taken away, and what it says is compared with what a dump then does."""
import ctypes
import errno
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

import mixstack_dump
import processes
from harness import LiveCase, alone

NOBODY = 65534


def run(*arguments, before=(), **options):
    return subprocess.run([*before, mixstack_dump.binary(), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, **options)


def findings(done):
    return {f["subject"]: f for f in json.loads(done.stdout)["findings"]}


# Denies ptrace (EPERM), as the profiles of old containers do, then executes the rest of its arguments.
WITH_A_FILTER = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 101, "aarch64": 117}[os.uname().machine]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x7fff0000 if len(sys.argv[1]) == 0 else int(sys.argv[1], 16)),
        (0x06, 0, 0, 0x7fff0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(program)))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, filters) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""
DENY, KILL = "50001", "80000000"  # SECCOMP_RET_ERRNO with EPERM, SECCOMP_RET_KILL_PROCESS


def read_or_nothing(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


class Doctor(LiveCase):
    def root(self):
        if os.geteuid() != 0:
            self.skipTest("only root can take rights away from itself like this")

    def agree(self, pid, before=(), problem=None, **options):
        """What doctor says of a process is what a dump of it does. `problem`: what must stand in the way."""
        said, done = run("doctor", pid, "--json", before=before, **options), run("dump", pid, before=before, **options)
        document = json.loads(said.stdout)
        self.assertEqual(document["dump"], done.returncode in (0, 7), said.stdout + done.stderr)
        self.assertEqual(document["problem"] is None, document["dump"])
        if problem is not None:
            self.assertEqual(document["problem"], problem)
            self.assertEqual(findings(said)[f"process {pid}"]["verdict"], "bad")
        self.assertEqual(said.returncode == 0, done.returncode in (0, 7))
        if said.returncode != 0:
            self.assertEqual(said.returncode, done.returncode, said.stdout + done.stderr)
        return findings(said), done

    def test_with_all_rights(self):
        self.root()
        with processes.native("guest", "deep_fiber") as target:
            said, _ = self.agree(target.pid)
            self.assertEqual(said["ptrace"]["verdict"], "ok")
            self.assertEqual(said[f"process {target.pid}"]["verdict"], "ok")
            text = run("doctor", target.pid).stdout  # the approved text of this command
            self.assertRegex(text, r"(?m)^ok +ptrace ")
            self.assertIn("dump: works.", text)

    def test_without_the_capability(self):
        self.root()
        with processes.native("guest", "deep_fiber") as target:
            said, _ = self.agree(target.pid, problem="permission", user=NOBODY, group=NOBODY, extra_groups=[])
            self.assertEqual(said["user"]["verdict"], "note")
            for subject in ("user", f"process {target.pid}"):
                self.assertIn("setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep", said[subject]["remedy"])

    def test_the_line_that_is_printed_is_enough(self):
        """With the capabilities of the line, and no others, the process can be dumped, and recorded without a stop."""
        self.root()
        for uid in (NOBODY, 1234):
            with processes.native("guest", "deep_fiber") as target:
                as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
                if uid == NOBODY:
                    target = subprocess.Popen(["/bin/sleep", "100"], **as_nobody)
                    self.addCleanup(target.wait)
                    self.addCleanup(target.kill)
                said = run("doctor", target.pid, **as_nobody).stdout
                lines = re.findall(r"setcap (\S+)\+ep", said)
                words = max(lines, key=len).replace("cap_", "+") if uid != NOBODY else min(lines, key=len).replace("cap_", "+")
                before = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", f"--inh-caps=-all,{words}",
                          f"--ambient-caps=-all,{words}")
                self.assertIn(run("dump", target.pid, before=before).returncode, (0, 7), words)
                told = json.loads(run("doctor", target.pid, "--json", before=before).stdout)
                self.assertTrue(told["dump"], told)
                done = run("record", "-p", target.pid, "-d", "1", "--no-stop", "-i", "-f", "folded", "-o", "-", before=before)
                self.assertEqual(done.returncode, 0, done.stderr)
                if told["without_stop"]:
                    self.assertIn("BPF iterator", done.stderr)

    def test_without_the_right_to_read(self):
        """CAP_SYS_PTRACE does not open the files of another user's process."""
        self.root()
        before = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all,+sys_ptrace",
                  "--ambient-caps=-all,+sys_ptrace")
        with processes.native("guest", "deep_fiber") as target:
            said, done = self.agree(target.pid, before=before, problem="permission")
            self.assertEqual(said["user"]["verdict"], "note")
            for remedy in (said["user"]["remedy"], done.stderr):
                self.assertIn("cap_sys_ptrace,cap_dac_read_search+ep", remedy)

    def test_root_without_the_capability_is_in_a_container(self):
        self.root()
        said = findings(run("doctor", "--json", before=("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")))
        self.assertEqual(said["user"]["verdict"], "note")
        self.assertIn("--cap-add=SYS_PTRACE", said["user"]["remedy"])

    def test_a_process_that_is_gone(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        said, done = self.agree(gone.pid, problem="no_such_process")
        self.assertEqual(done.returncode, 3)
        if not os.geteuid():
            self.assertNotIn(os.strerror(errno.ESRCH), said["perf events"]["text"])
        zombie = subprocess.Popen(["true"])
        self.addCleanup(zombie.wait)
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        self.agree(zombie.pid, problem="zombie")

    def test_no_remedy_that_cannot_work(self):
        """A file with a capability that the bounding set lacks cannot be executed."""
        self.root()
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        with processes.native("guest", "deep_fiber") as target:
            def told(*lacking):
                before = ("setpriv", "--bounding-set=" + ",".join(f"-{name}" for name in lacking)) if lacking else ()
                wrapped = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
                done = run("doctor", target.pid, "--json", before=(*before, *wrapped))
                return {subject: f["remedy"] or "" for subject, f in findings(done).items()}
            everything = told()
            self.assertIn("cap_bpf,cap_perfmon,cap_sys_ptrace", everything["user"])
            some = told("bpf")
            for subject in ("user", f"process {target.pid}"):
                self.assertIn("setcap cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep", some[subject])
            self.assertNotIn("+ep", some["BPF"])
            self.assertIn("--cap-add=BPF", some["BPF"])
            none = told("sys_ptrace")
            for subject in ("user", f"process {target.pid}"):
                self.assertNotIn("+ep", none[subject])
                self.assertIn("--cap-add=SYS_PTRACE", none[subject])
            done = run("doctor", "--json", before=("setpriv", "--no-new-privs"), **as_nobody)
            self.assertEqual([f for f in json.loads(done.stdout)["findings"] if "+ep" in (f["remedy"] or "")], [])

    def test_no_new_privileges(self):
        self.root()
        said = findings(run("doctor", "--json", before=("setpriv", "--no-new-privs"), user=NOBODY, group=NOBODY, extra_groups=[]))
        self.assertIn("no_new_privs", said)

    def test_a_filter_that_denies(self):
        with processes.native("guest", "deep_fiber") as target:
            before = (sys.executable, "-c", WITH_A_FILTER, DENY)
            said, done = self.agree(target.pid, before=before, problem="permission")
            self.assertEqual(said["ptrace"]["verdict"], "bad")
            for remedy in (said["ptrace"]["remedy"], done.stderr):
                self.assertIn("--cap-add=SYS_PTRACE", remedy)
            self.assertFalse(json.loads(run("doctor", "--json", before=before).stdout)["dump"])

    def test_a_filter_that_kills(self):
        """Only the child that tries it is killed."""
        said = run("doctor", "--json", before=(sys.executable, "-c", WITH_A_FILTER, KILL))
        self.assertEqual((said.returncode, json.loads(said.stdout)["problem"]), (4, "permission"), said.stderr)
        self.assertEqual(findings(said)["ptrace"]["verdict"], "bad")
        begin = bytes(mixstack_dump.binary()) + b"\0doctor"
        deadline = time.monotonic() + 5  # they are killed with their parent, a moment later
        while left := [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                       if processes.is_ours(int(p.parent.name)) and read_or_nothing(p).startswith(begin)]:
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.01)

    def test_a_process_of_our_own_that_hides(self):
        """Under the same filter as others it is told apart from them: not the filter is to blame."""
        self.root()
        hides = subprocess.Popen([sys.executable, "-c", "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); "
                                  "print('READY', flush=True); time.sleep(100)"], stdout=subprocess.PIPE,
                                 user=NOBODY, group=NOBODY, extra_groups=[])
        try:
            self.assertEqual(hides.stdout.readline(), b"READY\n")
            for before in ((), (sys.executable, "-c", WITH_A_FILTER, DENY)):
                said, done = self.agree(hides.pid, before=before, problem="permission", user=NOBODY, group=NOBODY,
                                        extra_groups=[])
                self.assertIn("PR_SET_DUMPABLE", said[f"process {hides.pid}"]["remedy"])
                self.assertIn("PR_SET_DUMPABLE", done.stderr)
        finally:
            hides.kill()
            hides.wait()
            hides.stdout.close()

    def test_another_tracer(self):
        with processes.native("guest", "deep_fiber") as target:
            libc = ctypes.CDLL(None, use_errno=True)
            libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
            self.assertEqual(libc.ptrace(0x4206, target.pid, None, None), 0)  # PTRACE_SEIZE
            said, _ = self.agree(target.pid, problem="already_traced")
            self.assertIn(str(os.getpid()), said[f"process {target.pid}"]["text"])

    def test_another_user_namespace(self):
        if subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no user namespace can be made here")
        said = findings(run("doctor", "--json", before=("unshare", "--user", "--map-root-user")))
        self.assertIn("user namespace", said)

    def test_proc_of_another_pid_namespace(self):
        """Its process 2 is not the one that a ptrace of 2 would stop: no stack is shown at all, whoever asks."""
        probe = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
        if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
            self.skipTest("no pid namespace can be made here")
        with processes.native("guest", "deep_fiber") as target:
            before = ("unshare", "--pid", "--fork", "--kill-child", "--")
            said, done = self.agree(target.pid, before=before, problem="foreign_proc")
            self.assertEqual((said["/proc"]["verdict"], done.returncode, done.stdout), ("bad", 10, ""))
            self.assertIn("nsenter", done.stderr)
            for words in (["ps"], ["agent", "status", target.pid], ["pack", target.pid, "-o", "-"], ["symbols", "status", target.pid]):
                told = run(*words, before=before)
                self.assertEqual((told.returncode, told.stdout), (10, ""), words)
                self.assertIn("nsenter", told.stderr)
        # It has become sleep by then.
        inner = "sleep 100 & pid=$!; sleep 0.5; exec {} dump $pid".format(mixstack_dump.binary())
        for words, status in ((["--mount-proc"], 0), ([], 10)):
            done = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", *words, "sh", "-c", inner], timeout=60,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, status, done.stderr)

    @alone("changes kernel.yama.ptrace_scope")
    def test_yama(self):
        self.root()
        path = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
        if not path.exists():
            self.skipTest("no Yama in this kernel")
        before = path.read_text()
        try:
            path.write_text("1")
            said = findings(run("doctor", "--json", user=NOBODY, group=NOBODY, extra_groups=[]))
            self.assertEqual(said["yama"]["verdict"], "bad")
        finally:
            path.write_text(before)

    @alone("changes kernel.perf_event_paranoid")
    def test_perf_events_are_tried(self):
        self.root()
        path = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
        if not path.exists():
            self.skipTest("no perf events in this kernel")
        before = path.read_text()
        try:
            path.write_text("3")
            said = run("doctor", "--json", user=NOBODY, group=NOBODY, extra_groups=[])
            event = findings(said)["perf events"]
            self.assertEqual(event["verdict"] == "ok", json.loads(said.stdout)["perf_events"])
            self.assertIn("kernel.perf_event_paranoid", event["text"])
        finally:
            path.write_text(before)

    def test_processes_that_are_none(self):
        child = subprocess.Popen(["true"])
        child_state = pathlib.Path(f"/proc/{child.pid}/stat")
        self.wait_until(lambda: child_state.read_text().rpartition(")")[2].split()[0] == "Z", "a zombie")
        self.agree(child.pid)
        child.wait()
        self.agree(child.pid)
        self.agree(2 if pathlib.Path("/proc/2/comm").exists() else child.pid)


if __name__ == "__main__":
    unittest.main()
