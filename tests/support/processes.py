"""Starting, stopping and always ending the processes a test looks at."""
import os
import pathlib
import select
import signal
import subprocess
import time
import unittest

import debuggee_build

STOPPED = "Tt"


class ProcessError(Exception):
    """A debuggee did not do what the test needs."""


def _stat_state(path):
    try:
        return pathlib.Path(path).read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return None


def thread_states(pid):
    """tid -> kernel state letter, for the threads that still exist."""
    states = {}
    for entry in os.listdir(f"/proc/{pid}/task"):
        state = _stat_state(f"/proc/{pid}/task/{entry}/stat")
        if state is not None:
            states[int(entry)] = state
    return states


def is_ours(pid):
    """Whether it is of our session: other workers' tests have theirs (worker_pool.py)."""
    try:
        return os.getsid(pid) == os.getsid(0)
    except OSError:
        return False


def mappings(pid):
    """(begin, end) of each mapping."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [tuple(int(part, 16) for part in line.split(None, 1)[0].split("-")) for line in lines]


def huge_pages_in_stacks(pid):
    """Bytes of huge pages in mappings that threads have their stacks in: some kernels make one mapping of a stack and its
    neighbour, and one huge page of parts of both."""
    calls = (pathlib.Path(entry, "syscall").read_text().split() for entry in pathlib.Path(f"/proc/{pid}/task").iterdir())
    pointers = [int(call[-2], 16) for call in calls if len(call) > 2]
    found, holds_one = 0, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        key, *values = line.split()
        if "-" in key and not key.endswith(":"):
            begin, end = (int(part, 16) for part in key.split("-"))
            holds_one = any(begin <= p < end for p in pointers)
        elif key == "AnonHugePages:" and holds_one:
            found += int(values[0]) * 1024
    return found


class Debuggee:
    """A process under test. Use as a context manager: it is killed and reaped on the way out, stopped or not."""

    def __init__(self, command, environment=None, ready_timeout=90.0, cwd=None):
        merged = dict(os.environ)
        # Settings of the caller's shell must not decide what the scenario is.
        for name in list(merged):
            if name.startswith(("DOTNET_Tiered", "DOTNET_ReadyToRun", "DOTNET_gc", "DOTNET_Enable", "COMPlus_")):
                del merged[name]
        merged.update(environment or {})
        self.command = [str(part) for part in command]
        self._process = subprocess.Popen(self.command, env=merged, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, cwd=cwd)
        self._buffer = b""
        self.pid = self._process.pid
        self.lines = []  # what it says of itself before it is ready
        try:
            line = self.read_line(ready_timeout)  # a scenario itself waits a minute for its threads
            while line.startswith(("TRUTH ", "COUNT ")):
                self.lines.append(line)
                line = self.read_line(ready_timeout)
            if not line.startswith("READY "):
                raise ProcessError(f"{self.command} said {line!r} instead of READY")
            self.ready = line
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def read_line(self, timeout=60.0):
        """The next line of standard output."""
        deadline = time.monotonic() + timeout
        stream = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise ProcessError(f"{self.command} said nothing for {timeout} s")
            piece = os.read(stream, 65536)
            if not piece:
                raise ProcessError(f"{self.command} ended with status {self._process.wait()}")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def ask(self, question, timeout=60.0):
        """Sends one line, returns the answer line."""
        self._process.stdin.write(question.encode() + b"\n")
        self._process.stdin.flush()
        return self.read_line(timeout)

    def stop(self, timeout=60.0, excused=()):
        """Stops the whole group and waits until every thread (but the excused tids) stands in state T or t."""
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + timeout
        while True:
            moving = {t: s for t, s in thread_states(self.pid).items() if s not in STOPPED and t not in excused}
            if not moving:
                return
            if time.monotonic() > deadline:
                raise ProcessError(f"threads of {self.pid} do not stop: {moving}")
            time.sleep(0.002)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def is_alive(self):
        return self._process.poll() is None

    def wait(self, timeout):
        """The exit status of a process that ends by itself."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired as late:
            raise ProcessError(f"{self.command} did not end within {timeout} s") from late

    def end(self):
        """Kills this one process, whatever state it is in, and reaps it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


def scenario(name, *arguments, environment=None, cwd=None):
    """A scenario of the .NET debuggee."""
    return Debuggee([debuggee_build.SCENARIOS, name, *map(str, arguments)], environment, cwd=cwd)


def native(name, *arguments):
    """One of the native debuggees. Most are of glibc: musl's usual mutexes, for one, record no owner."""
    if "MIXSTACK_MUSL" in os.environ and not (debuggee_build.NATIVE / name).exists():
        raise unittest.SkipTest(f"{name} is not built for musl")
    return Debuggee([debuggee_build.NATIVE / name, *map(str, arguments)])


def scenario_names():
    """What there is."""
    done = subprocess.run([debuggee_build.SCENARIOS], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=True)
    return done.stdout.split()
