#!/usr/bin/env python3
"""Compiles files alone, without precompiled headers, for their syntax only: check_includes.py [--changed N | --all | FILE...]

Builds compile files in batches with headers that others have read, in which a file that lacks an #include passes.
`--changed N`: the N files that were changed last, those of the working tree first; a changed header counts as the file
beside it. The compile commands are those of build/alone, which is configured and never built.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("src/", "include/", "tests/", "bench/", "fuzz/", "examples/")


def commands():
    """The command of each file that this machine's build compiles."""
    database = json.loads((ROOT / "build/alone/compile_commands.json").read_text())
    return {os.path.relpath(entry["file"], ROOT): entry for entry in database}


def changed(count, known):
    """Names of sources, those with the newest changes first."""
    git = ("git", "-C", ROOT)
    text = subprocess.run([*git, "diff", "--name-only", "HEAD"], capture_output=True, text=True, check=True).stdout
    text += subprocess.run([*git, "ls-files", "--others", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
    text += subprocess.run([*git, "log", "--format=", "--name-only", "-n", "200"], capture_output=True, text=True, check=True).stdout
    names = []
    for name in text.splitlines():
        source = name.removesuffix(".h") + ".cc" if name.endswith(".h") else name
        if name.startswith(FOLDERS) and source in known and source not in names:
            names.append(source)
    return names[:count]


def check(entry):
    """What the compiler says of one file; nothing where all is well."""
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    at = words.index("-o")
    del words[at:at + 2]
    words.remove("-c")
    done = subprocess.run([*words, "-O0", "-fsyntax-only"], cwd=entry["directory"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
    return "" if done.returncode == 0 else done.stdout[-4000:] or f"status {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changed", type=int, metavar="N")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    known = commands()
    names = list(known) if options.all else changed(options.changed, known) if options.changed else options.files
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 2)) as pool:
        for name, said in zip(names, pool.map(check, [known[name] for name in names])):
            if said:
                failed += 1
                print(f"FAIL {name}, compiled alone\n     " + said.rstrip().replace("\n", "\n     "))
    print(f"compiled alone: {len(names) - failed} passed, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
