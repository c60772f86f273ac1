#!/usr/bin/env python3
"""Dumps a program under thread churn, GC stress and tier-up, and holds every stack against the grammar of its thread.

  churn.py [--redumps 9000] [--commands 1000] [--chunk 500] [--settings NAME]... [--verbose]

Each chunk is a fresh program under the next of the runtime settings below. The last lines are the totals; the exit
status is 0 when no frame shown as sure was wrong.
"""
import argparse
import collections
import dataclasses
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dumps  # noqa: E402
import grammar  # noqa: E402
import debuggee_build  # noqa: E402
import mixstack_dump  # noqa: E402
import processes  # noqa: E402

_EAGER = {"DOTNET_TC_BackgroundWorkerTimeoutMS": "0", "DOTNET_TC_CallCountingDelayMS": "0", "DOTNET_TC_CallCountThreshold": "2",
          "DOTNET_OSR_HitLimit": "1", "DOTNET_TC_OnStackReplacement_InitialCounter": "10"}
SETTINGS = {
    "default": {},
    "eager-tiering": _EAGER | {"DOTNET_TieredPGO": "1"},
    "server-gc": {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"},
    "small-gen0": {"DOTNET_GCgen0size": "0x20000"},
    "no-pgo": _EAGER | {"DOTNET_TieredPGO": "0"},
    "server-gc-eager-tiering": _EAGER | {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2", "DOTNET_TieredPGO": "1"},
    "no-concurrent-gc": {"DOTNET_gcConcurrent": "0"},
    "no-precompiled-code": {"DOTNET_ReadyToRun": "0", "DOTNET_TC_QuickJitForLoops": "1"},
    "no-tiering": {"DOTNET_TieredCompilation": "0"},
    "no-wx": {"DOTNET_EnableWriteXorExecute": "0"},
    "gc-stress": {"DOTNET_GCStress": "0xF"},  # release runtimes honour it, too: tens of thousands of collections
}


@dataclasses.dataclass
class Totals:
    dumps: int = 0
    threads: int = 0
    frames: int = 0
    checked: int = 0                 # threads whose name gives a grammar
    wrong: int = 0                   # stacks with a frame shown as sure that the grammar does not allow
    wrong_but_marked: int = 0        # stacks where every wrong frame, and the outer edge of every gap, carries a mark
    unnamed: int = 0                 # managed frames whose name says that it could not be had
    marked_frames: int = 0
    marked_stacks: int = 0
    misnamed: int = 0                # Thread.Name and the kernel's name differ
    ends: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    marks: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    pictures: set = dataclasses.field(default_factory=set)

    def lines(self):
        cut = sum(n for end, n in self.ends.items() if end != "end_of_stack")
        yield (f"{self.dumps} dumps, {self.threads} stacks ({self.checked} with a known grammar, {len(self.pictures)} different), "
               f"{self.frames} frames")
        yield f"{self.wrong} stacks with a wrong frame shown as sure, {self.wrong_but_marked} wrong ones that were marked, {self.misnamed} misnamed threads"
        yield f"{self.marked_frames} frames marked as doubtful, on {self.marked_stacks} stacks; {self.unnamed} managed frames without a name"
        yield f"{cut} stacks not to their end: " + (", ".join(f"{n} {end}" for end, n in self.ends.most_common() if end != "end_of_stack") or "-")


class Checker:
    """Counts, and describes what is wrong."""

    def __init__(self, verbose=False, limit=20, only_wrong=False):
        self.totals = Totals()
        self.verbose = verbose
        self.only_wrong = only_wrong
        self.limit = limit
        self.shown = collections.Counter()
        self._verdicts = {}

    def take(self, threads):
        self.totals.dumps += 1
        for thread in threads:
            self._take(thread)

    def _take(self, thread):
        t = self.totals
        t.threads += 1
        t.frames += len(thread.frames)
        t.ends[thread.stop] += 1
        t.unnamed += sum(f.kind == "managed" and (not f.name or grammar.UNNAMED.match(f.name) is not None) for f in thread.frames)
        doubtful = sum(not f.sure for f in thread.frames)
        if doubtful:
            t.marked_frames += doubtful
            t.marked_stacks += 1
            if self.verbose:
                self._show("marked", thread, "doubtful frames")
        if thread.stop != "end_of_stack":
            self._show("cut " + thread.stop, thread, f"stopped: {thread.stop}")
        name = thread.name if grammar.NAME.match(thread.name) else thread.comm if grammar.NAME.match(thread.comm) else ""
        # A newborn thread has the kernel's name of its parent until it gives itself its own.
        if grammar.NAME.match(thread.name) and grammar.NAME.match(thread.comm) and thread.comm != thread.name and len(thread.frames) > 6:
            t.misnamed += 1
            self._show("misnamed", thread, "two names")
        whole = thread.stop == "end_of_stack"
        if not thread.captured or not thread.frames:
            return
        if whole and thread.frames[-1].sure and not self._is_rooted(thread):
            self._wrong(thread, grammar.Verdict("complete, but does not end at a start", len(thread.frames) - 1))
        elif name and any(f.kind == "managed" for f in thread.frames):
            self._check(thread, name, not whole)

    @staticmethod
    def _is_rooted(thread):
        """clone3 or _start; the main thread of a stripped executable ends in the executable itself."""
        last = thread.frames[-1]
        return last.name in grammar.NATIVE_END or last.name == "Churn"

    def _check(self, thread, name, is_cut):
        self.totals.checked += 1
        verdict = self._verdicts.get((name, is_cut, thread.key))
        if verdict is None:
            if len(self._verdicts) > 100_000:
                self._verdicts.clear()
            verdict = self._verdicts[name, is_cut, thread.key] = grammar.check(name, thread.frames, is_cut)
        if len(self.totals.pictures) < 1_000_000:
            self.totals.pictures.add(hash(thread.key))
        if verdict.problem:
            self._wrong(thread, verdict)

    def _wrong(self, thread, verdict):
        if verdict.marked:
            self.totals.wrong_but_marked += 1
        else:
            self.totals.wrong += 1
        self._show("marked as doubtful" if verdict.marked else "WRONG", thread, f"#{verdict.index} {verdict.problem}")

    def _show(self, group, thread, problem):
        self.shown[group] += 1
        if self.shown[group] > self.limit or (self.only_wrong and group != "WRONG"):
            return
        print(f"-- {group}: thread {thread.tid} {thread.comm!r} {thread.name!r}: {problem}; {thread.stop}")
        for i, (frame, place) in enumerate(zip(thread.frames, thread.places.split())):
            print(f"   #{i:<3} {place} {frame.kind}{'' if frame.sure else ' DOUBTFUL'}{' funclet' if frame.funclet else ''} {frame.name}")
        sys.stdout.flush()


def run_chunk(checker, setting, redumps, commands, seed, gap_ms=25):
    """One program, dumped so many times in both ways. Answers what it said of itself."""
    with processes.Debuggee([debuggee_build.CHURN, 14, 10, 30, seed], SETTINGS[setting], ready_timeout=60) as program:
        before = [int(n) for n in program.ask("progress").split()[1:]]
        if redumps:
            for threads in dumps.redumps(program.pid, redumps, gap_ms, seed):
                checker.take(threads)
        for threads in dumps.commands(program.pid, commands):
            checker.take(threads)
        after = [int(n) for n in program.ask("progress", 30).split()[1:]]
        jitted = int(program.ask("jitted").split()[1])
    return [b - a for a, b in zip(before, after)] + [jitted]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redumps", type=int, default=9000)
    parser.add_argument("--commands", type=int, default=1000)
    parser.add_argument("--chunk", type=int, default=500, help="dumps of one program")
    parser.add_argument("--settings", action="append", choices=SETTINGS, default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="show doubtful stacks, too")
    options = parser.parse_args()
    debuggee_build.main()
    settings = options.settings or list(SETTINGS)
    chunks = max(1, (options.redumps + options.commands + options.chunk - 1) // options.chunk)
    if dumps.redump_binary() is None:
        print("no redump beside the command: every dump is a command of its own")
        options.commands, options.redumps = options.commands + options.redumps, 0
    print(f"mixstack: {mixstack_dump.binary()}")
    checker = Checker(options.verbose)
    start = time.monotonic()
    for i in range(chunks):
        share = lambda n: n * (i + 1) // chunks - n * i // chunks  # noqa: E731
        setting = settings[i % len(settings)]
        slices, born, collections_, jitted = run_chunk(checker, setting, share(options.redumps), share(options.commands), options.seed + i)
        print(f"chunk {i + 1}/{chunks} {setting}: {checker.totals.dumps} dumps, {checker.totals.wrong} wrong; meanwhile {born} threads born, "
              f"{collections_} collections, {slices} slices, {jitted} methods compiled; {time.monotonic() - start:.0f} s", flush=True)
    print("\n".join(checker.totals.lines()))
    return 0 if checker.totals.wrong == 0 and checker.totals.misnamed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
