"""How long the command takes to start, and how big it is: `--version` against a C program that does nothing."""
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIXSTACK = os.environ.get("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
ROUNDS = 300
LIMIT_MS, LIMIT_MB = 5.0, 15.0


def milliseconds(*command):
    """The median time from start to end, output thrown away."""
    to_null = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        child = os.posix_spawn(command[0], command, {}, file_actions=to_null)
        os.waitpid(child, 0)
        times.append((time.perf_counter() - begin) * 1000)
    return sorted(times)[ROUNDS // 2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        nothing, stripped = pathlib.Path(folder) / "nothing", pathlib.Path(folder) / "mixstack"
        source = pathlib.Path(folder) / "nothing.c"
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-O2", source, "-o", nothing], check=True)
        subprocess.run(["strip", MIXSTACK, "-o", stripped], check=True)
        size = stripped.stat().st_size / 1e6
        peer, ours = milliseconds(str(nothing)), milliseconds(str(stripped), "--version")
        completions = milliseconds(str(stripped), "completions", "bash")
    print(f"mixstack --version {ours:.2f} ms, completions {completions:.2f} ms, an empty C program {peer:.2f} ms; {size:.1f} MB")
    return 0 if ours < LIMIT_MS and size < LIMIT_MB else 1


if __name__ == "__main__":
    raise SystemExit(main())
