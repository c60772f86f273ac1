#!/usr/bin/env python3
"""`mixstack why` beside the vendor's tools on the same faults: slow_peers.py [SCENARIO...]

Each program of tests/debuggees/Slow is asked by all of them in turn while its fault lasts. Printed is a table: after how long
which tool said what. dotnet-counters collects for five seconds, dotnet-trace (its processor profile) for five, and their
heaviest figures or methods are shown as they print them; dotnet-stack prints the stacks once, of which the innermost method
of the program that most threads stand in is shown. The tools are found by DOTNET_TOOLS (a folder), else ~/.dotnet/tools;
MIXSTACK names the command, default build/release. Quiet machines only: the programs share the processors with who asks.
"""
import collections
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/live")]

import slow_case  # noqa: E402

MIXSTACK = os.environ.get("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
TOOLS = pathlib.Path(os.environ.get("DOTNET_TOOLS", pathlib.Path.home() / ".dotnet/tools"))
SCENARIOS = ("hot_method", "native_crypto", "page_faults", "allocation", "large_objects", "forced_collections", "managed_leak",
             "native_leak", "sync_over_async", "contended_monitor", "contended_rwlock", "deadlock", "tiny_writes", "fsync_workers",
             "swallowed_parse", "compiling_generics", "children", "healthy_service")
# What a reader of the counters looks at first; sizes and counts that only say how large a program is are left out.
TELLING = ("cpu.time", "gc.collections", "gc.pause.time", "gc.heap.total_allocated", "exceptions", "lock_contentions", "thread_pool.queue.length",
           "jit.compiled_methods", "process.memory.working_set")
PROGRAM = "Depot."


def timed(*command):
    """(seconds, what it printed)"""
    begin = time.monotonic()
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120, check=False)
    return time.monotonic() - begin, done.stdout


def mixstack(pid, _):
    seconds, said = timed(MIXSTACK, "why", pid)
    lines = [line for line in said.splitlines() if re.match(r"[A-Z][A-Z ]{3,}:|Nothing is", line)]
    return seconds, [lines[0] if lines else said.splitlines()[0]]


def counters(pid, folder):
    """Means a second of what is a rate, the last value of what is a size."""
    path = folder / "counters.csv"
    seconds, _ = timed(TOOLS / "dotnet-counters", "collect", "-p", pid, "--duration", "00:00:00:05", "--format", "csv", "-o", path)
    values = collections.defaultdict(list)
    if path.exists():
        with open(path, encoding="utf-8") as rows:
            for row in csv.DictReader(rows):
                if any(word in row["Counter Name"] for word in TELLING):
                    values[row["Counter Name"]].append(float(row["Mean/Increment"]))
    told = {name: v[-1] if "working_set" in name else sum(v) / len(v) for name, v in values.items()}
    return seconds, [f"{name} {value:.4g}" for name, value in told.items() if value >= 0.005] or ["no answer"]


def trace(pid, folder):
    path = folder / "cpu.nettrace"
    seconds, _ = timed(TOOLS / "dotnet-trace", "collect", "-p", pid, "--duration", "00:00:00:05", "--profile", "dotnet-sampled-thread-time", "-o", path)
    more, said = timed(TOOLS / "dotnet-trace", "report", path, "topN", "-n", "4")
    return seconds + more, [re.sub(r"\s+", " ", line).strip() for line in said.splitlines() if re.match(r"\s*\d+\. ", line)] or ["no answer"]


def stacks(pid, _):
    seconds, said = timed(TOOLS / "dotnet-stack", "report", "-p", pid)
    places = collections.Counter()
    for thread in re.split(r"(?m)^Thread ", said):
        inner = next((line.strip() for line in thread.splitlines() if PROGRAM in line), None)
        if inner:
            places[inner] += 1
    return seconds, [f"{count} threads in {place}" for place, count in places.most_common(2)] or ["no answer"]


def main():
    for scenario in sys.argv[1:] or SCENARIOS:
        print(f"\n## {scenario}", flush=True)
        for tool in (mixstack, counters, trace, stacks):
            # Programs of their own: some faults grow, and the tools themselves make events.
            with slow_case.Slow(scenario) as program, tempfile.TemporaryDirectory() as folder:
                time.sleep(9)  # in its first seconds each program takes memory and compiles
                program.pass_over()
                try:
                    seconds, said = tool(program.pid, pathlib.Path(folder))
                except (OSError, subprocess.TimeoutExpired) as error:
                    seconds, said = 120, [str(error)]
            print(f"{tool.__name__:9} {seconds:5.1f} s  " + "\n                   ".join(said), flush=True)


if __name__ == "__main__":
    main()
