#!/usr/bin/env python3
"""Runs on the ARM64 machine (scripts/arm64_run): what ARM64 is tested with, each part by name.

  suite.py BUILD PART...          parts: unit, walks, programs, live, memory, agent, cores; signed (of the CPU "max")

BUILD is the folder of an ARM64 build. Prints what fails, and at the end "N passed, N failed, N skipped".
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LOGS = REPOSITORY / "build" / "arm64-logs"
WORKERS = os.cpu_count() or 1

# Emulated, everything takes two to three times as long.
UNIT_TIMEOUT = 400
ALONE_TIMEOUT = 900  # the tests of live processes are many
# What needs the processor for itself: stops, timers and signals of its own threads.
ALONE = ("mixstack_process_live_test", "mixstack_process_core_test", "mixstack_process_self_test",
         "mixstack_process_debugger_test", "mixstack_engine_self_walk_test", "mixstack_session_test", "mixstack_frontends_stackwalker_test",
         "mixstack_agent_in_process_test", "drivers_test")

# The live tests that say something of this CPU; the others are of the command line, of files, or of x86-64 only.
LIVE = ("test_frames", "test_code", "test_native", "test_why")
SHORT_LIVE = ("test_frames", "test_native")
SHORT_WHY = ("test_why", "-k", "native")  # arguments of system calls, and a libc without debug symbols
SIGNED_LIVE = ("test_native",)
# What memory is used for, and who holds it: CPUs differ in the registers of roots, the blocks of threads, pages.
MEMORY = ("test_guest", "test_memory", "test_memory_holders",
          *(word for test in ("guest.Account", "Account.test_lines_add_up", "Account.test_native_memory",
                              "Account.test_neighbours", "Account.test_a_process_without", "Types.test_of_cores",
                              "Truth.test_a_static_dictionary", "Truth.test_statics_of_threads",
                              "Stacks.test_a_local_variable", "Stacks.test_places")
            for word in ("-k", test)))
AGENT = ("test_agent_walks", "test_agent", "test_agent_code", "test_agent_control", "test_agent_hostile")

# Long, and of code that is the same on every CPU: left to the host. RandomContexts takes 400 s emulated, and expects
# more frames of a context of chance than AArch64 gives.
LEFT_TO_THE_HOST = ("Arm64Packed.EveryFormEqualsItsInstructions", "Json.RepeatsAreToldAndAllFramesStay",
                    "DamagedElf.BitsFlipped", "RandomContexts.*",
                    # Of time: an emulated timer is late, and the kernel makes samples rare where each takes long.
                    "PerfSampler.SamplesTwoThreadsAtTheRate", "PerfSampler.CountsWhatHasNoRoom")
SHORT = bool(os.environ.get("SHORT"))


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def run(command, timeout, environment=None):
    """(exit status, output); a command that does not end is one that failed, its output kept. In a folder that only root
    can write: what is run for root must lie in one."""
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd="/run", env={**os.environ, **(environment or {})}, text=True,
                          errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            return 124, output + f"\nlonger than {timeout} s\n"


def run_shown(command, timeout, environment):
    """The same, with its output shown as it comes: live tests take minutes."""
    lines = []
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd="/tmp", env={**os.environ, **environment}, text=True,
                          errors="replace", start_new_session=True) as process:
        late = threading.Timer(timeout, lambda: os.killpg(process.pid, 9))
        late.start()
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
        late.cancel()
        return process.wait(), "".join(lines)


def unit_counts(status, output):
    """Totals of a gtest program, and the lines that say what failed. One that dies has one failure more."""
    passed = len(re.findall(r"^\[       OK \]", output, re.M))
    skipped = len(re.findall(r"^\[  SKIPPED \] \S+ \(", output, re.M))
    failed = re.findall(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$", output, re.M)
    lines = [f"FAIL {name}" for name in failed]
    if not re.search(r"^\[==========\] .* ran\.", output, re.M):
        begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
        lines.append(f"FAIL {begun[-1] if begun else 'nothing ran'}: the program ended with status {status}")
    return passed, len(lines), skipped, lines


def failures(output):
    """The parts of a gtest program's output that are of failed tests."""
    parts = re.findall(r"^\[ RUN      \] .*?(?=^\[ RUN      \]|^\[----------\]|\Z)", output, re.M | re.S)
    return "".join(part for part in parts if "[       OK ]" not in part and "[  SKIPPED ]" not in part)


def one_unit(program):
    begin = time.monotonic()
    timeout = ALONE_TIMEOUT if program.name in ALONE else UNIT_TIMEOUT
    status, output = run([program, "--gtest_color=no", "--gtest_filter=-" + ":".join(LEFT_TO_THE_HOST)], timeout,
                         {"MIXSTACK_ARM64": "1"})
    (LOGS / f"{program.name}.log").write_text(output)
    passed, failed, skipped, lines = unit_counts(status, output)
    text = f"{program.name}: {passed} passed, {failed} failed, {skipped} skipped, {time.monotonic() - begin:.0f} s"
    if lines:
        text += "\n" + "\n".join(lines) + "\n" + failures(output)[-6000:]
    return (passed, failed, skipped), text


def unit(build, totals):
    programs = sorted(p for p in build.rglob("*_test") if p.is_file() and os.access(p, os.X_OK))
    together = [p for p in programs if p.name not in ALONE]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for counts, text in pool.map(one_unit, together):
            print(text, flush=True)
            totals.add(*counts)
    for program in programs:
        if program.name in ALONE:
            counts, text = one_unit(program)
            print(text, flush=True)
            totals.add(*counts)


def walks(build, totals):
    """Walks from signal handlers under load; every one is checked against what the thread says of itself."""
    folder = build / "tests" / "self_walk"
    plugins = sorted(folder.glob("libself_walk_plugin_*.so"))
    status, output = run([folder / "signal_walk_stress", 8, *plugins], 120)
    print(output, flush=True)
    totals.add(status == 0, status != 0, 0)


def programs(build, totals):
    """StackwalkerAPI's programs against gdb, on live processes."""
    status, output = run(["python3", REPOSITORY / "tests/stackwalker/manual_test.py", "-v"], 400,
                         {"MIXSTACK_BIN": str(build / "bin")})
    passed = len(re.findall(r"\.\.\. ok$", output, re.M))
    skipped = len(re.findall(r"\.\.\. skipped", output))
    failed = len(re.findall(r"\.\.\. (?:FAIL|ERROR)$", output, re.M)) or int(status != 0)
    print(output[-6000:] if failed else f"StackwalkerAPI programs: {passed} passed, {skipped} skipped", flush=True)
    totals.add(passed, failed, skipped)


def live_modules(build, totals, modules, timeout=1500):
    command = ["python3", "-u", REPOSITORY / "tests/live/run.py", "--timeout", 240, *modules,
               *os.environ.get("LIVE_OPTIONS", "").split()]
    status, output = run_shown(command, timeout,
                               {"MIXSTACK": str(build / "bin/mixstack"), "MIXSTACK_SAMPLES": "50", "MIXSTACK_ARM64": "1",
                                "MIXSTACK_KEEP_DUMPS": str(REPOSITORY / "build/arm64-logs/dumps")})
    found = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
    counts = list(map(int, found[-1])) if found else [0, 1, 0]
    if status != 0 and counts[1] == 0:
        counts[1] = 1
    totals.add(*counts)


def live(build, totals):
    live_modules(build, totals, SHORT_LIVE if SHORT else LIVE)
    if SHORT:
        live_modules(build, totals, SHORT_WHY)


def memory(build, totals):
    """The account against the kernel's sums, types and holders against ClrMD and the programs' word. The kernel may not give
    programs that stand still more memory, which it does when it makes one huge page of pages with gaps between them."""
    pathlib.Path("/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none").write_text("0")
    live_modules(build, totals, MEMORY)


def agent(build, totals):
    """The profiler inside: its handler's stacks against dumps of the same instant."""
    live_modules(build, totals, AGENT, 4500)


def cores(build, totals):
    """What foreign_cores.py reads on another CPU; needs no build of ours."""
    status, output = run_shown([REPOSITORY / "tests/arm64/make_cores.py", LOGS / "cores"], 2000, {})
    made = re.findall(r"^(\d+) made, (\d+) failed$", output, re.M)
    passed, failed = map(int, made[-1]) if made else (0, 1)
    totals.add(passed, failed or int(status != 0), 0)


def signed(build, totals):
    """Where return addresses are signed, signals save SVE and SME state, and landing pads are checked: CPU=max."""
    features = pathlib.Path("/proc/cpuinfo").read_text()
    missing = [name for name in ("paca", "sve", "bti") if not re.search(rf"^Features\s*:.*\b{name}\b", features, re.M)]
    print(f"this CPU lacks {missing}" if missing else "this CPU signs, checks landing pads, and has long vectors", flush=True)
    totals.add(not missing, bool(missing), 0)
    for name in ("mixstack_engine_self_walk_test", "mixstack_base_memory_test"):
        counts, text = one_unit(next(p for p in build.rglob(name) if p.is_file()))
        print(text, flush=True)
        totals.add(*counts)
    live_modules(build, totals, SIGNED_LIVE)


PARTS = {"unit": unit, "walks": walks, "programs": programs, "live": live, "memory": memory, "agent": agent, "cores": cores, "signed": signed}


def main():
    build = (REPOSITORY / sys.argv[1]).resolve()
    LOGS.mkdir(parents=True, exist_ok=True)
    totals = Totals()
    for name in sys.argv[2:]:
        begin = time.monotonic()
        print(f"## {name}", flush=True)
        PARTS[name](build, totals)
        print(f"## {name}: {time.monotonic() - begin:.0f} s", flush=True)
    print(totals)
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
