#!/usr/bin/env python3
"""Runs on the ARM64 machine: cores of scenarios, and what ClrMD and the programs say of the same stopped processes.

  make_cores.py FOLDER [SCENARIO...]      "memory": programs whose memory is of one shape (memory_cores.py)

Writes NAME.core by the runtime's createdump, without the bytes of files, and NAME.json: what ClrMD said, and what the program
said. foreign_cores.py then reads them on another CPU. Prints "N made, N failed".
"""
import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cores  # noqa: E402
import debuggee_build  # noqa: E402
import memory_cores  # noqa: E402
import processes  # noqa: E402
import witnesses  # noqa: E402

# Waits; frames that are jitted, precompiled, shared, funclets, of P/Invokes; exceptions on their way.
SCENARIOS = ("deadlock", "generics", "funclets", "nested_exceptions", "marshalling")
SLOW_START = 400.0  # seconds: emulated, beside others


def make(folder, name, command, ask, more):
    """`ask` answers what ClrMD says of the stopped process."""
    with processes.Debuggee(command, ready_timeout=SLOW_START) as debuggee:
        debuggee.stop()
        said = ask(debuggee.pid)
        core = cores.createdump(debuggee.pid, pathlib.Path("/tmp") / f"{name}.core", "h")
        shutil.copyfile(core, folder / f"{name}.core")
        core.unlink()
        told = {"pid": debuggee.pid, "lines": debuggee.lines, "oracle": said, **more,
                "mappings": processes.mappings(debuggee.pid)}
        unfinished = folder / f"{name}.part"
        unfinished.write_text(json.dumps(told))
        unfinished.rename(folder / f"{name}.json")


def wanted(names, oracle):
    """(name, command, who is asked, what the reader is told besides) of each core."""
    for name in names:
        if name != "memory":
            yield name, [debuggee_build.SCENARIOS, name], oracle.look, {}
            continue
        for program, shape, count in memory_cores.SHAPES:
            yield (memory_cores.name_of(program, shape), [memory_cores.PROGRAMS[program](), shape, str(count)],
                   memory_cores.asked_of_oracle, {"memory": {"shape": shape}})


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    oracle, made, failed = witnesses.Oracle(), 0, 0
    for name, *how in wanted(sys.argv[2:] or (*SCENARIOS, "memory"), oracle):
        try:
            make(folder, name, *how)
            made += 1
            print(f"made {name}", flush=True)
        except (cores.CoreError, processes.ProcessError, witnesses.WitnessError, subprocess.SubprocessError, OSError) as e:
            print(f"FAIL {name}: {e}", flush=True)
            failed += 1
    oracle.close()
    print(f"{made} made, {failed} failed")
    return 1 if failed or not made else 0


if __name__ == "__main__":
    sys.exit(main())
