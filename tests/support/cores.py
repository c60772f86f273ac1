"""Cores of debuggees, by every program that writes them, and what is done to cores afterwards."""
import contextlib
import ctypes
import os
import pathlib
import resource
import shutil
import struct
import signal
import subprocess
import tempfile
import time
import unittest

import processes

PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")
USES_PID = pathlib.Path("/proc/sys/kernel/core_uses_pid")
# What the tools on the command line make of a core, and how they are called.
PACKERS = {"zst": ["zstd", "-q", "-1", "-f"], "gz": ["gzip", "-1", "-k", "-f"], "lz4": ["lz4", "-q", "-1", "-f"]}


class CoreError(Exception):
    """A core could not be written."""


class ToolCrash(CoreError):
    """The tool that was to write it crashed. createdump does now and then, over exceptions on their way: its DAC has a
    segmentation fault (libmscordaccore.so), every time while the process stands as it does."""


@contextlib.contextmanager
def folder():
    """A folder for big files that vanishes with its content. TMPDIR decides where."""
    with tempfile.TemporaryDirectory(prefix="mixstack-cores-") as path:
        yield pathlib.Path(path)


def mapped_files(pid):
    """Paths of the files a process has mapped, in their order."""
    paths = {}
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        path = line.split(None, 5)[5:]
        if path and path[0].startswith("/") and not path[0].endswith(" (deleted)") and not path[0].startswith("/dev/"):
            paths[path[0]] = True
    return list(paths)


def createdump(pid, path, kind="u"):
    """The runtime's own tool: t triage, n normal, h heap, u full. Leaves the process as it was."""
    runtime = next((p for p in mapped_files(pid) if p.endswith("/libcoreclr.so")), None)
    if runtime is None:
        raise CoreError(f"no runtime in {pid}")
    tool = pathlib.Path(runtime).with_name("createdump")
    if "MIXSTACK_MUSL" in os.environ:
        raise unittest.SkipTest("createdump for musl needs GNU's C++ library for musl, which no package here has")
    return _tool([tool, f"-{kind}", "-f", path, pid], path)


def forbid_execution(core, address):
    """Takes the right to execute from the segment of a 64-bit core that holds an address."""
    with open(core, "r+b", buffering=0) as file:
        [table] = struct.unpack("<Q", os.pread(file.fileno(), 8, 32))
        size, count = struct.unpack("<HH", os.pread(file.fileno(), 4, 54))
        for header in range(table, table + size * count, size):
            kind, flags, _, begin, _, _, length = struct.unpack("<IIQQQQQ", os.pread(file.fileno(), 48, header))
            if kind == 1 and begin <= address < begin + length:
                os.pwrite(file.fileno(), struct.pack("<I", flags & ~1), header + 4)


def gcore(pid, path):
    _tool(["gcore", "-o", path, pid], f"{path}.{pid}")
    os.rename(f"{path}.{pid}", path)
    return path


def _tool(command, result):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
    if not os.path.exists(result):
        error = ToolCrash if done.returncode < 0 else CoreError
        raise error(f"{command[0]} wrote no core (status {done.returncode}): {done.stdout[-800:]}")
    return result


def _usable(pattern):
    """Whether core_pattern tells where a core will lie: a file, named by nothing but the pid, in an existing folder."""
    return (pattern and not pattern.startswith("|") and "%" not in pattern.replace("%p", "")
            and (not pattern.startswith("/") or os.access(os.path.dirname(pattern), os.W_OK)))


def kernel_obstacle():
    """Why the kernel writes no core where a test can find it, or None."""
    pattern = PATTERN.read_text().strip()
    usable = _usable(pattern) or os.access(PATTERN, os.W_OK)
    return None if usable else f"core_pattern is {pattern!r}, and we are not root"


@contextlib.contextmanager
def kernel_writes_files():
    """The kernel writes cores where `find_kernel_core` finds them. Changes the machine's core_pattern only where it
    must, and puts it back."""
    before = PATTERN.read_text()
    change = not _usable(before.strip())
    if change:
        PATTERN.write_text("core.%p")
    try:
        yield
    finally:
        if change:
            PATTERN.write_text(before)


def allow(pid, coredump_filter=0x33):
    resource.prlimit(pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    pathlib.Path(f"/proc/{pid}/coredump_filter").write_text(hex(coredump_filter))


def find_kernel_core(pid, where, timeout=120.0):
    """The core of a process that died with `where` as its working directory, moved there. Its writer has ended: the
    kernel reaps a process after its core."""
    pattern = PATTERN.read_text().strip()
    name = pattern.replace("%p", str(pid))
    if name == pattern and USES_PID.read_text().strip() != "0":
        name += f".{pid}"
    found = pathlib.Path(where) / name  # an absolute pattern stays what it is
    deadline = time.monotonic() + timeout
    while not found.exists():
        if time.monotonic() > deadline:
            raise CoreError(f"the kernel wrote no core (core_pattern {pattern})")
        time.sleep(0.02)
    return pathlib.Path(shutil.move(found, pathlib.Path(where) / "kernel-core"))


def _tgkill(pid, number):
    if ctypes.CDLL(None, use_errno=True).syscall(234, pid, pid, int(number)) != 0:  # __NR_tgkill of x86-64
        raise CoreError(f"tgkill of {pid}: {os.strerror(ctypes.get_errno())}")


def _let_run_first(pid):
    """All threads on one processor, and the main thread before all others: on a busy machine a thread whose wait is over
    would go on before the main thread takes its signal. Takes root; without it the tests are as good as the machine."""
    cpu = min(os.sched_getaffinity(pid))
    try:
        for tid in processes.thread_states(pid):
            os.sched_setaffinity(tid, {cpu})
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


def kernel_core(debuggee, where, coredump_filter=0x33):
    """Ends the process with a signal for which neither .NET nor the program has a handler; the kernel writes a core,
    which ends up in `where`; that must be the working directory of the process.

    A stopped process must be continued to die, and .NET handles SIGCONT. Both signals go to the main thread, and the
    kernel delivers SIGSYS, as one of the synchronous ones, first: nothing but system calls that wait goes on."""
    allow(debuggee.pid, coredump_filter)
    _let_run_first(debuggee.pid)
    with kernel_writes_files():
        _tgkill(debuggee.pid, signal.SIGSYS)
        if any(state in processes.STOPPED for state in processes.thread_states(debuggee.pid).values()):
            _tgkill(debuggee.pid, signal.SIGCONT)
        debuggee.wait(60)
        return find_kernel_core(debuggee.pid, where)


def pack(core, suffix):
    """The core compressed by the command-line tool, beside it."""
    packed = pathlib.Path(f"{core}.{suffix}")
    command = PACKERS[suffix] + ([str(core)] if suffix != "lz4" else [str(core), str(packed)])
    _tool(command, packed)
    return packed


def copy_tree(files, root):
    """Copies below `root` under their whole paths."""
    for path in files:
        target = pathlib.Path(root) / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(path, target)


def copy_flat(files, root):
    """Copies in one folder, by their bare names."""
    for path in files:
        _copy(path, pathlib.Path(root) / os.path.basename(path))


def _copy(path, target):
    try:
        os.link(os.path.realpath(path), target)
    except OSError:
        shutil.copyfile(path, target)


def scenario(name, *arguments, where, environment=None):
    """A scenario whose working directory is `where`."""
    return processes.scenario(name, *arguments, environment=environment, cwd=where)
