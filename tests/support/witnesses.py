"""The two outside witnesses: ClrMD for managed frames, gdb for native ones. Both see a process that is stopped
already and leave it stopped."""
import json
import os
import pathlib
import select
import struct
import subprocess
import time

import debuggee_build


class WitnessError(Exception):
    """A witness could not look at the process."""


class Oracle:
    """ClrMD, kept running: a fresh attach for each question, but only one start of its own runtime."""

    def __init__(self):
        self._process = None

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None

    def look(self, pid, timeout=180.0):
        """The managed stacks of `pid`, or of "core FILE", as the oracle prints them."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen([debuggee_build.ORACLE, "--serve"], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._process.stdin.write(f"{pid}\n".encode())
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        if not ready:
            self.close()
            raise WitnessError(f"ClrMD did not answer for {pid} within {timeout} s")
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise WitnessError(f"ClrMD ended while it looked at {pid}")
        answer = json.loads(line)
        if "error" in answer:
            raise WitnessError(f"ClrMD: {answer['error']}")
        return answer


# Offsets in the Windows AMD64 CONTEXT (winnt.h).
_CONTEXT = {"rax": 0x78, "rcx": 0x80, "rdx": 0x88, "rbx": 0x90, "rsp": 0x98, "rbp": 0xA0, "rsi": 0xA8, "rdi": 0xB0,
            "r8": 0xB8, "r9": 0xC0, "r10": 0xC8, "r11": 0xD0, "r12": 0xD8, "r13": 0xE0, "r14": 0xE8, "r15": 0xF0,
            "rip": 0xF8}


def context_registers(frame):
    """Integer registers of an oracle frame's CONTEXT; the rest of those bytes ClrMD leaves uninitialised."""
    raw = bytes.fromhex(frame["context"])
    return {name: struct.unpack_from("<Q", raw, offset)[0] for name, offset in _CONTEXT.items()}


_GDB_SCRIPT = pathlib.Path(__file__).with_name("gdb_stacks.py")
_GDB = ["gdb", "-nx", "-q", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
        "-ex", "set confirm off", "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on"]


def _stacks_of(line):
    return {int(tid): stack for tid, stack in json.loads(line[len("STACKS "):]).items()}


def gdb_stacks(pid, limit=256, timeout=180.0):
    """The stacks of a process, see _gdb_stacks."""
    return _gdb_stacks(["-p", str(pid)], ["-ex", "detach"], limit, timeout)


class Gdb:
    """gdb, kept running: its start takes longer than its look."""

    def __init__(self):
        self._process = None

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None

    def look(self, pid, limit=256, timeout=180.0):
        """The stacks of `pid`, as gdb_stacks tells them."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen([*_GDB, "-ex", f"python LIMIT = {limit}; SERVE = True", "-x", str(_GDB_SCRIPT)],
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self._rest = b""
        self._process.stdin.write(f"{pid}\n".encode())
        self._process.stdin.flush()
        line = self._answer(pid, time.monotonic() + timeout)
        if line.startswith("STACKS "):
            return _stacks_of(line)
        raise WitnessError(f"gdb printed no stacks for {pid}: {line}")

    def _answer(self, pid, deadline):
        stream = self._process.stdout.fileno()
        while True:
            line, end, rest = self._rest.partition(b"\n")
            if end:
                self._rest = rest
                if line.startswith((b"STACKS ", b"ERROR ")):
                    return line.decode(errors="replace")
                continue
            ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(stream, 1 << 20) if ready else b""
            if not piece:
                self.close()
                raise WitnessError(f"gdb did not answer for {pid}")
            self._rest += piece


def gdb_core_stacks(executable, core, limit=256, timeout=180.0):
    """The stacks in a core, see _gdb_stacks."""
    return _gdb_stacks([str(executable), str(core)], [], limit, timeout)


def _gdb_stacks(source, finish, limit, timeout):
    """tid -> list of {"pc", "sp", "name", "kind", "library"} innermost first, plus how the stack ended."""
    command = [*_GDB, *source, "-ex", f"python LIMIT = {limit}", "-x", str(_GDB_SCRIPT), *finish]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout, text=True, errors="replace")
    except subprocess.TimeoutExpired as late:
        raise WitnessError(f"gdb needed more than {timeout} s for {source}") from late
    for line in done.stdout.splitlines():
        if line.startswith("STACKS "):
            return _stacks_of(line)
    raise WitnessError(f"gdb printed no stacks for {source}: {done.stdout[-800:]}")
