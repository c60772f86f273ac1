#!/usr/bin/env python3
"""Whole-command benchmark of cores: `mixstack dump --core` against the ClrMD program and gdb in batch mode, on the same
file; and the same core made 10 GB large by a sparse segment.

    bench/core_bench.py [THREADS]            default: 500

A .NET process with that many sleeping threads (25 managed frames each) is written by createdump (full). Every command
runs as a fresh process, in turn; printed are wall time (min/median) and peak memory, and the ratios to mixstack. The
core is in the page cache for all of them. MIXSTACK, ROUNDS and TMPDIR from the environment.
"""
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

import cores  # noqa: E402
import debuggee_build  # noqa: E402
import processes  # noqa: E402

MIXSTACK = os.environ.get("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
ROUNDS = int(os.environ.get("ROUNDS", "7"))
PEER_ROUNDS = 3
HUGE = 10 << 30
PAGE = 4096
ELF_HEADER, PROGRAM_HEADER = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")


def measure(command, rounds, output):
    """(milliseconds of each round, CPU milliseconds of each, peak MB). What the last round printed is in the file
    `output`. The peak the kernel tells of a child is never below this program's own: so this one stays small and reads
    no output."""
    walls, cpus, peak = [], [], 0
    for _ in range(rounds):
        with open(output, "wb") as target:
            start = time.monotonic_ns()
            process = subprocess.Popen([str(part) for part in command], stdout=target, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
        walls.append((time.monotonic_ns() - start) / 1e6)
        cpus.append((usage.ru_utime + usage.ru_stime) * 1e3)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            print(f"  {command[0]}: exit {process.returncode}")
        peak = max(peak, usage.ru_maxrss / 1024)
    return walls, cpus, peak


def show(name, walls, cpus, peak, extra=""):
    print(f"  {name:9} wall {min(walls):8.1f} / {statistics.median(walls):8.1f} ms   CPU {min(cpus):7.1f} ms   "
          f"RSS {peak:6.1f} MB{extra}", flush=True)


def make_huge(core, path):
    """The same core behind a larger table of segments, with one more of 10 GB that takes no room on disk."""
    with open(core, "rb") as source, open(path, "wb") as target:
        header = list(ELF_HEADER.unpack(source.read(ELF_HEADER.size)))
        source.seek(header[5])
        entries = [list(PROGRAM_HEADER.unpack(source.read(PROGRAM_HEADER.size))) for _ in range(header[10])]
        size = os.fstat(source.fileno()).st_size
        shift = (ELF_HEADER.size + (len(entries) + 1) * PROGRAM_HEADER.size + PAGE - 1) // PAGE * PAGE
        beyond = (shift + size + PAGE - 1) // PAGE * PAGE
        for entry in entries:
            entry[2] += shift
        entries.append([1, 6, beyond, 1 << 40, 0, HUGE, HUGE, PAGE])
        header[5], header[6], header[10], header[11], header[12], header[13] = ELF_HEADER.size, 0, len(entries), 0, 0, 0
        target.write(ELF_HEADER.pack(*header) + b"".join(PROGRAM_HEADER.pack(*entry) for entry in entries))
        target.flush()
        done = 0
        while done < size:
            done += os.copy_file_range(source.fileno(), target.fileno(), size - done, done, shift + done)
        os.ftruncate(target.fileno(), beyond + HUGE)


def count_apart(output):
    return subprocess.run([sys.executable, __file__, "--count", output], capture_output=True, text=True).stdout.rstrip()


def count(output):
    dump = json.loads(pathlib.Path(output).read_text())
    frames = [frame for thread in dump["threads"] for frame in thread["frames"]]
    cut = sum(thread["stop_reason"] != "end_of_stack" for thread in dump["threads"])
    managed = [frame for frame in frames if frame["kind"] == "managed"]
    unnamed = sum(not frame["named"] for frame in managed)
    return (f", {len(dump['threads'])} threads, {len(frames)} frames, {len(managed)} managed ({unnamed} unnamed), "
            f"{cut} cut")


def bench_core(core, output):
    commands = {
        "mixstack": ([MIXSTACK, "dump", "--core", core, "--json"], ROUNDS),
        "ClrMD": ([debuggee_build.ORACLE, "--bench", "1", "core", core], PEER_ROUNDS),
        "gdb": (["gdb", "-nx", "-batch", "-ex", "thread apply all bt", debuggee_build.SCENARIOS, core], PEER_ROUNDS),
    }
    medians, busy = {}, {}
    for name, (command, rounds) in commands.items():
        walls, cpus, peak = measure(command, rounds, output)
        medians[name], busy[name] = statistics.median(walls), min(cpus)
        show(name, walls, cpus, peak, count_apart(output) if name == "mixstack" else "")
    for name in ("ClrMD", "gdb"):
        print(f"  ratio {name}/mixstack: wall {medians[name] / medians['mixstack']:.1f}x, "
              f"CPU {busy[name] / max(busy['mixstack'], 1):.0f}x")


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with cores.folder() as folder:
        with processes.scenario("sleepers", threads, 25, 1) as debuggee:
            core = cores.createdump(debuggee.pid, folder / "core")
        print(f"core of {threads} sleeping threads + 1 spinning, {os.stat(core).st_size >> 20} MB, "
              f"load {os.getloadavg()[0]:.1f}")
        bench_core(core, folder / "output")
        core.unlink()
        with processes.scenario("sleep") as debuggee:
            core = cores.createdump(debuggee.pid, folder / "core")
        huge = folder / "huge"
        make_huge(core, huge)
        print(f"core of {os.stat(core).st_size >> 20} MB, made {os.stat(huge).st_size >> 20} MB by a sparse segment")
        for name, path in (("as it was", core), ("10 GB", huge)):
            walls, cpus, peak = measure([MIXSTACK, "dump", "--core", path, "--json"], ROUNDS, folder / "output")
            show(name, walls, cpus, peak, count_apart(folder / "output"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        print(count(sys.argv[2]))
    else:
        main()
