"""Why a process of our own user may not be looked at: what is said is what stands in the way."""
import ctypes
import json
import os
import struct
import subprocess
import sys
import unittest

import mixstack_dump
import processes
from harness import LiveCase
from mixstack_dump import reasons

NOBODY = 65534
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 22, 38
SYS_PTRACE = {"x86_64": 101, "aarch64": 117}.get(os.uname().machine)
WAIT = "import ctypes, sys; ctypes.CDLL(None).prctl(4, int(sys.argv[1])); print('READY 0', flush=True); sys.stdin.readline()"


def become_nobody():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def deny_ptrace(request=None):
    """A filter as the default profiles of containers have it: EPERM. Of one request alone, or of all."""
    one = () if request is None else ((0x20, 0, 0, 16), (0x15, 0, 1, request))  # the first argument, its lower half
    code = b"".join(struct.pack("HBBI", *step) for step in (
        (0x20, 0, 0, 0), (0x15, 0, 1 + len(one), SYS_PTRACE), *one, (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)))
    kept = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0) != 0:
        os._exit(99)


class Rights(LiveCase):
    needs_dotnet = False
    timeout = 60

    def test_from_inside_a_user_namespace(self):
        """There we have every capability, and none that counts outside."""
        with processes.native("guest", "threads", 1, 0) as target:
            done = subprocess.run(["unshare", "-U", "-r", mixstack_dump.binary(), "dump", str(target.pid)],
                                  capture_output=True, timeout=30)
        text = done.stderr.decode()
        if "unshare" in text:
            self.skipTest(f"no right to make a user namespace: {text.strip()}")
        self.assertEqual(done.returncode, 4, text)
        self.assertEqual(reasons(text), [("permission", "user_namespace")])

    def test_a_filter_that_lets_us_stop_but_not_read(self):
        if SYS_PTRACE is None:
            self.skipTest("the number of ptrace on this CPU is not known here")
        with processes.native("guest", "threads", 1, 0) as target:
            done = subprocess.run([mixstack_dump.binary(), "dump", str(target.pid), "--json"], capture_output=True, timeout=30,
                                  preexec_fn=lambda: deny_ptrace(0x4204))  # PTRACE_GETREGSET
            self.assertTrue(target.is_alive())
        self.assertEqual(done.returncode, 7, done.stderr.decode())
        threads = json.loads(done.stdout)["threads"]
        self.assertEqual([t["capture_error"]["code"] for t in threads], ["permission_denied"] * 2, threads)


class SameUser(LiveCase):
    needs_dotnet = False
    timeout = 60

    def said(self, dumpable, filtered):
        """What mixstack writes to its standard error, both processes being of one user."""
        def start():
            become_nobody()
            if filtered:
                deny_ptrace()

        if SYS_PTRACE is None:
            self.skipTest("the number of ptrace on this CPU is not known here")
        command = ["/usr/bin/env", sys.executable, "-c", WAIT, str(dumpable)]
        if os.geteuid() == 0:
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
        with processes.Debuggee(command) as debuggee:
            done = subprocess.run([mixstack_dump.binary(), "dump", str(debuggee.pid)], preexec_fn=start,
                                  capture_output=True, timeout=30)
        return done.returncode, done.stderr.decode()

    def test_a_seccomp_filter(self):
        status, text = self.said(1, True)
        self.assertEqual(status, 4, text)
        self.assertEqual(reasons(text), [("permission", "seccomp")])
        self.assertIn("--cap-add=SYS_PTRACE", text)

    def test_a_process_that_hides(self):
        for filtered in (False, True):
            status, text = self.said(0, filtered)
            self.assertEqual(status, 4, text)
            self.assertEqual(reasons(text), [("permission", "hides_itself")])
            self.assertIn("PR_SET_DUMPABLE", text)


if __name__ == "__main__":
    unittest.main()
