#!/usr/bin/env python3
"""Runs the live tests.

  run.py [-k SUBSTRING]... [--timeout SECONDS] [--again N] [--list] [MODULE...]

Each test has a timeout of its own. The last line is "N passed, N failed, N skipped"; the exit status is 0 only when
nothing failed. The command under test comes from MIXSTACK, else the newest build below build/.
"""
import argparse
import pathlib
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402
import debuggee_build  # noqa: E402
import mixstack_dump  # noqa: E402
import processes  # noqa: E402
import witnesses  # noqa: E402


class TestTimeout(Exception):
    """A test took longer than it may."""


class TimedResult(unittest.TestResult):
    """Prints a line per test and interrupts one that takes too long."""

    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.passed = 0
        self._start = 0.0
        signal.signal(signal.SIGALRM, self._late)

    def _late(self, *_):
        raise TestTimeout(f"longer than {self.limit} s")

    def startTest(self, test):
        super().startTest(test)
        self._start = time.monotonic()
        signal.alarm(int(getattr(test, "timeout", self.limit)))

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def _line(self, word, test, text=""):
        name = test.id().removeprefix("test_")
        print(f"{word:4} {time.monotonic() - self._start:6.1f} s  {name}", flush=True)
        if text:
            print("       " + text.rstrip().replace("\n", "\n       "), flush=True)

    def addSuccess(self, test):
        self.passed += 1
        self._line("ok", test)

    def addSkip(self, test, why):
        super().addSkip(test, why)
        self._line("skip", test, why)

    def _add_bad(self, test, error, word):
        kind, value, _ = error
        plain = kind in (AssertionError, TestTimeout, mixstack_dump.DumpError, processes.ProcessError, witnesses.WitnessError)
        text = str(value) if plain else self._exc_info_to_string(error, test)
        self._line(word, test, text[:6000])

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._add_bad(test, error, "FAIL")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._add_bad(subtest, error, "FAIL")

    def addError(self, test, error):
        super().addError(test, error)
        self._add_bad(test, error, "FAIL")


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-k", action="append", default=[], help="only tests whose id contains this")
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--again", type=int, default=0, metavar="N",
                        help="up to N tests that failed run once more, alone; what passes then is named")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    modules = [m.removesuffix(".py") for m in options.modules] or sorted(p.stem for p in HERE.glob("test_*.py"))
    tests = [test for test in flatten(unittest.defaultTestLoader.loadTestsFromNames(modules))
             if not options.k or any(part in test.id() for part in options.k)]
    if options.list:
        print("\n".join(test.id() for test in tests))
        return 0
    debuggee_build.main()
    print(f"mixstack: {mixstack_dump.binary() or 'not built'}")
    result = TimedResult(options.timeout)
    try:
        unittest.TestSuite(tests).run(result)
        failed = {test.id() for test in names_of_failed(result)}
        if 0 < len(failed) <= options.again:
            failed = run_again(failed, options.timeout, result)
    finally:
        harness.close()
    print(f"{result.passed} passed, {len(failed)} failed, {len(result.skipped)} skipped")
    return 1 if failed else 0


def names_of_failed(result):
    """The tests, where parts of them failed."""
    return [getattr(test, "test_case", test) for test, _ in result.failures + result.errors]


def run_again(failed, limit, result):
    """For a machine that does other work beside the tests: what fails by itself fails again. Answers what does."""
    still = set()
    for name in sorted(failed):
        print(f"again  {name}", flush=True)
        again = TimedResult(limit)  # of its own: what a class has set up goes with the last test that one result knows of
        unittest.defaultTestLoader.loadTestsFromName(name).run(again)
        result.passed += again.passed
        if again.passed == 0:  # the set-up of a class is no test that could be run by itself
            still.add(name)
    for name in sorted(failed - still):
        print(f"FAILED ONCE, passed alone: {name}")
    return still


if __name__ == "__main__":
    sys.exit(main())
