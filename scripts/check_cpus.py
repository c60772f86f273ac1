#!/usr/bin/env python3
"""Code outside of a CPU's own folders names no CPU: what differs stands in src/base/arch/<cpu>/cpu.h and in twin folders, and
is reached through src/base/arch/per_cpu.h.

  check_cpus.py [ROOT]

Prints each violation as FILE:LINE: TEXT. Exit status 1 when there is one.
"""
import pathlib
import re
import sys

DISPATCH = {"base/arch/per_cpu.h", "base/arch/cpu.h"}
# What the Windows formats call x86-64 and AArch64.
OTHER_TWINS = {"amd64", "arm64"}
COMMENT = re.compile(r"//.*|\"(?:\\.|[^\"\\])*\"")


def cpus(root):
    """The enumerators of Arch."""
    text = (root / "include/mixstack/registers.h").read_text()
    found = re.search(r"enum class Arch [^{]*\{([^}]*)\}", text)
    return [name for name in re.findall(r"\w+", found.group(1)) if name != "unknown"]


def check(root):
    names = cpus(root)
    any_cpu = "|".join(names)
    named = re.compile(rf"\bArch::(?:{any_cpu})\b|\b(?:{any_cpu})_reg\b|\w\.(?:{any_cpu})\b|\b__(?:x86_64|aarch64|i386|arm)__\b")
    for path in sorted((root / "src").rglob("*")):
        inside = path.relative_to(root / "src")
        is_twin = not {*names, *OTHER_TWINS}.isdisjoint(inside.parts)
        if path.suffix not in (".h", ".cc") or path.stem.endswith("_test") or is_twin or inside.as_posix() in DISPATCH:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if found := named.search(COMMENT.sub("", line)):
                yield f"src/{inside.as_posix()}:{number}: {found.group(0)} outside of a CPU's own folder"


def main():
    faults = list(check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])))
    for fault in faults:
        print(fault)
    print(f"CPUs: {len(faults)} named outside of their folders")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
