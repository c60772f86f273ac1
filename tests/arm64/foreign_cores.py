#!/usr/bin/env python3
"""Reads the ARM64 cores that make_cores.py made, on this machine: the frames of each thread are ClrMD's of there, waits are
what the programs said; types and holders of others (memory_cores.py).

  foreign_cores.py FOLDER SYSROOT...     where files of the ARM64 machine are: below one, or in it

The last line is "N passed, N failed, N skipped"; a test is a core.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import memory_cores  # noqa: E402
import mixstack_dump  # noqa: E402
import stack_compare  # noqa: E402


def said_waits(lines):
    """Of "TRUTH WAITER KIND OBJECT OWNER"."""
    return {(words[1], words[2], words[-1]) for words in map(str.split, lines) if len(words) == 5}


def told_waits(answer):
    names = {t["tid"]: t["name"] for t in answer["threads"]}
    return {(names[t["tid"]], t["wait"]["kind"], names.get(owner, "-")) for t in answer["threads"] if t["wait"]
            for owner in t["wait"]["owners"] or ["-"]}


def faults_of(told, dump, answer):
    faults = [str(d) for d in stack_compare.compare_process(dump, told["oracle"], None, told["mappings"]) if not d.known]
    if missing := said_waits(told["lines"]) - told_waits(answer):
        faults.append(f"waits that the program said: {missing}, told: {told_waits(answer)}")
    named = sum(f["kind"] == "managed" for t in dump["threads"] for f in t["frames"])
    if dump["process"]["arch"] != "aarch64" or not named:
        faults.append(f"{dump['process']['arch']}, {named} managed frames")
    return faults, named


def read(core, told, files):
    """(faults, what was seen)."""
    if "memory" in told:
        faults, objects = memory_cores.faults_of(core, told, files)
        return faults, f"{objects} objects"
    dump = mixstack_dump.dump_core(core, *files)
    answer = json.loads(mixstack_dump.run("why", core, "--json", *files)[1])
    faults, named = faults_of(told, dump, answer)
    versions = [r["version"] for r in dump["process"]["runtimes"]]
    return faults, f".NET {versions}, {len(dump['threads'])} threads, {named} managed frames"


def main():
    folder, *sysroots = map(pathlib.Path, sys.argv[1:])
    files = ["--only-sysroot", *(word for root in sysroots for word in ("--sysroot", root))]
    passed = failed = 0
    for core in sorted(folder.glob("*.core")):
        path = core.with_suffix(".json")
        if not path.exists() or not path.stat().st_size:
            print(f"FAIL {path.stem}: the other machine ended while it was made")
            failed += 1
            continue
        faults, seen = read(core, json.loads(path.read_text()), files)
        print(f"{'FAIL' if faults else 'ok  '} {path.stem}: {seen}")
        for fault in faults[:20]:
            print("     ", fault)
        passed, failed = passed + (not faults), failed + bool(faults)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
