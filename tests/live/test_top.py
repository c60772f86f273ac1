"""mixstack top: the shares it shows against what the program did by construction, in a pipe and at a terminal."""
import errno
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

import mixstack_dump
import processes
from harness import LiveCase, alone

try:
    import pyte
except ImportError:
    pyte = None

SPLIT = {"Scenarios.Split.Sixty()": 60, "Scenarios.Split.Thirty()": 30, "Scenarios.Split.Ten()": 10}


def top(pid, *options, timeout=120):
    """(exit status, tables, what it said)."""
    done = subprocess.run([mixstack_dump.binary(), "top", str(pid), *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout)
    return done.returncode, [table for table in done.stdout.split("\n\n") if table.strip()], done.stderr


def shares(table, column=1):
    """{function: percent} of a table in a pipe; column 0: self, 1: total."""
    found = {}
    for line in table.splitlines():
        row = re.match(r" *([\d.]+) +([\d.]+) +[\d.]+  (?=.{24})(\S.*?) {2,}(.+)$", line)
        if row:
            found[row[4]] = float(row[1 + column])
    return found


if pyte is not None:
    class Screen(pyte.Screen):
        """Scrolls, too, as terminals do when they are told (ECMA-48, SU and SD)."""

        def scroll_up(self, count=1, **_):
            self._at_top(self.delete_lines, count)

        def scroll_down(self, count=1, **_):
            self._at_top(self.insert_lines, count)

        def _at_top(self, change, count):
            x, y = self.cursor.x, self.cursor.y
            self.cursor.y = self.margins.top if self.margins else 0
            change(count)
            self.cursor.x, self.cursor.y = x, y

    class Stream(pyte.ByteStream):
        csi = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down"}
        events = pyte.ByteStream.events | {"scroll_up", "scroll_down"}


class Terminal:
    """The command at a terminal of its own, and what is to be seen there."""

    def __init__(self, *arguments, columns=120, lines=32, term="screen-256color", wrapper=()):
        self.screen = Screen(columns, lines)
        self._stream = Stream(self.screen)
        self.bytes = b""
        self._master, self.slave = pty.openpty()
        self._set_size(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        environment = {**os.environ, "TERM": term}
        self.process = subprocess.Popen([*wrapper, mixstack_dump.binary(), "top", *map(str, arguments)], stdin=self.slave,
                                        stdout=self.slave, stderr=subprocess.PIPE, env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self._master)
        os.close(self.slave)

    def _set_size(self, columns, lines):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        self._set_size(columns, lines)  # the kernel tells the group in front

    def read(self, seconds):
        if select.select([self._master], [], [], seconds)[0]:
            piece = os.read(self._master, 65536)
            self.bytes += piece
            self._stream.feed(piece)

    def press(self, keys):
        os.write(self._master, keys.encode())

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, holds, what, timeout=60.0):
        """Until something is to be seen: a text, or what `holds` says of the whole. Answers the text."""
        if isinstance(holds, str):
            word = holds
            holds = lambda text: word in text  # noqa: E731
        deadline = time.monotonic() + timeout
        while not holds(self.text()):
            if time.monotonic() > deadline:
                raise AssertionError(f"not seen: {what}\n{self.text()}\n{self.process.poll()}")
            self.read(0.2)
        return self.text()

    def wait_for_end(self, timeout=60.0):
        """(exit status, what it said)"""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"does not end\n{self.text()}")
            self.read(0.2)
        while select.select([self._master], [], [], 0.2)[0]:
            self.read(0)
        return self.process.returncode, self.process.stderr.read().decode()


class TopAsText(LiveCase):
    def assert_split(self, found, samples):
        of_all = sum(found.get(name, 0) for name in SPLIT)
        self.assertGreater(of_all, 0, found)
        for name, share in SPLIT.items():
            chance = 400 * (share / 100 * (1 - share / 100) / samples) ** 0.5
            self.assertAlmostEqual(100 * found.get(name, 0) / of_all, share, delta=2 + chance, msg=found)

    def test_shares_of_a_known_split(self):
        with processes.scenario("split") as debuggee:
            status, tables, said = top(debuggee.pid, "-d", "5", "--interval", "5", "--mode", "cpu", "--rows", "100")
        self.assertEqual((status, said), (0, ""))
        self.assertEqual(len(tables), 1)
        samples = int(re.search(r" (\d+) samples", tables[0])[1])
        self.assertGreater(samples, 300)
        self.assert_split(shares(tables[0]), samples)
        self.assertIn(f"pid {debuggee.pid} ", tables[0])
        self.assertNotIn("\x1b", tables[0])

    @alone("a busy machine leaves rounds out")
    def test_wall_time_of_the_same_with_its_waiting(self):
        with processes.scenario("split") as debuggee:
            status, tables, said = top(debuggee.pid, "-d", "6", "--whole", "-i", "--rows", "1000")
            self.assertEqual((status, said), (0, ""))
            self.assertGreaterEqual(len(tables), 5, tables)
            self.assertLessEqual(len(tables), 7, tables)
            found = shares(tables[-1])
            self.assert_split(found, 400)
            self.assertIn("Scenarios.Scene.Park()", found)
            # One thread works and one waits, a sixth of a second in six at the most apart.
            work = found["Scenarios.Split.Burn(long)"]
            self.assertAlmostEqual(found["Scenarios.Scene.Park()"] / work, 1, delta=0.25, msg=found)
            idle = top(debuggee.pid, "--count", "1")[1][-1]
            self.assertNotIn("Scenarios.Scene.Park()", shares(idle))

    def test_threads(self):
        with processes.scenario("split") as debuggee:
            status, tables, said = top(debuggee.pid, "--count", "2", "--threads", "--interval", "2")
        self.assertEqual((status, said), (0, ""))
        self.assertEqual(len(tables), 2)
        rows = [line.split() for line in tables[1].splitlines() if "[tid " in line or ", tid " in line]
        self.assertGreaterEqual(len(rows), 1, tables[1])
        self.assertGreater(float(rows[0][0]), 80, tables[1])  # the one that works, by total%
        self.assertRegex(tables[1], r"Burn|clock_gettime")  # it looks at the clock all the time, by chance more there than outside
        self.assertNotIn("…", tables[1])

    def test_nothing_is_shortened_in_a_pipe(self):
        with processes.scenario("split") as debuggee:
            for options in (("-i",), ("-i", "--threads")):
                status, tables, said = top(debuggee.pid, "--count", "1", "--rows", "1000", *options)
                self.assertEqual((status, said), (0, ""))
                self.assertNotIn("…", tables[0])
            self.assertIn("gc%", tables[0])

    def test_a_reader_that_does_not_read(self):
        """Neither a signal nor the time would end a write that waits for it."""
        with processes.scenario("split") as debuggee:
            reader, writer = os.pipe()
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
            process = subprocess.Popen([mixstack_dump.binary(), "top", str(debuggee.pid), "-i", "--interval", "100ms"],
                                       stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True)
            os.close(writer)
            try:
                # A pipe of one page has room for the first table alone.
                self.wait_until(lambda: struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4))[0] > 0, "a table")
                time.sleep(1)
                process.send_signal(signal.SIGINT)
                said = process.communicate(timeout=60)[1]
                self.assertEqual((process.returncode, said), (0, ""))
            finally:
                os.close(reader)

    def test_how_it_ends(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with processes.scenario("split") as debuggee:
                process = subprocess.Popen([mixstack_dump.binary(), "top", "-p", str(debuggee.pid), "--interval", "500ms"],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                while "Scenarios.Split" not in (line := process.stdout.readline()):
                    self.assertNotEqual(line, "", "it has ended")
                process.send_signal(number)
                _, said = process.communicate(timeout=60)
                self.assertEqual((process.returncode, said), (0, ""))
                self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{debuggee.pid}/status").read_text())

    def test_a_process_that_ends(self):
        with processes.scenario("split") as debuggee:
            process = subprocess.Popen([mixstack_dump.binary(), "top", "-p", str(debuggee.pid), "-d", "60",
                                        "--interval", "5"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while process.stdout.readline() != "\n":  # the whole first table
                pass
            os.kill(debuggee.pid, signal.SIGKILL)
            rest, said = process.communicate(timeout=60)
            self.assertEqual(rest, "")  # no table of what is left of an interval
            self.assertEqual(process.returncode, 8, said)
            self.assertEqual(mixstack_dump.codes(said), ["process_changed"])

    def test_a_process_that_becomes_another_program(self):
        busy = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass\n"
        second = busy.format(60) + "# the second program"
        first = busy.format(4) + f"import os, sys\nos.execv(sys.executable, [sys.executable, '-c', {second!r}])"
        process = subprocess.Popen([sys.executable, "-c", first])
        try:
            status, tables, said = top(process.pid, "-d", "9", "--interval", "1")
        finally:
            process.kill()
            process.wait()
        self.assertEqual((status, said), (0, ""))
        self.assertNotIn("the second program", tables[0].splitlines()[0].partition("execv")[0])
        self.assertNotIn("execv", tables[-1].splitlines()[0])
        self.assertGreater(shares(tables[-1], 1).get("_PyEval_EvalFrameDefault", 0), 50, tables[-1])

    def test_what_cannot_be(self):
        with processes.scenario("split") as debuggee:
            pid = str(debuggee.pid)
            for options, status, words in (((), 2, "which process"), (("x",), 2, "not a pid"), ((pid, "1"), 2, "one process"),
                                           (("4194000",), 3, "4194000"), (("-n", "no-such-program"), 3, "no-such-program"),
                                           ((pid, "--interval", "1ms"), 2, "100ms"), ((pid, "--count", "0"), 2, "--count"),
                                           ((pid, "-m", "x"), 2, "--mode")):
                done = subprocess.run([mixstack_dump.binary(), "top", *options], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
                with self.subTest(options=options):
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.assertIn(words, done.stderr)
            with open("/dev/full", "w") as full:
                done = subprocess.run([mixstack_dump.binary(), "top", pid], stdin=subprocess.DEVNULL, stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 9)
            self.assertEqual([(m["code"], m["os_error"]) for m in mixstack_dump.messages(done.stderr)], [("not_written", errno.ENOSPC)])


@unittest.skipIf(pyte is None, "no python3-pyte")
class TopAtATerminal(LiveCase):
    def assert_given_back(self, terminal):
        """As it was: line discipline, the other screen left, the cursor to be seen."""
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)
        self.assertIn(b"\x1b[?1049h", terminal.bytes)
        self.assertGreater(terminal.bytes.rfind(b"\x1b[?1049l"), terminal.bytes.rfind(b"\x1b[?1049h"))
        self.assertGreater(terminal.bytes.rfind(b"\x1b[?25h"), terminal.bytes.rfind(b"\x1b[?25l"))

    def test_keys(self):
        with processes.scenario("split") as debuggee, Terminal(debuggee.pid) as terminal:
            seen = terminal.wait_for("Scenarios.Split.Sixty()", "the functions")
            self.assertIn(f"pid {debuggee.pid} ", seen)
            self.assertIn("self%", seen)
            self.assertNotIn("Scenarios.Scene.Park()", seen)
            terminal.press("/")
            terminal.wait_for("only names with: ", "the line for a filter")
            terminal.press("Split.S")
            seen = terminal.wait_for(lambda text: "Split.Sixty()" in text and "Split.Thirty()" not in text, "the filter")
            terminal.press("\r")
            terminal.wait_for("only Split.S", "the filter in the line above")
            terminal.press("\r")
            terminal.wait_for("callers of Scenarios.Split.Sixty()", "callers")
            terminal.press("/\x15\r")  # Ctrl-U
            seen = terminal.wait_for("Scenarios.Split.Choose(nint)", "who called it")
            terminal.press("\x7f")
            terminal.wait_for(lambda text: "functions, busy" in text and "Split.Thirty()" in text, "back")
            terminal.press("i")
            terminal.wait_for(lambda text: "all threads" in text and "Scenarios.Scene.Park()" in text, "idle threads")
            terminal.press("i")
            terminal.press("t")
            terminal.wait_for(lambda text: "threads, busy" in text and "[" in text and "run%" in text, "threads")
            terminal.press("\x1b[B\x1b[A")
            terminal.press("\r")
            terminal.wait_for("functions of ", "the functions of a thread")
            terminal.press("\x1b")
            terminal.wait_for("threads, busy", "back to threads")
            terminal.press("t")
            terminal.press("w")
            terminal.wait_for("whole run, functions", "the whole run")
            terminal.press("o")
            terminal.wait_for("by total", "another column")
            terminal.press("<")
            terminal.wait_for("by self", "and back")
            terminal.press("s")
            terminal.wait_for("running threads", "states")
            terminal.press("h")
            terminal.wait_for("forget what was counted", "the help")
            terminal.press("x")
            terminal.wait_for("whole run", "the list again")
            terminal.press("q")
            self.assertEqual(terminal.wait_for_end(), (0, ""))
            self.assert_given_back(terminal)

    def test_pause(self):
        with processes.scenario("split") as debuggee, Terminal(debuggee.pid, "--interval", "300ms", "--whole") as terminal:
            counted = re.compile(r"threads, ([\d.]+) s")
            terminal.wait_for("Scenarios.Split", "the functions")
            terminal.press(" ")
            held = counted.search(terminal.wait_for("paused: ", "the pause"))[1]
            elapsed = re.compile(r"^([\d.]+) s, \d+ samples", re.M)
            begin = float(elapsed.search(terminal.text())[1])
            seen = terminal.wait_for(lambda text: float(elapsed.search(text)[1]) > begin + 1.5, "time goes on")
            self.assertEqual(counted.search(seen)[1], held)
            terminal.press(" ")
            terminal.wait_for(lambda text: "paused" not in text and float(counted.search(text)[1]) > float(held) + 1, "more than before")
            terminal.press("q")
            self.assertEqual(terminal.wait_for_end(), (0, ""))

    def test_other_sizes(self):
        with processes.scenario("split") as debuggee, Terminal(debuggee.pid, "--interval", "200ms") as terminal:
            terminal.wait_for("Scenarios.Split", "the functions")
            for columns, lines in ((60, 20), (200, 50), (20, 4), (1, 1), (100, 30)):
                terminal.resize(columns, lines)
                if columns >= 60:
                    terminal.wait_for(lambda text: "Split" in text and "h help" in text.splitlines()[-1], f"{columns} x {lines}")
                else:
                    for _ in range(5):
                        terminal.read(0.2)
            terminal.press("q")
            self.assertEqual(terminal.wait_for_end(), (0, ""))
            self.assert_given_back(terminal)

    def test_signals_and_the_time_give_the_terminal_back(self):
        with processes.scenario("split") as debuggee:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, None):
                with self.subTest(number=number), Terminal(debuggee.pid, *(("-d", "3") if number is None else ())) as terminal:
                    terminal.wait_for("Scenarios.Split", "the functions")
                    if number == signal.SIGINT:
                        terminal.press("\x03")
                    elif number is not None:
                        terminal.process.send_signal(number)
                    self.assertEqual(terminal.wait_for_end(), (0, ""))
                    self.assert_given_back(terminal)

    def test_the_process_ends(self):
        with processes.scenario("split") as debuggee, Terminal(debuggee.pid) as terminal:
            terminal.wait_for("Scenarios.Split", "the functions")
            os.kill(debuggee.pid, signal.SIGKILL)
            status, said = terminal.wait_for_end()
            self.assertEqual(status, 8, said)
            self.assertEqual(mixstack_dump.codes(said), ["process_changed"])
            self.assert_given_back(terminal)

    def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(self):
        with processes.scenario("split") as debuggee, Terminal(debuggee.pid) as terminal:
            terminal.wait_for("Scenarios.Split", "the functions")
            terminal.press("\x1a")
            stat = pathlib.Path(f"/proc/{terminal.process.pid}/stat")
            self.wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "stopped")
            for _ in range(3):
                terminal.read(0.2)
            self.assert_given_back(terminal)
            self.assertNotIn("T", set(processes.thread_states(debuggee.pid).values()), "nobody is held meanwhile")
            terminal.screen.reset()
            terminal.process.send_signal(signal.SIGCONT)
            terminal.wait_for("Scenarios.Split.Sixty()", "the functions again")
            terminal.press("q")
            self.assertEqual(terminal.wait_for_end(), (0, ""))
            self.assert_given_back(terminal)

    def test_a_terminal_that_nobody_knows(self):
        with processes.scenario("split") as debuggee, Terminal(debuggee.pid, "--count", "1", term="no-such-terminal") as terminal:
            status, said = terminal.wait_for_end()
            self.assertEqual(status, 0, said)
            self.assertIn("TERM", said)
            self.assertIn("Scenarios.Split", terminal.text())

    @unittest.skipUnless(os.geteuid() == 0, "needs to be root, to hide files")
    def test_a_system_without_a_list_of_terminals(self):
        hidden = "; ".join(f"test ! -d {path} || mount -t tmpfs none {path}"
                           for path in ("/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"))
        wrapper = ("unshare", "-m", "sh", "-c", f'{hidden}; exec "$0" "$@"')
        with processes.scenario("split") as debuggee, Terminal(debuggee.pid, term="xterm-256color", wrapper=wrapper) as terminal:
            terminal.wait_for("Scenarios.Split", "the functions")
            terminal.press("\x1bOB\x1bOA/Split.S\r")
            terminal.wait_for(lambda text: "only Split.S" in text and "Thirty" not in text, "the filter")
            terminal.press("q")
            self.assertEqual(terminal.wait_for_end(), (0, ""))
            self.assert_given_back(terminal)


if __name__ == "__main__":
    unittest.main()
