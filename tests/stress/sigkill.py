#!/usr/bin/env python3
"""Kills `mixstack dump` at random instants and looks whether the target noticed.

  sigkill.py [--kills 1000] [--seed 1]

The target is tests/debuggees/Churn, busy and with threads that come and go. Half of the kills are spread over the whole
run time of the command, measured first; half wait until the target is traced and come within the stop. A sender queues
signals to the target's threads all the while. After each kill: no thread is traced, none is in state t or T, the program
makes progress; at the end every signal was delivered. The last lines are the totals; the exit status is 0 when all held.
"""
import argparse
import collections
import ctypes
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import debuggee_build  # noqa: E402
import mixstack_dump  # noqa: E402
import processes  # noqa: E402

COUNTED = 40   # the real-time signal that Churn counts
_PR_SET_PDEATHSIG, _TGKILL = 1, 234
_libc = ctypes.CDLL(None, use_errno=True)


class Traced(Exception):
    """A thread was left traced or stopped."""


def _status(pid, tid):
    """(state letter, TracerPid) of a thread, None when it has gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return fields["State"].split()[0], int(fields["TracerPid"])


def held_threads(pid):
    """Threads that are traced or stopped."""
    held = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        status = _status(pid, tid)
        if status and (status[0] in "tT" or status[1] != 0):
            held[int(tid)] = status
    return held


class Sender:
    """A process that queues one signal after the other to the target's steady threads until it is told to end."""

    def __init__(self, pid, seed):
        steady = [tid for tid in processes.thread_states(pid) if self._comm(pid, tid).startswith("s")]
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                self._send(pid, steady, random.Random(seed), write)
            finally:
                os._exit(1)
        os.close(write)

    @staticmethod
    def _comm(pid, tid):
        try:
            return pathlib.Path(f"/proc/{pid}/task/{tid}/comm").read_text()
        except OSError:
            return ""

    @staticmethod
    def _send(pid, steady, dice, write):
        sent, over = 0, []
        signal.signal(signal.SIGTERM, lambda *_: over.append(1))
        while not over:
            # A queue that is full refuses; what was accepted must arrive.
            sent += _libc.syscall(_TGKILL, pid, dice.choice(steady), COUNTED) == 0
            time.sleep(0.001)
        os.write(write, str(sent).encode())

    def end(self):
        """Number of signals sent."""
        os.kill(self.pid, signal.SIGTERM)
        sent = int(os.read(self._read, 64) or b"-1")
        os.waitpid(self.pid, 0)
        os.close(self._read)
        return sent


class Killer:
    """Counts what the kills hit."""

    def __init__(self, program, dice):
        self.program = program
        self.dice = dice
        self.hits = collections.Counter()
        self.too_late = 0
        self.slowest_release = 0.0
        self.run_times = sorted(self._run_time() for _ in range(15))

    def _start(self):
        return subprocess.Popen([str(mixstack_dump.binary()), "dump", str(self.program.pid), "--json"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _run_time(self):
        start = time.monotonic()
        status = self._start().wait()
        if status not in (0, 7):
            raise Traced(f"an undisturbed dump ended with status {status}")
        return time.monotonic() - start

    def typical(self):
        return self.run_times[len(self.run_times) // 2]

    def _is_traced(self):
        status = _status(self.program.pid, self.program.pid)
        return bool(status and status[1])

    def _wait_for_stop(self, command):
        while command.poll() is None and not self._is_traced():
            pass

    def kill_once(self, in_stop):
        start = time.monotonic()
        command = self._start()
        if in_stop:
            self._wait_for_stop(command)
            pause = self.dice.uniform(0, 0.0005)
        else:
            pause = max(0.0, self.dice.uniform(0, self.typical()) - (time.monotonic() - start))
        if pause:
            time.sleep(pause)
        traced = self._is_traced()
        command.kill()
        is_hit = command.wait() == -signal.SIGKILL
        if is_hit:
            self.hits["while threads were traced" if traced else "at another instant"] += 1
        else:
            self.too_late += 1
        self.look()
        return is_hit

    def look(self):
        """The threads of a killed tracer are free when it has been reaped."""
        start = time.monotonic()
        held = held_threads(self.program.pid)
        while held and time.monotonic() - start < 5:
            time.sleep(0.001)
            held = held_threads(self.program.pid)
        if held:
            raise Traced(f"threads still held after 5 s: {held}")
        self.slowest_release = max(self.slowest_release, time.monotonic() - start)


def progress(program):
    return int(program.ask("progress", 30).split()[1])


def run(kills, seed):
    """Answers the lines to print; raises when something was wrong."""
    dice = random.Random(seed)
    with processes.Debuggee([debuggee_build.CHURN, 14, 10, 20, seed], ready_timeout=60) as program:
        killer, sender = Killer(program, dice), Sender(program.pid, seed)
        last, slowest = progress(program), 0.0
        i = 0
        while i < kills:
            i += killer.kill_once(in_stop=(i + killer.too_late) % 2 == 1)
            start, now = time.monotonic(), progress(program)
            while now <= last:
                if time.monotonic() - start > 10:
                    raise Traced(f"no progress for 10 s after kill {i}")
                time.sleep(0.002)
                now = progress(program)
            last, slowest = now, max(slowest, time.monotonic() - start)
        sent, got, deadline = sender.end(), -1, time.monotonic() + 10
        while got != sent and time.monotonic() < deadline:
            got = int(program.ask("signals", 30).split()[1])
        if got != sent:
            raise Traced(f"{sent} signals sent, {got} delivered")
        held = held_threads(program.pid)
        if held:
            raise Traced(f"held at the end: {held}")
    times = killer.run_times
    return [f"undisturbed runs: {times[0] * 1000:.1f} to {times[-1] * 1000:.1f} ms",
            f"{kills} kills: " + ", ".join(f"{n} {what}" for what, n in killer.hits.most_common())
            + f" (and {killer.too_late} that came too late, not counted)",
            f"0 threads left traced or stopped (all free within {killer.slowest_release * 1000:.1f} ms of the tracer's end); "
            f"progress after every kill (within {slowest * 1000:.0f} ms); {sent} signals sent, {got} delivered"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    debuggee_build.main()
    print(f"mixstack: {mixstack_dump.binary()}", flush=True)
    try:
        print("\n".join(run(options.kills, options.seed)))
    except Traced as wrong:
        print(f"FAILED: {wrong}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
