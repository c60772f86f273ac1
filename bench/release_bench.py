#!/usr/bin/env python3
"""What the same program costs to look at on .NET 11 as on 10: release_bench.py [ROUNDS]

Both processes are there at once and looked at in turn, so that what else the machine does meets both. Printed are the
smallest and the median of each, and the ratio of the smallest: of a dump, `why` of the same process (120 ms pass between
its looks), the second dump of one session, `why` over a ring of 500 locks (milliseconds, whole commands or one call),
and the processor time of `record` (999 Hz, 3 s).
MIXSTACK names the command, default build/release; the second dump needs libmixstack.so beside it.
"""
import contextlib
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
sys.path.insert(0, str(ROOT / "tests/support"))

import debuggee_build  # noqa: E402
import processes  # noqa: E402
import warm_session  # noqa: E402

MIXSTACK = os.environ["MIXSTACK"]
RELEASES = (10, 11)


def command(*arguments):
    """Milliseconds."""
    begin = time.monotonic()
    subprocess.run([MIXSTACK, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    return (time.monotonic() - begin) * 1000


def processor_time(*arguments):
    """Milliseconds that a command used."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (usage.ru_utime + usage.ru_stime) * 1000
    begin = used()
    command(*arguments)
    return used() - begin


def show(what, figures):
    least = {release: min(seen) for release, seen in figures.items()}
    text = "   ".join(f"{release}: {least[release]:7.2f} {statistics.median(seen):7.2f} ms" for release, seen in figures.items())
    print(f"{what:34} {text}   ratio {least[11] / least[10]:.2f}", flush=True)


@contextlib.contextmanager
def both(*scenario):
    """{release: pid}"""
    with contextlib.ExitStack() as stack:
        pids = {}
        for release in RELEASES:
            program = [debuggee_build.scenarios_on(release), *map(str, scenario)]
            pids[release] = stack.enter_context(processes.Debuggee(program)).pid
        time.sleep(1)  # their own start
        yield pids


def in_turn(what, pids, rounds, measure):
    figures = {release: [] for release in pids}
    for _ in range(rounds):
        for release, pid in pids.items():
            figures[release].append(measure(pid))
    show(what, figures)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with both("sleepers", 57, 20, 0) as pids:
        in_turn("dump of 66 threads", pids, rounds, lambda pid: command("dump", pid))
        in_turn("why, 66 threads asleep", pids, rounds, lambda pid: command("why", pid))
        in_turn("the same, CPU", pids, rounds, lambda pid: processor_time("why", pid))
        if warm_session.library():
            with contextlib.ExitStack() as stack:
                sessions = {pid: stack.enter_context(warm_session.WarmSession(pid)) for pid in pids.values()}
                in_turn("a later dump of one session", pids, 5 * rounds, lambda pid: sessions[pid].milliseconds())
    with both("deadlock_ring") as pids:
        in_turn("why, a ring of 500 locks", pids, rounds, lambda pid: command("why", "--sample", "0", pid))
    with both("spin") as pids, tempfile.TemporaryDirectory() as folder:
        in_turn("record, 999 Hz for 3 s, CPU", pids, max(rounds // 5, 2),
                lambda pid: processor_time("record", "-m", "cpu", "-F", 999, "-d", 3, "-o", f"{folder}/{pid}.folded", "-p", pid))


if __name__ == "__main__":
    main()
