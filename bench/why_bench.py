#!/usr/bin/env python3
"""What `mixstack why` costs, and how much of what is waited for it names.

    bench/why_bench.py [PART...]         ring, service, chains, waits; default: all

ring: 500 threads that wait for each other's locks, and service: 66 threads that wait. Printed: the whole command, the same of
`dump`, of a command that does nothing, and how long the process stood still for either (in runs of their own). chains: what an async method that
waits costs by `--heap`, and a chain of six of them, as the difference of two processes that hold more and fewer. waits: what programs say of their
threads (lines TRUTH: waiter, wait, type, owner) against what is told; named is a wait of that kind, wrong one with another
object or owner, or of another kind that could not be both.
Times are medians, with the smallest before them: others use the machine.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
sys.path.insert(0, str(ROOT / "tests/support"))

import debuggee_build  # noqa: E402
import processes  # noqa: E402

MIXSTACK = os.environ["MIXSTACK"]
ROUNDS = 15
HEAPS = debuggee_build.BUILD / "debuggees/Heaps/Heaps"
# Those that have said all of what they wait for when they are ready, and do not go on.
TRUTHFUL = ("deadlock", "deadlock_ring", "deadlock_lock", "deadlock_task", "deadlock_join", "convoy", "waits", "silent_server",
            "child_process", "deadlock_registration", "deadlock_timer", "deadlock_timer_task")


def run(*arguments):
    """Milliseconds, and what it said."""
    begin = time.monotonic()
    done = subprocess.run([MIXSTACK, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return (time.monotonic() - begin) * 1000, done.stdout


def smallest_and_median(times):
    seen = [t for t in times if not math.isnan(t)]
    return f"{min(seen):6.1f} {statistics.median(seen):6.1f} ms" if seen else "not seen"


def stood_still(pid, command):
    """Milliseconds for which the main thread was in a stop of a tracer while the command ran, as /proc shows it. On a busy
    machine whoever looks gets no processor in a stop, and sees too little of it: 0 is no answer."""
    with open(f"/proc/{pid}/task/{pid}/stat", "rb", buffering=0) as stat, subprocess.Popen(
            [MIXSTACK, *map(str, command), str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) as running:
        begin = end = 0.0
        while running.poll() is None:
            stat.seek(0)
            if stat.read(256).rpartition(b") ")[2][:1] == b"t":
                end = time.monotonic()
                begin = begin or end
    return (end - begin) * 1000


def threads(what, *scenario):
    commands = {"why": ("why", "--sample", "0"), "dump": ("dump",), "nothing": ("--version",)}
    with processes.scenario(*scenario) as debuggee:
        time.sleep(0.5)  # its own start
        print(f"{what}: {len(processes.thread_states(debuggee.pid))} threads")
        whole, stops = {name: [] for name in commands}, {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                whole[name].append(run(*command, *([] if name == "nothing" else [debuggee.pid]))[0])
        for _ in range(ROUNDS):
            for name in ("why", "dump"):
                stops[name].append(stood_still(debuggee.pid, commands[name]) or float("nan"))
    for name in commands:
        stood = f"stood still {smallest_and_median(stops[name])}" if stops[name] else ""
        print(f"  {name:10} {smallest_and_median(whole[name])}   {stood}", flush=True)


def chains():
    def measured(count):
        with processes.Debuggee([HEAPS, "chains", count, 0]) as debuggee:
            time.sleep(0.5)
            runs = [run("why", "--heap", "--json", "--sample", "0", debuggee.pid) for _ in range(5)]
            heap = json.loads(runs[0][1])["pending"][0]["heap"]
            return min(spent for spent, _ in runs), heap["suspended"]
    (short, few), (long, many) = measured(100), measured(5000)
    each = (long - short) * 1000 / max(many - few, 1)
    print(f"async methods, by --heap: {long - short:.1f} ms more for {many - few} more that wait: {each:.2f} us each, {6 * each:.1f} us a "
          "chain of six", flush=True)


def waits():
    told = named = wrong = 0
    for scenario in TRUTHFUL:
        with processes.scenario(scenario) as debuggee:
            time.sleep(0.5)
            answer = json.loads(run("why", "--json", "--sample", "0", debuggee.pid)[1])
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            by_name = {t["name"]: t["wait"] for t in answer["threads"] if t["name"]}
            for line in debuggee.lines:
                waiter, kind, of, owner = line.split()[1:]
                wait, told = by_name.get(waiter), told + 1
                if wait is None or wait["kind"] != kind:
                    print(f"  {scenario}: {waiter} is not named: {kind} {of}, told is {wait and wait['kind']}")
                    continue
                named += 1
                owners = [names.get(tid) for tid in wait["owners"]]
                said, is_socket = (wait["type"] or "-").replace("+", ".").replace(" ", ""), kind == "socket"
                is_same = of == "-" or (said.endswith(of) if is_socket else said == of.replace("+", "."))
                if not is_same or owners != ([] if owner == "-" else [owner]):
                    wrong += 1
                    print(f"  {scenario}: {waiter} is wrong: {kind} {of} {owner}, told is {wait['type']} {owners}")
    print(f"waits: {told}, named {named} ({100 * named / max(told, 1):.1f} %), wrong {wrong}", flush=True)


PARTS = {"ring": lambda: threads("a ring of 500 locks", "deadlock_ring"),
         "service": lambda: threads("a service", "sleepers", 57, 20, 0), "chains": chains, "waits": waits}


def main():
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
