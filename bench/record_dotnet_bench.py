#!/usr/bin/env python3
"""What `mixstack record --mode cpu` costs a .NET program of two threads that compute, beside `perf record -g`.

    bench/record_dotnet_bench.py [HERTZ...]         default: 99 999

Rounds a second that the program makes for each second of its processor time, so that no neighbour on the machine disturbs; each
window with a recorder stands between two without, and its slowdown is told against these. Medians of ROUNDS windows.
"""
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
sys.path.insert(0, str(ROOT / "tests/support"))

import processes  # noqa: E402

ROUNDS, SECONDS = 5, 4


def cpu_seconds(pid):
    """Of all threads."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def sums(debuggee):
    return int(debuggee.ask("stormed").split()[1].split(":")[1])


def window(debuggee):
    rounds, cpu = sums(debuggee), cpu_seconds(debuggee.pid)
    time.sleep(SECONDS)
    return (sums(debuggee) - rounds) / (cpu_seconds(debuggee.pid) - cpu)


def recorders(hertz, pid, folder):
    yield "mixstack record", [os.environ["MIXSTACK"], "record", "-q", "--mode", "cpu", "-r", str(hertz), "-p", str(pid), "-o",
                              f"{folder}/x.mxr"]
    if shutil.which("perf"):
        yield "perf record -g", ["perf", "record", "-q", "-g", "-F", str(hertz), "-p", str(pid), "-o", f"{folder}/x.data"]


def main():
    for hertz in [int(a) for a in sys.argv[1:]] or [99, 999]:
        slowdowns = {}
        with processes.scenario("storms", "sum:2") as debuggee, tempfile.TemporaryDirectory() as folder:
            time.sleep(3)  # tiers
            before = window(debuggee)
            for _ in range(ROUNDS):
                for what, command in recorders(hertz, debuggee.pid, folder):
                    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL) as recorder:
                        time.sleep(1.5)  # it has begun
                        during = window(debuggee)
                        recorder.send_signal(signal.SIGINT)
                        recorder.wait()
                    time.sleep(0.5)
                    after = window(debuggee)
                    slowdowns.setdefault(what, []).append(100 * ((before + after) / 2 / during - 1))
                    before = after
        print(f"{hertz} Hz: " + ", ".join(f"{what} {statistics.median(values):+.2f} %" for what, values in slowdowns.items()))


if __name__ == "__main__":
    main()
