#!/usr/bin/env python3
"""Whole-command benchmark: `mixstack dump` against the ClrMD program and gdb in batch mode, on the same process.

    bench/dump_bench.py [THREADS...]         default: 100 500

For each number of threads a .NET process with that many sleeping threads (25 managed frames each) and one spinning
thread is started. Every command runs as a fresh process, in turn, ROUNDS times. Printed per command: wall time
(min/median), and how long the spinning thread was *held*: wall time in which it was neither on a CPU nor waiting for one
(schedstat), which no neighbour on the machine disturbs. The last lines are the ratios to mixstack, and of a dump with source
lines (as usual, from the PDB beside the assembly) to one with --no-lines. "no symbols" has neither lines nor any symbol
file for native code: no symbol path, no debuginfod, an empty cache.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIXSTACK = os.environ.get("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
ROUNDS = int(os.environ.get("ROUNDS", "7"))
PEER_ROUNDS = 3


def start(threads):
    exe = ROOT / "build/debuggees/Scenarios/Scenarios"
    process = subprocess.Popen([exe, "sleepers", str(threads), "25", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    while True:
        line = process.stdout.readline()
        if not line:
            raise SystemExit("the debuggee ended before it was ready: run tests/debuggees/build first")
        if line.startswith("READY"):
            return process


def spinner(pid):
    """The thread that used most CPU in the last moments."""
    def usage():
        result = {}
        for task in os.listdir(f"/proc/{pid}/task"):
            result[task] = int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
        return result
    before = usage()
    time.sleep(0.3)
    after = usage()
    return max(after, key=lambda t: after[t] - before.get(t, 0))


def schedstat(pid, tid):
    cpu, wait, _ = map(int, pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split())
    return cpu, wait


def without_symbols(empty_folder):
    """The environment of a command that finds no symbol files."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DEBUGINFOD_URLS", "MIXSTACK_SYMBOL_PATH")}
    return {**kept, "XDG_CACHE_HOME": empty_folder}


def measure(pid, tid, command, rounds, environment=None):
    walls, helds, rss, output = [], [], 0, ""
    for _ in range(rounds):
        cpu0, wait0 = schedstat(pid, tid)
        t0 = time.monotonic_ns()
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             env=environment)
        output = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        t1 = time.monotonic_ns()
        time.sleep(0.01)
        cpu1, wait1 = schedstat(pid, tid)
        t2 = time.monotonic_ns()
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode != 0:
            print(f"  {command[0]}: exit {p.returncode}")
        walls.append((t1 - t0) / 1e6)
        helds.append(max(0.0, ((t2 - t0) - (cpu1 - cpu0) - (wait1 - wait0)) / 1e6))
        rss = max(rss, usage.ru_maxrss // 1024)
        time.sleep(0.05)
    return walls, helds, rss, output


def arena():
    """Threads on fibers of one large mapping, whose stacks' ends nobody knows, against as many ordinary threads."""
    guest, medians = ROOT / "build/debuggees/native/guest", {}
    for name, arguments in {"16 ordinary threads": ("threads", "16", "0"), "16 fibers in 250 MB": ("arena", "250", "16")}.items():
        with subprocess.Popen([guest, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
            target.stdout.readline()
            pauses = [json.loads(subprocess.run([MIXSTACK, "dump", str(target.pid), "--json"], capture_output=True,
                                                text=True, check=False).stdout)["process"]["pause_ns"] for _ in range(3 * ROUNDS)]
            medians[name] = statistics.median(pauses) / 1e6
            print(f"pause, {name:22} min {min(pauses) / 1e6:.3f} median {medians[name]:.3f} ms")
            target.kill()
    ordinary, fibers = medians.values()
    print(f"fibers / ordinary threads: {fibers / ordinary:.2f}")


def main():
    with tempfile.TemporaryDirectory() as empty:
        all_sizes(without_symbols(empty))
    arena()


def all_sizes(no_symbols):
    counts = [int(a) for a in sys.argv[1:]] or [100, 500]
    for threads in counts:
        process = start(threads)
        try:
            pid = process.pid
            tid = spinner(pid)
            oracle = str(ROOT / "build/oracle/Oracle")
            rows, pauses = {}, {}
            commands = {
                "mixstack": ([MIXSTACK, "dump", str(pid), "--json"], ROUNDS),
                "--no-lines": ([MIXSTACK, "dump", str(pid), "--json", "--no-lines"], ROUNDS),
                "no symbols": ([MIXSTACK, "dump", str(pid), "--json", "--no-lines"], ROUNDS, no_symbols),
                "ClrMD": ([oracle, "--bench", "1", str(pid)], PEER_ROUNDS),
                "gdb": (["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all bt"], PEER_ROUNDS),
            }
            print(f"{threads} sleeping threads + 1 spinning, load {os.getloadavg()[0]:.1f}")
            for name, (command, rounds, *environment) in commands.items():
                walls, helds, rss, output = measure(pid, tid, command, rounds, *environment)
                rows[name] = (statistics.median(walls), statistics.median(helds))
                extra = ""
                if command[0] == MIXSTACK:
                    dump = json.loads(output)
                    frames = sum(len(t["frames"]) for t in dump["threads"])
                    lines = sum(f["line"] is not None for t in dump["threads"] for f in t["frames"])
                    pauses[name] = dump["process"]["pause_ns"] / 1e6
                    extra = f", {len(dump['threads'])} threads, {frames} frames, {lines} with a line, own pause {pauses[name]:.2f} ms"
                elif name == "ClrMD":
                    extra = ", its walk " + "/".join(re.findall(r"ms ([\d.]+)", output)) + " ms"
                print(f"  {name:10} wall {min(walls):8.1f} / {statistics.median(walls):8.1f} ms   held {min(helds):7.2f} /"
                      f" {statistics.median(helds):7.2f} ms   RSS {rss} MB{extra}")
            wall, held = rows["mixstack"]
            # The scheduler's clock is too coarse for our pause: count all of it as held.
            held = max(held, pauses["mixstack"])
            for name in ("ClrMD", "gdb"):
                print(f"  ratio {name}/mixstack: wall {rows[name][0] / wall:.1f}x, held {rows[name][1] / max(held, 1e-3):.0f}x")
            print(f"  ratio with lines/--no-lines: wall {wall / rows['--no-lines'][0]:.2f}x")
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
