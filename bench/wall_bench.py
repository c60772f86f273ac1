#!/usr/bin/env python3
"""What `mixstack record --mode wall` at 100 Hz costs, on threads that wait for ever and on threads that all run between two
rounds, beside the same by ptrace stops and beside `dotnet-trace collect`.

    bench/wall_bench.py [THREADS...]         default: 10 100 500

Printed for each: processor time of the recorder as a share of one processor, in all (with opening, symbols and writing) and while
it goes on (a recording of LONG seconds less one of SHORT seconds); the share of time in which a thread that computes was held:
neither on a processor nor waiting for one (schedstat), which no neighbour on the machine disturbs; and for how much of the time
any thread was held, as --stats says. Stops are had by taking the right to load BPF programs and to open perf events away.
dotnet-trace is found by DOTNET_TRACE, PATH or ~/.dotnet/tools; its processor time leaves out what the process does for it.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
sys.path.insert(0, str(ROOT / "tests/support"))

import processes  # noqa: E402

MIXSTACK = os.environ["MIXSTACK"]
SHORT, LONG = 2, 12
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-bpf,-perfmon,-sys_admin"]


def dotnet_trace():
    own = pathlib.Path.home() / ".dotnet/tools/dotnet-trace"
    return os.environ.get("DOTNET_TRACE") or shutil.which("dotnet-trace") or (str(own) if own.exists() else None)


def thread_named(pid, name):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return task
    raise SystemExit(f"wall_bench: no thread {name} in {pid}")


def held_ns(spinner):
    """Time up to now in which the thread was neither on a processor nor waiting for one, but for a constant."""
    before = time.monotonic_ns()
    cpu, queued, _ = map(int, (spinner / "schedstat").read_text().split())
    return before - cpu - queued


def run(command, spinner):
    """Seconds of processor time of the command, share of the time the spinner was held, what it said."""
    before, held, begin = resource.getrusage(resource.RUSAGE_CHILDREN), held_ns(spinner), time.monotonic_ns()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    share = (held_ns(spinner) - held) / (time.monotonic_ns() - begin)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        print(f"  {command[0]}: exit status {done.returncode}: {done.stdout[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, share, done.stdout


def recorded(pid, spinner, folder, by_stops):
    def command(seconds):
        return [*(WITHOUT_RIGHTS if by_stops else []), MIXSTACK, "record", "-p", str(pid), "--mode", "wall", "-d", str(seconds), "-o",
                f"{folder}/{by_stops}.mxr", "--stats"]
    short, _, _ = run(command(SHORT), spinner)
    long, held, text = run(command(LONG), spinner)
    any_held = re.search(r"held[^\n]*?([\d.]+) %", text)
    return (long / LONG, (long - short) / (LONG - SHORT), held, any_held.group(0) if any_held else "")


def traced(tracer, pid, spinner, folder):
    cpu, held, _ = run([tracer, "collect", "-p", str(pid), "--profile", "dotnet-sampled-thread-time", "--duration", "00:00:00:10", "-o",
                        f"{folder}/t.nettrace"], spinner)
    return cpu / 10, None, held, ""


def tell(what, row):
    whole, steady, held, any_held = row
    print(f"  {what:34} {whole * 100:7.1f} % of a processor in all {'' if steady is None else f'{steady * 100:6.1f} % while it goes on':28}"
          f" held {held * 100:6.2f} %  {any_held}", flush=True)


def main():
    tracer = dotnet_trace()
    for threads in [int(a) for a in sys.argv[1:]] or [10, 100, 500]:
        for what, scenario in (("wait for ever", ["sleepers", threads, 20, 1]), ("all run in between", ["wakers", threads, 20, 8, 1])):
            with processes.scenario(*map(str, scenario)) as debuggee, tempfile.TemporaryDirectory() as folder:
                spinner = thread_named(debuggee.pid, "spin0")
                print(f"{threads} threads that {what}, 20 methods deep, and one that computes")
                tell("mixstack record, no stops", recorded(debuggee.pid, spinner, folder, False))
                tell("mixstack record, by ptrace", recorded(debuggee.pid, spinner, folder, True))
                if tracer:
                    tell("dotnet-trace collect", traced(tracer, debuggee.pid, spinner, folder))


if __name__ == "__main__":
    main()
