"""Programs with one performance fault (tests/debuggees/Slow): what they count themselves, and what the kernel counts of
them. Neither asks mixstack."""
import json
import os
import pathlib
import select
import tempfile
import time

import debuggee_build
import processes

TICK = 1000 / os.sysconf("SC_CLK_TCK")  # milliseconds


def _words(path):
    try:
        return pathlib.Path(path).read_text().split()
    except OSError:  # a thread that has ended
        return []


def _field(path, name):
    """The number of a line "name: number ..."."""
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise KeyError(name)


def tasks(pid):
    return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]


def kernel_counts(pid):
    """What only grows, by /proc."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    clocks = [[int(n) / 1e6 for n in _words(f"/proc/{pid}/task/{tid}/schedstat")[:2]] for tid in tasks(pid)]
    return {"minor_faults": int(stat[7]), "child_faults": int(stat[8]), "user_ms": int(stat[11]) * TICK, "system_ms": int(stat[12]) * TICK,
            "write_calls": _field(f"/proc/{pid}/io", "syscw"), "written": _field(f"/proc/{pid}/io", "wchar"),
            "ran_ms": sum(c[0] for c in clocks if c), "ready_ms": sum(c[1] for c in clocks if c),
            "anonymous": _field(f"/proc/{pid}/status", "RssAnon") * 1024}


def calls_of(pid, name=None):
    """What /proc says of the system calls that threads are in (of those with this name), in words; the last two are the stack
    pointer and the program counter. Running threads are left out."""
    found = []
    for tid in tasks(pid):
        words = _words(f"/proc/{pid}/task/{tid}/syscall")
        if len(words) > 2 and (name is None or _words(f"/proc/{pid}/task/{tid}/comm") == name.split()):
            found.append(words)
    return found


def system_calls(pid, name=None):
    """The numbers of these calls."""
    return [int(words[0]) for words in calls_of(pid, name) if words[0] != "-1"]


class Slow(processes.Debuggee):
    """A program with a fault. Its files are below build/, on a disk: a flush to memory costs nothing."""

    def __init__(self, scenario, environment=None, before=()):
        program = debuggee_build.slow()
        self._folder = tempfile.TemporaryDirectory(prefix="slow-", dir=debuggee_build.BUILD)  # pylint: disable=consider-using-with
        self.folder = pathlib.Path(self._folder.name)
        super().__init__([*before, program, scenario], environment, cwd=self.folder)

    def end(self):
        super().end()
        self._folder.cleanup()

    def pass_over(self):
        """Leaves out what it has said already, so that no pipe fills."""
        while select.select([self._process.stdout.fileno()], [], [], 0)[0]:
            self.read_line()
        self._buffer = self._buffer.rpartition(b"\n")[2]

    def second(self, seconds=1):
        """(what it counted in the next second, what the kernel did meanwhile), each a second."""
        self.pass_over()
        self.read_line()
        begin, before = time.monotonic(), kernel_counts(self.pid)
        told = [json.loads(self.read_line()) for _ in range(seconds)]
        passed, after = time.monotonic() - begin, kernel_counts(self.pid)
        kernel = {name: (after[name] - before[name]) / passed for name in after}
        return {name: value if isinstance(value, str) else sum(t[name] for t in told) / seconds for name, value in told[-1].items()}, kernel


def wants(kernel):
    """Processors that it would use if it had the machine for itself."""
    return (kernel["ran_ms"] + kernel["ready_ms"]) / 1000
