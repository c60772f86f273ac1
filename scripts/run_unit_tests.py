#!/usr/bin/env python3
"""Runs the tests of a build: run_unit_tests.py [--each] [--again N] [--timeout SECONDS] BUILD [CTEST'S CHOICE...]

Each program of unit tests runs once as a whole, several side by side, and its test cases are counted one by one. Where a
program ends in the middle, the test case that was running has failed, and another run of the program does the rest. The
other tests of the build run through ctest, which is asked what there is: -L, -R and the like choose. With --each every test
case is a process of its own, as ctest has it. JOBS says how many run at once. Prints what fails; the last line is "N passed,
N failed, N skipped".
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import flaky_list  # noqa: E402

LOGS = ROOT / "build" / "test-logs"
TIMES = LOGS / "unit-seconds.json"  # of each program, as it last ran
# What a test prints may stand before them in their lines.
BEGIN = re.compile(r"\[ RUN      \] (\S+)$")
END = re.compile(r"\[(       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)(?:, where .*)? \(\d+ ms\)$")
ALL = re.compile(r"^\[==========\] (\d+) tests? from .* ran\.")
OUTCOMES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


running = set()  # processes of programs


def kill(process):
    """With what it has started."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass


class Totals:
    def __init__(self):
        self.passed = self.skipped = 0
        self.failed = {}  # by name: (what was said, how to run it alone)
        self._lock = threading.Lock()

    def add(self, name, outcome, said, again):
        with self._lock:
            self.passed += outcome == "passed"
            self.skipped += outcome == "skipped"
            if outcome == "failed":
                self.failed[name] = (said, again)
                print(f"FAIL {name}\n     " + said.strip()[-4000:].replace("\n", "\n     "), flush=True)


class Program:
    """A program of unit tests: where it runs, with what, and which of its test cases."""

    def __init__(self, path, properties):
        self.path, self.cases = path, []
        self.folder = properties.get("WORKING_DIRECTORY")
        self.environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
        self.timeout = float(properties.get("TIMEOUT", 120))

    @property
    def name(self):
        return pathlib.Path(self.path).name

    def start(self, cases):
        with tempfile.NamedTemporaryFile("w", suffix=".flags") as flags:
            flags.write("--gtest_filter=" + ":".join(cases) + "\n")
            flags.flush()
            process = subprocess.Popen([self.path, "--gtest_color=no", f"--gtest_flagfile={flags.name}"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       cwd=self.folder, env={**os.environ, **self.environment}, text=True, errors="replace",
                                       start_new_session=True)
            first = process.stdout.readline()  # it has read its flags
        return process, first


class Run:
    """One run of a program; the test cases that it ended are in `ended`."""

    def __init__(self, program, cases, totals):
        self._program, self._totals = program, totals
        self.ended, self.failures, self.counted = set(), 0, None
        self._running, self._said, self._late = None, [], False
        self._process, first = program.start(cases)
        running.add(self._process)
        self._watch()
        self._read(first)
        for line in self._process.stdout:
            self._read(line)
        self._process.stdout.close()
        self.status = self._process.wait()
        self._timer.cancel()
        running.discard(self._process)
        if self._running is not None:
            why = f"longer than {program.timeout:.0f} s" if self._late else f"{program.name} ended with status {self.status}"
            self._end(self._running, "failed", why)

    def _watch(self):
        self._timer = threading.Timer(self._program.timeout, self._kill)
        self._timer.daemon = True
        self._timer.start()

    def _kill(self):
        self._late = True
        kill(self._process)

    def _read(self, line):
        text = line.rstrip("\n")
        if found := BEGIN.search(text):
            self._timer.cancel()
            self._watch()
            self._running, self._said = found[1], []
        elif (found := END.search(text)) and found[2] == self._running:
            self._end(self._running, OUTCOMES[found[1].strip()])
        elif found := ALL.match(text):
            self.counted = int(found[1])
        else:
            self._said.append(line)

    def _end(self, name, outcome, why=""):
        self.ended.add(name)
        self.failures += outcome == "failed"
        self._totals.add(name, outcome, "".join(self._said) + why, (self._program, name))
        self._running, self._said = None, []

    def last_words(self):
        return "".join(self._said)[-2000:]


def run_program(program, cases, totals):
    """All of the cases, in as many runs as it takes."""
    left = list(cases)
    while left:
        ran = Run(program, left, totals)
        left = [case for case in left if case not in ran.ended]
        if ran.counted not in (None, len(ran.ended)):
            totals.add(f"{program.name}.Count", "failed", f"it ran {ran.counted} test cases, and told of {len(ran.ended)}", None)
        if left and (ran.counted is not None or not ran.ended):
            why = f"{program.name} did not run it, and ended with status {ran.status}: {ran.last_words()}"
            for case in left:
                totals.add(case, "failed", why, (program, case))
            break
        if not left and ran.status != 0 and ran.failures == 0:
            totals.add(f"{program.name}.End", "failed", f"it ended with status {ran.status}: {ran.last_words()}", None)


def chosen_tests(build, choice):
    """(programs of unit tests, {name of another test: whether it runs alone}) that ctest would run."""
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *choice], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=True)
    programs, others = {}, {}
    for test in json.loads(done.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        command = test.get("command", [])
        case = next((word.partition("=")[2] for word in command if word.startswith("--gtest_filter=")), None)
        if case is None or "unit" not in properties.get("LABELS", []):
            others[test["name"]] = bool(properties.get("RUN_SERIAL"))
        elif not properties.get("DISABLED"):
            programs.setdefault(command[0], Program(command[0], properties)).cases.append(case)
    return list(programs.values()), others


def recorded_times():
    try:
        return json.loads(TIMES.read_text())
    except (OSError, ValueError):
        return {}


def parts_of(programs, others, jobs):
    """(seconds, name, program, its cases or None: a test of ctest's), the longest first. A program that takes longer than
    its share of all is run in parts."""
    times = recorded_times()
    seconds = {p.name: times.get(p.name, 0.02 * len(p.cases)) for p in programs}
    share = max(5.0, sum(seconds.values()) / jobs / 4)
    parts = [(times.get(name, 10.0), name, None, None) for name in others]
    for program in programs:
        cases, count = program.cases, min(len(program.cases), 1 + int(seconds[program.name] / share))
        for i in range(count):
            some = cases[i * len(cases) // count:(i + 1) * len(cases) // count]
            parts.append((seconds[program.name] / count, program.name, program, some))
    return sorted(parts, key=lambda part: -part[0])


def run_side_by_side(programs, others, options, jobs, totals):
    """The programs, and those of the other tests that may run beside them."""
    def run(part):
        _, name, program, cases = part
        begin = time.monotonic()
        if program is None:
            run_by_ctest(options.build, only([name]), 1, totals, options.timeout)
        else:
            run_program(program, cases, totals)
        return time.monotonic() - begin
    parts, spent = parts_of(programs, others, jobs), {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (_, name, _, _), seconds in zip(parts, pool.map(run, parts)):
            spent[name] = round(spent.get(name, 0) + seconds, 2)
    LOGS.mkdir(parents=True, exist_ok=True)
    TIMES.write_text(json.dumps(recorded_times() | spent, indent=0, sort_keys=True))


def only(names):
    """The choice of these tests of ctest's."""
    return ["-R", f"^({'|'.join(map(re.escape, names))})$"]


def run_by_ctest(build, choice, jobs, totals, timeout):
    """The tests that ctest itself runs, each a process."""
    with tempfile.TemporaryDirectory() as folder:
        junit = pathlib.Path(folder) / "unit.xml"
        done = subprocess.run(["ctest", "--test-dir", build, *choice, "--output-on-failure", "--timeout", str(timeout), "-j",
                               str(jobs), "--output-junit", junit], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            cases = xml.parse(junit).getroot().findall("testcase")
        except (OSError, xml.ParseError) as error:
            totals.add(f"ctest {' '.join(choice)}", "failed", f"it wrote no result ({error}):\n{done.stdout[-2000:]}", None)
            return
    kinds = {"run": "passed", "fail": "failed"}
    for case in cases:
        name, outcome = case.get("name"), kinds.get(case.get("status"), "skipped")
        totals.add(name, outcome, case.findtext("system-out") or "", name)


def run_again(build, totals, timeout):
    """Those that failed, one by one."""
    for name, (failure, again) in list(totals.failed.items()):
        if again is None:
            continue
        print(f"again  {name}", flush=True)
        second = Totals()
        if isinstance(again, str):
            run_by_ctest(build, only([again]), 1, second, timeout)
        else:
            run_program(again[0], [again[1]], second)
        if second.passed == 1 and not second.failed:
            del totals.failed[name]
            totals.passed += 1
            flaky_list.note(f"unit/{name}", failure)


def run_chosen(options, choice, jobs, totals):
    programs, others = chosen_tests(options.build, choice)
    serial = [name for name, is_serial in others.items() if is_serial]
    cases = sum(len(program.cases) for program in programs)
    begin = time.monotonic()
    run_side_by_side(programs, [name for name in others if name not in serial], options, jobs, totals)
    print(f"-- {cases} unit tests of {len(programs)} programs, and {len(others) - len(serial)} others: "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    if serial:
        begin = time.monotonic()
        run_by_ctest(options.build, only(serial), 1, totals, options.timeout)
        print(f"-- {len(serial)} tests alone: {time.monotonic() - begin:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--each", action="store_true", help="every test case as a process of its own")
    parser.add_argument("--again", type=int, default=0, help="where no more than N failed, each runs once more")
    parser.add_argument("--timeout", type=int, default=120, help="seconds, of a test that has no limit of its own")
    parser.add_argument("build")
    options, choice = parser.parse_known_args()
    jobs = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))
    LOGS.mkdir(parents=True, exist_ok=True)
    totals = Totals()
    try:
        if options.each:
            run_by_ctest(options.build, choice, jobs, totals, options.timeout)
        else:
            run_chosen(options, choice, jobs, totals)
        if 0 < len(totals.failed) <= options.again:
            run_again(options.build, totals, options.timeout)
    except KeyboardInterrupt:
        for process in list(running):
            kill(process)
        os._exit(130)
    print(f"{totals.passed} passed, {len(totals.failed)} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
