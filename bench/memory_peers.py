#!/usr/bin/env python3
"""`mixstack memory` beside its peers on one heap: memory_peers.py [MB]    default: 1024

A program of tests/debuggees/Memory holds so much in a dictionary of objects. It is asked, each as a fresh process, in turn: for the account;
for the histogram (`--types`) by mixstack, by a ClrMD program, by dotnet-dump (collect, then dumpheap -stat) and by
dotnet-gcdump; and its mappings are copied by bare process_vm_readv in pieces of 4 MB, which is the floor. Then a core of it.
Then mixstack alone on a heap of strings, each of which `--types` compares with all others; then on a program that allocates as
fast as it can over so much that stays: how long it is stopped.
Printed are wall time (min/median), processor time (min), GB/s of heap for each second of one processor, peak memory.
MIXSTACK, ORACLE, ROUNDS, TMPDIR; DOTNET_TOOLS: a folder with dotnet-dump and dotnet-gcdump, else they are left out.
"""
import ctypes
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

import cores  # noqa: E402
import debuggee_build  # noqa: E402
import processes  # noqa: E402

MIXSTACK = os.environ.get("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
ORACLE = os.environ.get("ORACLE", str(debuggee_build.ORACLE))
TOOLS = pathlib.Path(os.environ.get("DOTNET_TOOLS", pathlib.Path.home() / ".dotnet/tools"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
PIECE = 4 << 20
ORDERS_A_MEGABYTE, STRINGS_A_MEGABYTE, NODES_A_MEGABYTE = 14000, 8500, 30000


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def measure(command, rounds, output=os.devnull):
    """([wall seconds], [processor seconds], peak MB, worst exit code)"""
    walls, cpus, peak, code = [], [], 0, 0
    for _ in range(rounds):
        with open(output, "wb") as target:
            begin = time.monotonic()
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=target,
                                       stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
        walls.append(time.monotonic() - begin)
        cpus.append(usage.ru_utime + usage.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        code = max(code, process.returncode)
        peak = max(peak, usage.ru_maxrss / 1024)
    return walls, cpus, peak, code


def show(name, measured, size=0, extra=""):
    walls, cpus, peak, code = measured
    speed = f"{size / min(cpus) / 1e9:5.2f} GB/s" if size else " " * 10
    print(f"  {name:26} wall {min(walls):7.3f} / {statistics.median(walls):7.3f} s   CPU {min(cpus):7.3f} s   {speed}   "
          f"RSS {peak:7.0f} MB{'' if code == 0 else f'   exit {code}'}{extra}", flush=True)


def heap_mappings(pid):
    """Writable anonymous mappings of a megabyte and more, resident."""
    found, last = [], None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        header = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0\s*$", line)
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            last = (int(header[1], 16), int(header[2], 16)) if header else None
        elif last and line.startswith("Rss:") and int(line.split()[1]) * 1024 > max(1 << 20, (last[1] - last[0]) * 0.9):
            found.append(last)
    return found


def copy_bare(pid):
    """In a child, so that its times are its own: (wall, cpu, bytes)"""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.process_vm_readv.restype = ctypes.c_ssize_t
    buffer = ctypes.create_string_buffer(PIECE)
    ctypes.memset(buffer, 1, PIECE)
    begin, before, done = time.monotonic(), os.times(), 0
    for first, end in heap_mappings(pid):
        for at in range(first, end, PIECE):
            size = min(PIECE, end - at)
            own, other = Vector(ctypes.addressof(buffer), size), Vector(at, size)
            got = libc.process_vm_readv(pid, ctypes.byref(own), 1, ctypes.byref(other), 1, 0)
            done += max(got, 0)
    after = os.times()
    return time.monotonic() - begin, after.user + after.system - before.user - before.system, done


def bare(pid):
    runs = [copy_bare(pid) for _ in range(ROUNDS)]
    speed = max(size / cpu for _, cpu, size in runs)
    print(f"  {'bare process_vm_readv':26} wall {min(r[0] for r in runs):7.3f} s             CPU {min(r[1] for r in runs):7.3f} s   "
          f"{speed / 1e9:5.2f} GB/s   ({runs[0][2] >> 20} MB)", flush=True)
    return speed


def histogram(of, folder, options=()):
    """What one run says: bytes, the stop."""
    out = folder / "types.json"
    measured = measure([MIXSTACK, "memory", of, "--types", "--json", *options], ROUNDS, out)
    [heap] = json.loads(out.read_text())["heaps"]
    return measured, heap["bytes"] + heap["free_bytes"], heap


def tool(name):
    path = TOOLS / name
    return path if path.exists() else None


def vendor(pid, size, folder):
    dump = folder / "vendor.core"
    if tool("dotnet-dump"):
        show("dotnet-dump collect", measure([tool("dotnet-dump"), "collect", "-p", pid, "--type", "Heap", "-o", dump], 1), size,
             "   (the process stands still)")
        if dump.exists():
            show("dotnet-dump dumpheap -stat", measure([tool("dotnet-dump"), "analyze", dump, "-c", "dumpheap -stat", "-c", "exit"], 1), size)
            dump.unlink()
    if tool("dotnet-gcdump"):
        show("dotnet-gcdump collect", measure([tool("dotnet-gcdump"), "collect", "-p", pid, "-o", folder / "heap.gcdump"], 1), size,
             "   (a full collection)")
        if (folder / "heap.gcdump").exists():
            show("dotnet-gcdump report", measure([tool("dotnet-gcdump"), "report", folder / "heap.gcdump"], 1), size)


def of_live(shape, count, folder, with_peers):
    with processes.Debuggee([debuggee_build.memory(), shape, str(count)], ready_timeout=180) as debuggee:
        pid = debuggee.pid
        print(f"live process, {shape} of {count}, load {os.getloadavg()[0]:.1f}")
        show("mixstack account", measure([MIXSTACK, "memory", pid, "--json"], ROUNDS))
        floor = bare(pid)
        measured, size, heap = histogram(pid, folder)
        show("mixstack --types", measured, size, f"   stop {heap['pause_us'] / 1e3:.1f} ms, exact: {heap['is_exact']}")
        ratio = size / min(measured[1]) / floor
        walked = sum(sum(n for g, n in t["bytes_of"].items() if g != "large") for t in heap["types"])
        print(f"  heap of {size / 1e6:.0f} MB; ratio of --types to the bare copy, for each processor: {ratio:.2f}; of the "
              f"{walked / 1e6:.0f} MB that are not large objects, which are read by their headers: {ratio * walked / size:.2f}")
        if not with_peers:
            return
        os.kill(pid, signal.SIGSTOP)
        show("ClrMD histogram", measure([ORACLE, "--types", pid], 1), size, "   (the process stands still)")
        os.kill(pid, signal.SIGCONT)
        vendor(pid, size, folder)
        core = cores.createdump(pid, folder / "core")
    print(f"core of {core.stat().st_size >> 20} MB")
    measured, size, heap = histogram(core, folder)
    show("mixstack --types", measured, size, f"   exact: {heap['is_exact']}")
    show("ClrMD histogram", measure([ORACLE, "--types", "core", core], 1), size)
    core.unlink()


def of_busy(megabytes, folder):
    with processes.Debuggee([debuggee_build.memory(), "garbage", str(megabytes * NODES_A_MEGABYTE)], ready_timeout=180) as debuggee:
        time.sleep(2)
        out = subprocess.run([MIXSTACK, "memory", str(debuggee.pid), "--makers", "-d", "1s", "--json"], capture_output=True, text=True)
        made = json.loads(out.stdout)
        rate = (made["small"] + made["large"]) / (made["time_ns"] / 1e9)
        stops, exact = [], 0
        for _ in range(ROUNDS):
            done = subprocess.run([MIXSTACK, "memory", str(debuggee.pid), "--types", "--json"], capture_output=True, text=True)
            [heap] = json.loads(done.stdout)["heaps"]
            stops.append(heap["pause_us"] / 1e3)
            exact += heap["is_exact"]
        print(f"allocating {rate / 1e9:.2f} GB/s over {megabytes} MB that stay: stops of {min(stops):.1f} to {max(stops):.1f} ms, "
              f"median {statistics.median(stops):.1f}; exact {exact} of {ROUNDS}")


def main():
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with cores.folder() as folder:
        of_live("cache", megabytes * ORDERS_A_MEGABYTE, folder, True)
        of_live("strings", megabytes * STRINGS_A_MEGABYTE, folder, False)
        of_busy(megabytes, folder)


if __name__ == "__main__":
    main()
