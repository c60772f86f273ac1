#!/usr/bin/env python3
"""A process that runs live tests for run.py: worker.py COMMANDS EVENTS LIMIT

COMMANDS and EVENTS are descriptors of pipes. A command is a line of JSON, the names of tests that go together; events are
lines of JSON, too: of each test that begins and that ends, and of the end of a command. SIGTERM ends the worker and what
its test has started.
"""
import ctypes
import io
import json
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402
import mixstack_dump  # noqa: E402
import processes  # noqa: E402
import witnesses  # noqa: E402

_PR_SET_PDEATHSIG = 1
_PLAIN = (AssertionError, mixstack_dump.DumpError, processes.ProcessError, witnesses.WitnessError)


class TestTimeout(Exception):
    """A test took longer than it may."""


class Events:
    """Lines for run.py; children that tests fork have nothing to say there."""

    def __init__(self, descriptor):
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._pid = os.getpid()

    def send(self, **event):
        if os.getpid() == self._pid:
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()


class TimedResult(unittest.TestResult):
    """Tells of each test, with all that was printed, and interrupts one that takes too long."""

    def __init__(self, events, limit):
        super().__init__()
        self._events, self._limit = events, limit
        self._may = limit  # what runs now
        self._said = io.StringIO()
        self._begin()
        signal.signal(signal.SIGALRM, self._late)
        signal.alarm(limit)

    def _begin(self):
        self._start = time.monotonic()
        self._outcome, self._skips, self._failure = None, 0, ""

    def _late(self, *_):
        raise TestTimeout(f"longer than {self._may} s")

    def _limit_of(self, test):
        method = getattr(test, getattr(test, "_testMethodName", ""), None)
        return int(getattr(method, "timeout", getattr(test, "timeout", self._limit)))

    def startTest(self, test):
        super().startTest(test)
        self._begin()
        self._events.send(begin=test.id())
        sys.stdout = self._said
        self._may = self._limit_of(test)
        signal.alarm(self._may)

    def stopTest(self, test):
        self._may = self._limit  # of what comes between tests
        signal.alarm(self._may)
        sys.stdout = sys.__stdout__
        super().stopTest(test)
        self._tell(test)

    def _tell(self, test):
        self._events.send(test=test.id(), outcome=self._outcome or "skipped", skips=self._skips, failure=self._failure,
                          seconds=time.monotonic() - self._start, text=self._said.getvalue())
        self._said.seek(0)
        self._said.truncate()

    def _line(self, word, test, text=""):
        name = test.id().removeprefix("test_")
        self._said.write(f"{word:4} {time.monotonic() - self._start:6.1f} s  {name}\n")
        if text:
            self._said.write("       " + text.rstrip().replace("\n", "\n       ") + "\n")

    def addSuccess(self, test):
        self._outcome = self._outcome or "passed"
        self._line("ok", test)

    def addSkip(self, test, why):
        super().addSkip(test, why)
        self._skips += 1
        self._line("skip", test, why)
        if not self._is_in_a_test(test):
            self._tell(test)

    def _add_bad(self, test, error):
        kind, value, _ = error
        text = str(value) if issubclass(kind, (*_PLAIN, TestTimeout)) else self._exc_info_to_string(error, test)
        self._outcome, self._failure = "failed", self._failure or text[:6000]
        self._line("FAIL", test, text[:6000])
        if not self._is_in_a_test(test):
            self._tell(test)

    @staticmethod
    def _is_in_a_test(test):
        """What fails or is skipped may be the set-up of a class, which neither begins nor ends."""
        return isinstance(test, unittest.TestCase)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._add_bad(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._add_bad(subtest, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._add_bad(test, error)


def run(names, events, limit):
    result = TimedResult(events, limit)
    unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in names).run(result)
    signal.alarm(0)


def end(*_):
    raise KeyboardInterrupt


def main():
    commands, descriptor, limit = map(int, sys.argv[1:])
    for pipe in (commands, descriptor):
        os.set_inheritable(pipe, False)
    signal.signal(signal.SIGTERM, end)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    events = Events(descriptor)
    try:
        for line in os.fdopen(commands, encoding="utf-8"):
            run(json.loads(line), events, limit)
            events.send(done=True)
    except KeyboardInterrupt:
        return 130
    finally:
        harness.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
