#!/usr/bin/env python3
"""Compares mixstack's metadata reader and names with System.Reflection.Metadata and ClrMD.

compare.py DUMP files        every row of the framework's assemblies
compare.py DUMP processes    every loaded method of scenario processes, and every frame
DUMP: the built metadata_dump. Differences are printed; the exit code is 1 if there are any."""
import itertools
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import debuggee_build  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ORACLE = debuggee_build.BUILD / "oracle_metadata" / "OracleMetadata"
SCENARIOS = ["generics", "signatures", "members", "async", "iterators", "lambdas", "dynamic_methods", "collectible",
             "marshalling", "reflection", "r2r_generics", "reverse_pinvoke", "resolvers"]
MAX_SHOWN = 20


def framework():
    listing = subprocess.run(["dotnet", "--list-runtimes"], capture_output=True, text=True, check=True).stdout
    found = [line.split() for line in listing.splitlines() if line.startswith("Microsoft.NETCore.App ")]
    _, version, folder = found[-1]
    return pathlib.Path(folder.strip("[]")) / version


def is_managed(path):
    return not path.name.endswith(".Native.dll")


def show(title, expected, actual):
    """Prints the first differences of two lists of lines; answers how many there are."""
    wrong = [(e, a) for e, a in itertools.zip_longest(expected, actual) if e != a]
    for e, a in wrong[:MAX_SHOWN]:
        print(f"{title}:\n  oracle   {e}\n  mixstack {a}")
    return len(wrong)


def compare_files(dump):
    files = [str(f) for f in sorted(framework().glob("*.dll")) if is_managed(f)]
    files.append(str(debuggee_build.SCENARIOS.with_suffix(".dll")))
    wrong = rows = 0
    for group in (files[i:i + 20] for i in range(0, len(files), 20)):
        expected = subprocess.run([ORACLE, "file", *group], capture_output=True, check=True).stdout.split(b"\n")
        actual = subprocess.run([dump, "file", *group], capture_output=True, check=True).stdout.split(b"\n")
        rows += len(expected)
        wrong += show("row", expected, actual)
    print(f"{len(files)} assemblies, {rows} rows, {wrong} differences")
    return wrong


def compare_process(dump, scenario):
    process = subprocess.Popen([debuggee_build.SCENARIOS, scenario], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        while b"READY" not in (line := process.stdout.readline()):
            if not line:
                raise RuntimeError(f"{scenario} did not start")
        for _ in range(5):  # the DAC can crash over a process that runs; a moment later it does not
            oracle = subprocess.run([ORACLE, "process", str(process.pid)], capture_output=True, timeout=120)
            if oracle.returncode == 0:
                break
        lines = [line for line in oracle.stdout.split(b"\n") if line and not line.startswith(b"T")]
        if oracle.returncode != 0:
            lines = [line for line in lines if line.startswith(b"F")]
            print(f"{scenario}: ClrMD ended with {oracle.returncode} among the modules; frames only")
        if not lines:
            raise RuntimeError(f"ClrMD says nothing of {scenario}: {oracle.stderr.decode()[-400:]}")
        ours = subprocess.run([dump, "process", str(process.pid)], input=b"\n".join(lines) + b"\n",
                              capture_output=True, check=True, timeout=60)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    actual = [b"\t".join(line.split(b"\t")[:3]) for line in ours.stdout.split(b"\n") if line]
    wrong = show(scenario, lines, actual)
    frames = sum(line.startswith(b"F") for line in lines)
    print(f"{scenario}: {frames} frames, {len(lines)} methods, {wrong} differences; {ours.stderr.decode().strip()}")
    return wrong


def main():
    dump, mode = sys.argv[1:3]
    debuggee_build.main()
    if not debuggee_build.have_dotnet():
        print("no dotnet on PATH")
        return 77
    debuggee_build.dotnet(HERE, ORACLE.parent)
    if mode == "files":
        wrong = compare_files(dump)
    else:
        wrong = sum(compare_process(dump, scenario) for scenario in SCENARIOS)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
