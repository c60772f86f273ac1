#!/usr/bin/env python3
"""Runs on the ARM64 machine: cores of scenarios, and what ClrMD and the programs say of the same stopped processes.

  make_cores.py FOLDER [SCENARIO...]

Writes NAME.core by the runtime's createdump, without the bytes of files, and NAME.json: what ClrMD said, and what the program
said. foreign_cores.py then reads them on another CPU. Prints "N made, N failed".
"""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cores  # noqa: E402
import processes  # noqa: E402
import witnesses  # noqa: E402

# Frames of every kind: jitted, precompiled, shared, funclets, P/Invokes and callbacks, exceptions on their way, tiers.
SCENARIOS = ("deadlock", "generics", "funclets", "r2r_generics", "nested_exceptions", "hardware_exceptions",
             "exception_through_native", "marshalling", "reverse_pinvoke", "osr", "tiers", "lambdas")


def make(folder, name, oracle):
    with processes.scenario(name) as debuggee:
        debuggee.stop()
        said = oracle.look(debuggee.pid)
        core = cores.createdump(debuggee.pid, pathlib.Path("/tmp") / f"{name}.core", "h")
        shutil.copyfile(core, folder / f"{name}.core")
        core.unlink()
        told = {"pid": debuggee.pid, "lines": debuggee.lines, "oracle": said, "mappings": processes.mappings(debuggee.pid)}
        (folder / f"{name}.json").write_text(json.dumps(told))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    oracle, made, failed = witnesses.Oracle(), 0, 0
    for name in sys.argv[2:] or SCENARIOS:
        try:
            make(folder, name, oracle)
            made += 1
        except (cores.CoreError, processes.ProcessError, witnesses.WitnessError, OSError) as e:
            print(f"FAIL {name}: {e}", flush=True)
            failed += 1
    oracle.close()
    print(f"{made} made, {failed} failed")
    return 1 if failed or not made else 0


if __name__ == "__main__":
    sys.exit(main())
