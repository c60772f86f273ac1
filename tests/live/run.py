#!/usr/bin/env python3
"""Runs the live tests, side by side in workers; what needs the machine for itself (harness.alone) comes after the rest.

  run.py [-k SUBSTRING]... [--timeout SECONDS] [--workers N] [--again N] [--runtime 11] [--list] [MODULE...]

Each test has a timeout of its own. The last line is "N passed, N failed, N skipped"; the exit status is 0 only when
nothing failed. The command under test comes from MIXSTACK, else the newest build below build/. The number of workers
comes from MIXSTACK_TEST_WORKERS, else from that of the processors. --runtime (or MIXSTACK_RUNTIME) has the programs run
on a release that is newer than the SDK; its package comes from the registry.
"""
import argparse
import contextlib
import json
import os
import pathlib
import resource
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def choose_runtime():
    """Modules go by it when they are loaded."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--runtime", default=os.environ.get("MIXSTACK_RUNTIME", ""))
    os.environ["MIXSTACK_RUNTIME"] = parser.parse_known_args()[0].runtime


choose_runtime()

import harness  # noqa: E402, F401 -- finds tests/support
import cores  # noqa: E402
import debuggee_build  # noqa: E402
import flaky_list  # noqa: E402
import hostings  # noqa: E402
import mixstack_dump  # noqa: E402
import worker_pool  # noqa: E402

TIMES = worker_pool.LOGS / "live-seconds.json"  # of each test, as it last passed
ROUGHLY = 2.0  # seconds, of a test without a record


class Totals:
    """What came of the tests, line by line."""

    def __init__(self):
        self.passed = self.skipped = 0
        self.failed, self.seconds = {}, {}  # by the tests' names: what the failure said; how long it took

    def tell(self, event):
        print(event["text"], end="", flush=True)
        name, outcome = event["test"], event["outcome"]
        self.skipped += event["skips"]
        self.passed += outcome == "passed"
        if outcome == "failed":
            self.failed[name] = event["failure"]
        else:
            self.seconds[name] = round(event["seconds"], 2)


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def name_of(test):
    """By which it is found again; of a module that cannot be loaded, the module's."""
    is_broken = type(test).__module__ == "unittest.loader"
    return test.id().rpartition(".")[2] if is_broken else test.id()


def has_set_up(test):
    return getattr(type(test).setUpClass, "__func__", None) is not unittest.TestCase.setUpClass.__func__


def recorded_times():
    try:
        return json.loads(TIMES.read_text())
    except (OSError, ValueError):
        return {}


def units_of(tests, limit):
    """Tests of a class that has a set-up go together, others one by one; the longest first."""
    times, together = recorded_times(), {}
    for test in tests:
        method = getattr(test, test._testMethodName)
        why = getattr(method, "alone", None) or getattr(test, "alone", None)
        key = (type(test), why) if has_set_up(test) else name_of(test)
        may = float(getattr(method, "timeout", getattr(test, "timeout", limit)))
        unit = together.setdefault(key, worker_pool.Unit({}, alone=why))
        unit.limits[name_of(test)] = may
        # Those that are given more time are longer ones.
        unit.seconds += times.get(name_of(test), ROUGHLY * may / limit)
    units = sorted(together.values(), key=lambda unit: -unit.seconds)
    return [u for u in units if not u.alone], [u for u in units if u.alone]


@contextlib.contextmanager
def machine_ready():
    """One place for what workers must not do to each other: where the kernel writes cores is set once."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if mixstack_dump.binary() is not None:
        os.environ["MIXSTACK"] = str(mixstack_dump.binary().absolute())
    if cores.kernel_obstacle() is not None:
        yield
        return
    with cores.kernel_writes_files():
        # Tests that want a core say so themselves.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        yield


@contextlib.contextmanager
def nothing_beside():
    """Builds that .ci/run has beside the tests stand still: their process group is in MIXSTACK_BUILDS_BESIDE."""
    group = int(os.environ.get("MIXSTACK_BUILDS_BESIDE", "0"))
    if group <= 1:
        yield
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGCONT)


def run_all(tests, options, totals):
    beside, alone = units_of(tests, options.timeout)
    pool = worker_pool.Pool(options.timeout, totals.tell)
    try:
        if options.workers == 1:  # in their order
            order = {name_of(test): i for i, test in enumerate(tests)}
            beside = sorted(beside + alone, key=lambda unit: order[next(iter(unit.limits))])
            alone = []
        for units, workers, how in ((beside, options.workers, "side by side"), (alone, 1, "alone")):
            begin = time.monotonic()
            with nothing_beside() if units is alone else contextlib.nullcontext():
                pool.run(units, workers)
            if units:
                count = sum(len(unit.limits) for unit in units)
                print(f"-- {count} tests {how if workers > 1 else 'alone'}: {time.monotonic() - begin:.0f} s", flush=True)
        if 0 < len(totals.failed) <= options.again:
            run_again(pool, tests, options.timeout, totals)
    finally:
        pool.close()
    TIMES.parent.mkdir(parents=True, exist_ok=True)
    TIMES.write_text(json.dumps(recorded_times() | totals.seconds, indent=0, sort_keys=True))


def run_again(pool, tests, limit, totals):
    """For a machine that does other work beside the tests: what fails by itself fails again."""
    failures, totals.failed = dict(totals.failed), {}
    for name, failure in failures.items():
        # Where the set-up of a class failed, none of its tests has run.
        again = [test for test in tests if name in (name_of(test), f"setUpClass ({name_of(test).rpartition('.')[0]})")]
        print(f"again  {name}", flush=True)
        before = totals.passed
        with nothing_beside():
            pool.run([worker_pool.Unit({name_of(test): float(getattr(test, "timeout", limit)) for test in again})], 1)
        if again and totals.passed - before == len(again):
            flaky_list.note(f"live/{name}", failure)
        else:
            totals.failed.setdefault(name, failure)


def build_programs(are_all_wanted):
    debuggee_build.main()
    if are_all_wanted and not debuggee_build.RUNTIME and not os.environ.get("MIXSTACK_PREBUILT"):
        debuggee_build.others()
        for how in hostings.PUBLISHED if debuggee_build.have_dotnet() else ():
            with contextlib.suppress(RuntimeError):
                hostings.build(how)


def default_workers():
    """Tests sleep most of their time. Emulated, one is enough for a processor."""
    usual = 1 if "MIXSTACK_ARM64" in os.environ else min(8, 2 * len(os.sched_getaffinity(0)))
    return int(os.environ.get("MIXSTACK_TEST_WORKERS") or usual)


def parsed_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-k", action="append", default=[], help="only tests whose id contains this")
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--workers", type=int, default=default_workers(), help="1: one after the other, in their order")
    parser.add_argument("--again", type=int, default=0, metavar="N",
                        help="where no more than N tests failed, each runs once more, alone; what passes then is named and kept in a list")
    parser.add_argument("--runtime", default="", metavar="RELEASE", help="of the programs, when it is not the SDK's: 11")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    options = parsed_options()
    modules = [m.removesuffix(".py") for m in options.modules] or sorted(p.stem for p in HERE.glob("test_*.py"))
    tests = [test for test in flatten(unittest.defaultTestLoader.loadTestsFromNames(modules))
             if not options.k or any(part in test.id() for part in options.k)]
    if options.list:
        print("\n".join(test.id() for test in tests))
        return 0
    build_programs(not options.modules and not options.k)
    print(f"mixstack: {mixstack_dump.binary() or 'not built'}")
    totals = Totals()
    try:
        with machine_ready():
            run_all(tests, options, totals)
    except KeyboardInterrupt:
        print("interrupted")
        totals.failed.setdefault("interrupted", "")
    print(f"{totals.passed} passed, {len(totals.failed)} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
