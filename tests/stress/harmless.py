#!/usr/bin/env python3
"""Dumps thirty kinds of processes over and over and looks whether they are what they were.

  harmless.py [--dumps 1000] [--kind NAME]...

Of each kind: memory by kind (VmRSS and its parts, page tables, swap), page faults and the states of all threads, before
and after. A .NET runtime has timers of its own and works a little even when its program does not: what a twin that
nobody looks at changed in the same time is said beside it. A kind passes when nothing changed, or when memory did not
grow and no more faults came than the twin had, and 8. The last lines are the totals; the exit status is 0 when all pass.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import debuggee_build  # noqa: E402
import mixstack_dump  # noqa: E402
import processes  # noqa: E402

FAULTS_OF_CHANCE = 8
NATIVE = {
    "two threads": ("guest", "threads", 1, 0), "20 threads": ("guest", "threads", 20, 0),
    "300 threads": ("guest", "threads", 300, 0), "a stack in shared memory": ("guest", "shared_stack"),
    "4 fibers in 64 MB": ("guest", "arena", 64, 4), "16 fibers in 250 MB": ("guest", "arena", 250, 16),
    "a deep fiber": ("guest", "deep_fiber"), "a stack behind userfaultfd": ("guest", "served_stack"),
    "no main thread": ("guest", "leader_ends"), "plain": ("plain",), "in signal handlers": ("handler",),
}
DOTNET = ("sleep", "sleepers", "async", "locks", "pool", "generics", "iterators", "lambdas", "reflection", "dynamic_methods",
          "funclets", "deep", "big_frames", "members", "reverse_pinvoke", "native_thread", "marshalling", "resolvers",
          "tail_calls", "uco_fnptr")


def memory_and_faults(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = {k: int(v.split()[0]) for k, _, v in (line.partition(":") for line in lines)
             if k in ("VmRSS", "RssAnon", "RssFile", "RssShmem", "VmSwap", "VmPTE")}
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sizes | {"minor faults": int(stat[7]), "major faults": int(stat[9])}


def states_of(process):
    """How many threads are in which state. A runtime's threads wake up by themselves: running and waiting are one."""
    states = processes.thread_states(process.pid).values()
    return collections.Counter({"R": "S", "D": "S"}.get(state, state) for state in states)


def settle(process):
    """Until nothing changed for a second; .NET compiles methods again some time after the start."""
    before, since = None, time.monotonic()
    for _ in range(200):
        now = (memory_and_faults(process.pid), states_of(process))
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > 1:
            break
        time.sleep(0.05)


def difference(before, after):
    return {k: after[k] - before[k] for k in before if after[k] != before[k]}


def look(name, make, dumps):
    """Answers whether it passed."""
    with make() as target, (contextlib.nullcontext() if name in NATIVE else make()) as twin:
        for process in filter(None, (target, twin)):
            settle(process)
        states, twin_states = states_of(target), states_of(twin) if twin else None
        before, twin_before = memory_and_faults(target.pid), memory_and_faults(twin.pid) if twin else {}
        statuses, started = collections.Counter(), time.monotonic()
        for _ in range(dumps):
            command = [str(mixstack_dump.binary()), "dump", str(target.pid), "--json"]
            statuses[subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120).returncode] += 1
        changed = difference(before, memory_and_faults(target.pid))
        of_twin = difference(twin_before, memory_and_faults(twin.pid)) if twin else {}
        seconds = time.monotonic() - started
        for _ in range(100):  # a thread that was woken goes back to sleep
            # The runtime's thread that compiles in the background ends after some seconds, the twin's as well.
            if same_states := states_of(target) == (states - (twin_states - states_of(twin)) if twin else states):
                break
            time.sleep(0.01)
    faults, memory = "minor faults", ("VmRSS", "RssAnon", "RssShmem", "VmPTE", "VmSwap", "major faults")
    harmless = not changed or (bool(twin) and all(changed.get(k, 0) <= max(0, of_twin.get(k, 0)) for k in memory)
                               and changed.get(faults, 0) <= of_twin.get(faults, 0) + FAULTS_OF_CHANCE)
    passed = harmless and same_states
    print(f"{'ok' if passed else 'CHANGED':8}{name:28}{dumps} dumps, {seconds:5.1f} s, exit {dict(statuses)}, "
          f"states {'equal' if same_states else 'DIFFER'}, changed {changed or 'nothing'}"
          + (f", twin {of_twin or 'nothing'}" if changed and twin else ""), flush=True)
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dumps", type=int, default=1000)
    parser.add_argument("--kind", action="append", default=[])
    options = parser.parse_args()
    debuggee_build.native()
    kinds = {name: (lambda c=command: processes.native(*c)) for name, command in NATIVE.items()}
    kinds |= {name: (lambda n=name: processes.scenario(n)) for name in DOTNET}
    results = collections.Counter()
    for name in options.kind or kinds:
        try:
            results["passed" if look(name, kinds[name], options.dumps) else "failed"] += 1
        except processes.ProcessError as error:
            print(f"skipped {name}: {error}")
            results["skipped"] += 1
    print(f"{results['passed']} passed, {results['failed']} failed, {results['skipped']} skipped; {os.cpu_count()} CPUs")
    return 0 if results["passed"] and not results["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
