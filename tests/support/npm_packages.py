"""Decoders and checkers of profiles from npm, as tests/formats/package-lock.json pins them."""
import os
import pathlib
import shutil
import subprocess

import debuggee_build

FORMATS = pathlib.Path(__file__).resolve().parents[1] / "formats"
CONSUMERS = pathlib.Path(os.environ.get("BUILD", FORMATS.parents[1] / "build/dev")) / "format-consumers"


@debuggee_build.one_at_a_time
def node_modules():
    """npm's packages of the lock file, fetched once; nothing: they cannot be had, and why."""
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "no node or no npm"
    lock = (FORMATS / "package-lock.json").read_text()
    stamp = CONSUMERS / "package-lock.json"
    if not (CONSUMERS / "node_modules").is_dir() or stamp.read_text() != lock:
        CONSUMERS.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(FORMATS / name, CONSUMERS / name)
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=CONSUMERS,
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            shutil.rmtree(CONSUMERS, ignore_errors=True)
            return None, "npm ci failed: " + done.stderr.strip().splitlines()[-1:][0] if done.stderr.strip() else "npm ci"
    return CONSUMERS / "node_modules", ""
