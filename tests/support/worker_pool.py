"""Workers that run tests side by side (tests/live/worker.py), each in a session of its own; one that dies or hangs costs
the test it was running, and nothing else."""
import collections
import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "live" / "worker.py"
LOGS = pathlib.Path(__file__).resolve().parents[2] / "build" / "test-logs"
GRACE = 60  # seconds above a test's own limit until its worker counts as hung
PATIENCE = 15  # seconds that a worker has to end what it started


def family(pid):
    """All processes below one, and those of its session: what it started, and what that left behind."""
    children, found = collections.defaultdict(list), set()
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has gone
        children[int(fields[1])].append(int(entry.parent.name))
        if int(fields[3]) == pid:
            found.add(int(entry.parent.name))
    left = [pid]
    while left:
        below = children[left.pop()]
        found.update(below)
        left += below
    return found


class Unit:
    """Tests that one worker runs one after the other: {name: seconds that it may take}."""

    def __init__(self, limits, seconds=0.0, alone=None):
        self.limits, self.seconds, self.alone = limits, seconds, alone


class Worker:
    def __init__(self, number, limit):
        self.limit = limit
        self.log = LOGS / f"live-worker-{number}.log"
        LOGS.mkdir(parents=True, exist_ok=True)
        commands, self._commands = os.pipe()
        self.events, events = os.pipe()
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen([sys.executable, "-u", PROGRAM, str(commands), str(events), str(limit)],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                             pass_fds=(commands, events))
        os.close(commands)
        os.close(events)
        self._rest = b""
        self.left, self.running, self.since, self.may = None, None, 0.0, limit

    def give(self, limits):
        self.left, self.running, self.since, self.may = dict(limits), None, time.monotonic(), self.limit
        os.write(self._commands, json.dumps(list(limits)).encode() + b"\n")

    def read(self):
        """Events that have come; None: there will be no more."""
        piece = os.read(self.events, 1 << 16)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [json.loads(line) for line in lines] if piece else None

    def note(self, event):
        """Keeps account of what runs, and what is still to come."""
        self.since = time.monotonic()
        if "begin" in event:
            self.running = event["begin"]
            self.may = self.left.get(self.running, self.limit)
        elif "test" in event:
            self.left.pop(event["test"], None)
            self.running, self.may = None, self.limit
        elif "done" in event:
            self.left = None

    def is_hung(self):
        return self.left is not None and time.monotonic() - self.since > self.may + GRACE

    def has_ended(self):
        return self._process.poll() is not None

    def has_more(self):
        return bool(select.select([self.events], [], [], 0)[0])

    def kill(self):
        """With all it has started; answers its status."""
        below = family(self._process.pid)
        self._process.kill()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self.close()

    def end(self):
        """Tells it to end what it has started, and itself."""
        if self._process.poll() is None:
            self._process.terminate()

    def wait(self, deadline):
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def close(self):
        status = self._process.wait()
        if self.events is not None:
            os.close(self.events)
            os.close(self._commands)
            self.events = None
        return status

    def last_words(self):
        return self.log.read_text(errors="replace")[-2000:].strip()


class Pool:
    """`tell(event)` gets each event of a test that has ended: test, outcome, seconds, skips, failure, text."""

    def __init__(self, limit, tell):
        self._limit, self._tell = limit, tell
        self._workers, self._number = [], 0

    def run(self, units, workers):
        """All units, by so many workers."""
        queue = collections.deque(units)
        while queue or any(w.left is not None for w in self._workers):
            idle = [w for w in self._workers if w.left is None]
            while queue and (idle or len(self._workers) < workers):
                (idle.pop() if idle else self._start()).give(queue.popleft().limits)
            ready, _, _ = select.select([w.events for w in self._workers], [], [], 1.0)
            for worker in list(self._workers):
                if worker.is_hung():
                    worker.kill()
                    self._lose(worker, queue, f"longer than {worker.may:.0f} s, and its worker had to be killed")
                elif worker.events in ready or worker.has_ended():
                    self._take(worker, queue)
        self._shrink()

    def _shrink(self):
        """One worker stays, for what comes next."""
        spare, self._workers = self._workers[1:], self._workers[:1]
        self._end(spare)

    @staticmethod
    def _end(workers):
        for worker in workers:
            worker.end()
        deadline = time.monotonic() + PATIENCE
        for worker in workers:
            worker.wait(deadline)

    def close(self):
        """Ends all, and what they started."""
        self._end(self._workers)
        self._workers = []

    def _start(self):
        self._number += 1
        self._workers.append(Worker(self._number, self._limit))
        return self._workers[-1]

    def _take(self, worker, queue):
        """What a worker has told; where it has ended, that, too."""
        had_ended = worker.has_ended()
        events = worker.read() if not had_ended or worker.has_more() else None
        if events is None:
            status = worker.kill()
            self._lose(worker, queue, f"its worker ended with status {status}: {worker.last_words()}")
            return
        for event in events:
            worker.note(event)
            if "test" in event:
                self._tell(event)

    def _lose(self, worker, queue, why):
        """What the worker was running has failed; what it had still to run, others do."""
        self._workers = [w for w in self._workers if w is not worker]
        left = worker.left or {}
        lost = [worker.running] if worker.running else list(left)  # between tests it was the set-up of a class
        for name in lost:
            left.pop(name, None)
            self._tell({"test": name, "outcome": "failed", "seconds": time.monotonic() - worker.since, "skips": 0, "failure": why,
                        "text": f"FAIL {time.monotonic() - worker.since:6.1f} s  {name.removeprefix('test_')}\n       {why}\n"})
        if left:
            queue.appendleft(Unit(left))
