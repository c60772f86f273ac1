"""What a reader sees first: the text of a dump of a service that is stuck, in a pipe and on a terminal."""
import collections
import fcntl
import os
import pathlib
import pty
import re
import select
import socket
import struct
import subprocess
import termios
import time
import unittest
import urllib.request

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase

REQUESTS, REPORTS = 40, 5


def text_of(*arguments):
    """Threads that a busy machine stops late have stacks of another moment, and are told apart: here none is late."""
    done = subprocess.run([mixstack_dump.binary(), "dump", "--stop-timeout", "5000", *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    return done.stdout


def on_a_terminal(columns, *arguments, rows=30, keys=b"", lasting=30.0):
    """What a terminal of a size gets; `keys` are pressed when it has been quiet for a moment."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.read(0, 1)  # until the size is set
        os.environ["TERM"] = "xterm"
        os.execv(mixstack_dump.binary(), ["mixstack", "dump", *map(str, arguments)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.write(terminal, b"\n")
    said, end = b"", time.monotonic() + lasting
    while time.monotonic() < end:
        if select.select([terminal], [], [], 2.0)[0]:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:  # EIO: all who had it are gone
                break
            if not piece:
                break
            said += piece
        elif keys and len(said) > 200:
            os.write(terminal, keys)
            keys = b""
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return said.decode(), os.waitstatus_to_exitcode(status)


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


class StarvedService(LiveCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(processes.Debuggee([debuggee_build.starved(), REQUESTS, REPORTS]))
        cls.pid = cls.service.pid
        port = int(cls.service.ready.split()[1])
        cls.clients = []
        # Routes are built by the first request, and those that come meanwhile wait for it: another stack.
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
            answer.read()
        for i in range(REQUESTS + REPORTS):
            client = cls.enterClassContext(socket.create_connection(("127.0.0.1", port)))
            path = f"/price/{i}" if i < REQUESTS else f"/report/{i}"
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            cls.clients.append(client)

    def settled(self):
        """All requests have come to where they wait."""
        def waiting():
            dump = mixstack_dump.dump(self.pid)
            names = [[f["name"] for f in t["frames"]] for t in dump["threads"]]
            return (sum(any("Task.InternalWait(" in n for n in stack) and any("lambda_method" in n for n in stack) for stack in names),
                    sum(any("Reports.Build" in n for n in stack) for stack in names))
        def at_rest():
            before, is_asleep = self.ticks(), True
            for _ in range(3):
                time.sleep(0.1)
                # One that waits for a processor uses none, and is not at rest.
                is_asleep = is_asleep and set(processes.thread_states(self.pid).values()) == {"S"}
            return is_asleep and self.ticks() - before <= 1
        self.wait_until(lambda: waiting() == (REQUESTS, REPORTS), "the requests", timeout=60)
        self.wait_until(at_rest, "the compiler of hot methods, whose threads have stacks of their own while it works", timeout=60)

    def ticks(self):
        """Of processor time, of the whole service."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return int(fields[11]) + int(fields[12])

    def test_the_first_lines_tell_the_code_of_the_program(self):
        self.settled()
        lines = text_of(self.pid).splitlines()[:40]
        told = collections.Counter()
        for line in lines:
            if found := re.fullmatch(r" *(\d+) threads? +(Starved\.\S+\(.*?\)).*", line):
                told[found[2]] += int(found[1])
        self.assertEqual(told["Starved.Reports.Build(string)"], REPORTS, lines)
        self.assertEqual(told["Starved.Reports.HoldForEver(ManualResetEventSlim)"], 1, lines)
        self.assertEqual(told["Starved.Program.Main(string[])"], 1, lines)

    def test_merged_it_is_short_and_hides_nothing_in_silence(self):
        self.settled()
        merged, whole = text_of(self.pid, "--merge"), text_of(self.pid, "--all", "--no-fold")
        # How many lines a stack has depends on what the JIT has inlined by now; how many stacks are shown does not.
        stacks = re.split(r"(?m)^(?=Thread \d+|\d+ threads with this stack)", merged)[1:]
        # Requests of two kinds, the holder, Main; one of the runtime or the framework may be awake at this moment.
        own = [s for s in stacks if "Starved." in s]
        self.assertEqual(len(own), 4, "\n".join(s.split("\n")[0] for s in stacks))
        self.assertLessEqual(len(stacks), 5, "\n".join(stacks[4:]))
        self.assertLess(12 * len(merged.splitlines()), len(whole.splitlines()), merged)
        threads = set(map(int, re.findall(r"^Thread (\d+)", whole, re.M)))
        self.assertEqual(threads, {t["tid"] for t in mixstack_dump.dump(self.pid)["threads"]})
        # Every thread is told in one way: by its stack, in a group, or among those that wait.
        told = set(map(int, re.findall(r"^Thread (\d+)", merged, re.M)))
        ids = r"(\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*)"
        for found in re.finditer(rf"^ +{ids}$|: {ids}$", merged, re.M):
            for part in (found[1] or found[2]).split(", "):
                first, _, last = part.partition("-")
                told.update(range(int(first), int(last or first) + 1))
        self.assertEqual(told, threads)
        self.assertIn("--all", merged)
        for how_many in (REQUESTS, REPORTS):
            self.assertRegex(merged, rf"(?m)^{how_many} threads with this stack: ")

    def test_frames_without_names_and_async_calls_share_lines(self):
        text = text_of(self.pid)
        self.assertRegex(text, r"(?m)^#\d+-\d+ +[0-9a-f]{12} N libcoreclr\.so, \d+ frames without symbols$")
        self.assertRegex(text_of(self.pid, "--no-fold"), r"(?m)^#\d+ +[0-9a-f]{12} N libcoreclr\.so\+0x[0-9a-f]+$")
        for line in text.splitlines():
            self.assertNotIn("AsyncMethodBuilderCore.Start<", line)

    def test_a_terminal_is_not_too_narrow(self):
        self.settled()
        for columns in (80, 120):
            for how in ((), ("--merge",), ("--tree",)):
                said, status = on_a_terminal(columns, self.pid, "--no-pager", *how)
                self.assertEqual(status, 0, said)
                long = [line for line in plain(said).split("\n") if len(line) > columns]
                self.assertEqual(long, [], how)
        said, _ = on_a_terminal(80, self.pid, "--no-pager", "--wide")
        self.assertTrue(any(len(line) > 80 for line in plain(said).split("\n")))

    def test_a_pager_shows_the_beginning_and_ends_when_told(self):
        if not os.path.exists("/usr/bin/less"):
            self.skipTest("no less here")
        self.settled()
        said, status = on_a_terminal(80, self.pid, keys=b"q")
        self.assertEqual(status, 0, said)
        lines = [line for line in plain(said).split("\n") if line.strip()]
        self.assertIn("Code of the program", plain(said))
        self.assertLess(len(lines), 40)

    def test_the_tree_counts_threads(self):
        self.settled()
        text = text_of(self.pid, "--tree")
        for method, count in ((r"lambda_method\d+\(", REQUESTS + REPORTS), (r"Starved\.Reports\.Build\(string\)", REPORTS)):
            self.assertEqual(sum(map(int, re.findall(rf"(?m)^ +(\d+) [│├└ ]*{method}", text))), count, text)


if __name__ == "__main__":
    unittest.main()
