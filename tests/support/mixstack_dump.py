"""Runs the command under test."""
import json
import os
import pathlib
import subprocess
import time

import debuggee_build


class DumpError(Exception):
    """mixstack failed, hung or printed something that is not its format."""


def binary():
    """The command under test: $MIXSTACK, else the newest one below build/. None: not built."""
    if os.environ.get("MIXSTACK"):
        return pathlib.Path(os.environ["MIXSTACK"])
    found = [p for p in debuggee_build.BUILD.glob("**/mixstack") if p.is_file() and os.access(p, os.X_OK)]
    return max(found, key=lambda p: p.stat().st_mtime, default=None)


def run(*arguments, timeout=60.0):
    """(exit status, standard output, standard error, seconds)."""
    start = time.monotonic()
    try:
        done = subprocess.run([str(binary()), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout)
    except subprocess.TimeoutExpired as late:
        raise DumpError(f"mixstack {' '.join(map(str, arguments))} did not end within {timeout} s") from late
    return done.returncode, done.stdout.decode(), done.stderr.decode(), time.monotonic() - start


def messages(error):
    """What a command said on standard error, where MIXSTACK_MESSAGES is json (harness.py): one dictionary for each failure."""
    return [json.loads(line) for line in error.splitlines() if line.startswith('{"format":"mixstack-message"')]


def codes(error):
    """The stable names of failures on standard error, without words."""
    return [message["code"] for message in messages(error)]


def reasons(error):
    """(code, reason) of each failure on standard error."""
    return [(message["code"], message["reason"]) for message in messages(error)]


def told(error):
    """(code, subject) of each message on standard error."""
    return [(message["code"], message["subject"]) for message in messages(error)]


def dump(pid, *options, timeout=60.0, stop_timeout=5000, inlined=False):
    """The parsed JSON of `mixstack dump PID --json`; with `inlined`, functions that were inlined into a frame stand before
    it, each with `inlined_by` (None of frames). The stop may take long: a test machine may be overloaded, and a running
    thread that is not scheduled for 20 ms (the command's default) says nothing about the command."""
    return _parsed(run("dump", pid, "--json", "--stop-timeout", stop_timeout, *options, timeout=timeout), inlined)


def dump_at_rest(pid, *options, tries=100):
    """The same once no waiting thread moves any more: two dumps in a row with equal stacks. A scenario is ready when
    its last thread is in place, and others may still be on their way then."""
    def stacks(of):
        return {t["tid"]: [f["ip"] for f in t["frames"]] for t in of["threads"] if t["syscall"] is not None}

    before = dump(pid, *options)
    for _ in range(tries):
        time.sleep(0.05)
        now = dump(pid, *options)
        if stacks(now) == stacks(before):
            return now
        before = now
    raise DumpError(f"the waiting threads of {pid} do not come to rest")


def dump_core(core, *options, timeout=60.0):
    """The parsed JSON of `mixstack dump --core FILE --json`."""
    return _parsed(run("dump", "--core", core, "--json", *options, timeout=timeout))


def _with_inlined(frame):
    yield from ({**frame, **function} for function in frame["inlined"])
    yield {**frame, "inlined_by": None}


def _parsed(outcome, inlined=False):
    status, out, error, _ = outcome
    if status < 0 or not out:
        raise DumpError(f"mixstack ended with status {status}: {error[-2000:]}")
    try:
        parsed = json.loads(out)
        if inlined:
            for thread in parsed["threads"]:
                thread["frames"] = [f for frame in thread["frames"] for f in _with_inlined(frame)]
        return parsed
    except ValueError as bad:
        raise DumpError(f"mixstack printed no JSON ({bad}), status {status}: {error[-2000:]}") from bad
