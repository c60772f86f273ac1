#!/usr/bin/env python3
"""Whether the same program has the same managed stacks on two CPUs.

  same_stacks.py DUMPS OTHER_DUMPS       folders that tests/live was told to keep dumps in (MIXSTACK_KEEP_DUMPS)

Compared are the managed frames of each thread that waits in the kernel and has a name of its own: one that runs is
somewhere else at each look. The JIT inlines by the CPU's own costs, so frames may be missing on one side; none may stand
in the place of another. The last line is "N passed, N failed, N skipped"; a test is a scenario.
"""
import collections
import difflib
import json
import pathlib
import sys


# Whether Parallel's caller works itself or waits for others that do is chance.
BY_CHANCE = {("r2r_generics", "parallel")}


def threads(dump):
    """name -> managed frames, outermost first; only of names that one thread has."""
    found = collections.defaultdict(list)
    for thread in dump["threads"]:
        managed = thread.get("managed") or {}
        if managed.get("name") and thread["syscall"] is not None:
            found[managed["name"]].append([f["raw_name"] for f in reversed(thread["frames"]) if f["kind"] == "managed"])
    return {name: stacks[0] for name, stacks in found.items() if len(stacks) == 1}


def only_left_out(mine, theirs):
    """Whether one has what the other has in the same order, and some frames more."""
    for kind, *_ in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if kind == "replace":
            return False
    return True


def compare(name, mine, theirs):
    """(threads that are equal, lines on those that are not)."""
    equal, lines = 0, []
    for thread, stack in sorted(mine.items()):
        other = theirs.get(thread)
        if other is None or (name, thread) in BY_CHANCE:
            continue
        if stack == other:
            equal += 1
        elif only_left_out(stack, other):
            lines.append(f"  {name}: {thread}: frames that one CPU's code has inlined")
        else:
            lines.append(f"FAIL {name}: {thread}:\n    " + "\n    ".join(difflib.unified_diff(other, stack, lineterm="", n=1)))
    return equal, lines


def main():
    first, second = map(pathlib.Path, sys.argv[1:])
    passed = failed = skipped = same = 0
    for path in sorted(first.glob("*.json")):
        other = second / path.name
        if not other.exists():
            skipped += 1
            continue
        equal, lines = compare(path.stem, threads(json.loads(path.read_text())), threads(json.loads(other.read_text())))
        same += equal
        if lines:
            print("\n".join(lines))
        if any(line.startswith("FAIL") for line in lines):
            failed += 1
        elif equal == 0:
            skipped += 1
        else:
            passed += 1
    print(f"{same} threads have equal managed stacks on both CPUs")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
