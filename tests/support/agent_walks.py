"""Walks of one instant by several walkers: the agent's in its signal handler, the dump's from outside, and two ways of
others, rebuilt to show what they lose."""
import ctypes
import platform
import signal
import struct
import subprocess

_LIBC = ctypes.CDLL(None, use_errno=True)
_RT_TGSIGQUEUEINFO = {"x86_64": 297, "aarch64": 240}[platform.machine()]
# A system call that a signal interrupts is begun again or ends. x86-64's pc is behind the instruction while the thread is
# stopped, and a handler comes back to it; AArch64's is moved back before, and behind it again where the call ends
# (do_signal in Linux arch/arm64/kernel/signal.c).
_AFTER_SYSCALL = {"x86_64": -2, "aarch64": 4}[platform.machine()]
_SI_QUEUE = -1
_WAITING = 2        # sampler.cc: what a tick's signal carries beside the mark
# Of a sample: deep_stacks.h; of a thread that did not wait: sampler.cc.
MOST_FRAMES = {"waiting": 0xffff, "running": 4096, "cpu": 4096}


# The walk from inside.

def mark(pid, library):
    """The value by which the agent in a process knows its own signals: an address in it."""
    for line in subprocess.run(["nm", "-C", str(library)], capture_output=True, text=True, check=True).stdout.splitlines():
        if line.endswith("mixstack::agent::(anonymous namespace)::mark"):
            offset = int(line.split()[0], 16)
            break
    else:
        raise AssertionError(f"{library} has no symbol for the mark of its signals")
    with open(f"/proc/{pid}/maps") as maps:
        base = min(int(line.partition("-")[0], 16) for line in maps if line.rstrip().endswith(str(library)))
    return base + offset


def ask(pid, tid, value):
    """Sends a thread the signal of a tick. A stopped thread takes it as the first thing when it goes on, with the
    registers it was stopped with."""
    info = struct.pack("<iii4xiIQ", signal.SIGPROF, 0, _SI_QUEUE, 0, 0, value ^ _WAITING).ljust(128, b"\0")
    return _LIBC.syscall(_RT_TGSIGQUEUEINFO, pid, tid, signal.SIGPROF, info) == 0


def is_held_up(pid, tid):
    """Whether the thread blocks the signal: it walks when it no longer does, and stands elsewhere by then."""
    with open(f"/proc/{pid}/task/{tid}/status") as status:
        blocked = next(int(line.split()[1], 16) for line in status if line.startswith("SigBlk:"))
    return blocked >> (signal.SIGPROF - 1) & 1 == 1


class Inside:
    """What the handler found: its file's lines, as tests/agent/raw_recorder.cc writes them."""

    def __init__(self, line):
        tid, self.state, self.stop, *frames = line.split("\t")
        self.tid = int(tid)
        parts = [frame.split(" ", 2) for frame in frames]
        self.frames = [(int(address, 16), kind == "managed", name) for address, kind, name in parts]


def read(path, offset):
    """{tid: walk} of those that were written behind a place in the file: the one that was asked for, or else one of the
    agent's own timers, which was pending when we asked (a signal that is pending is not sent twice)."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            text = file.read()
    except FileNotFoundError:
        return {}
    walks = [Inside(line) for line in text[:text.rfind(b"\n") + 1].decode().splitlines()]
    # The first of each: later ones are of later instants.
    return {walk.tid: walk for walk in reversed(walks) if walk.state == "cpu"} | \
        {walk.tid: walk for walk in reversed(walks) if walk.state == "waiting"}


# Comparison.

def number(text):
    return int(text, 16)


def plain_name(text):
    """A method without its parameters and type arguments: the profiling interface says neither."""
    kept, depth, i = [], 0, 0
    while i < len(text):
        if text.startswith("[[", i):
            depth, i = depth + 1, i + 2
        elif depth and text.startswith("]]", i):
            depth, i = depth - 1, i + 2
        else:
            if depth == 0:
                kept.append(text[i])
            i += 1
    return "".join(kept).partition("(")[0]


def replaced_returns(thread, memory):
    """Which frames of a dump, read while the process stands, are not returned to: of a method to be suspended the runtime
    has put another address in the place of that one, which it alone knows. Indices as `compare` counts."""
    frames = [f for f in thread["frames"] if f["code_kind"] != "runtime_frame"]
    low_bits = (1 << 47) - 1  # addresses may be signed
    replaced = set()
    for i in range(1, len(frames)):
        begin, end, ip = number(frames[i - 1]["sp"]), number(frames[i]["sp"]), number(frames[i]["ip"])
        if frames[i - 1]["kind"] != "managed" or not begin < end <= begin + (1 << 16):
            continue
        words = (memory.word(at) for at in range(begin, end, 8))
        if not any(word is not None and (word ^ ip) & low_bits == 0 for word in words):
            replaced.add(i)
    return replaced


def compare(outside, inside):
    """Differences between a dumped thread and the walk from inside, and the number of frames that were compared."""
    theirs = [f for f in outside["frames"] if f["code_kind"] != "runtime_frame"]
    most = MOST_FRAMES[inside.state]
    limit = min(len(theirs), most)
    differences = []
    for i in range(limit):
        if i >= len(inside.frames):
            if inside.stop == "bad_return_address" and i in outside.get("replaced", ()):
                break
            differences.append(f"inside ends with {inside.stop} before {theirs[i]['name']} at {theirs[i]['ip']}")
            break
        place, is_managed, name = inside.frames[i]
        wanted = number(theirs[i]["ip"])
        is_of_syscall = i == 0 and outside["syscall"] is not None and place == wanted + _AFTER_SYSCALL
        if place != wanted and not is_of_syscall:
            differences.append(f"frame {i}: outside {theirs[i]['name']} at {wanted:#x}, inside {name} at {place:#x}")
            break
        if (theirs[i]["kind"] == "managed") != is_managed:
            differences.append(f"frame {i}: outside {theirs[i]['kind']} {theirs[i]['name']}, inside {name}")
        elif is_managed and plain_name(theirs[i]["raw_name"]) != plain_name(name):
            differences.append(f"frame {i}: outside {theirs[i]['raw_name']}, inside {name}")
    else:
        if len(inside.frames) > limit:
            differences.append(f"inside goes on behind {limit} frames to {inside.frames[limit][2]}")
        if len(theirs) <= most and (outside["stop_reason"] == "end_of_stack") != (inside.stop == "end_of_stack"):
            differences.append(f"outside ends with {outside['stop_reason']}, inside with {inside.stop}")
    return differences, limit


# Ways of others, over a stopped process and the stack that both of ours agree on.

class Memory:
    """Words of a stopped process, and what is mapped where."""

    def __init__(self, pid):
        self._file = open(f"/proc/{pid}/mem", "rb", buffering=0)
        self._native = []
        with open(f"/proc/{pid}/maps") as maps:
            for line in maps:
                parts = line.split(None, 5)
                begin, end = (int(part, 16) for part in parts[0].split("-"))
                path = parts[5].strip() if len(parts) > 5 else ""
                if "x" in parts[1] and path.startswith("/") and not path.endswith(".dll") and "doublemapper" not in path:
                    self._native.append((begin, end))

    def close(self):
        self._file.close()

    def word(self, address):
        try:
            self._file.seek(address)
            data = self._file.read(8)
        except (OSError, OverflowError, ValueError):
            return None
        return int.from_bytes(data, "little") if len(data) == 8 else None

    def is_managed(self, address):
        """Neither an ELF file's code nor nothing at all; what Datadog's range list answers for jitted and R2R code."""
        return address > 4096 and not any(begin <= address < end for begin, end in self._native)


def _frame_pointer(frame):
    name = "rbp" if "rbp" in frame["registers"] else "x29"
    return number(frame["registers"].get(name, "0x0"))


def like_datadog(frames, memory, most_skipped=8):
    """Addresses: native unwinding up to the first managed frame, from there the chain of frame pointers, of which only
    managed return addresses are kept; more than eight others in a row end it."""
    first = next((i for i, f in enumerate(frames) if f["kind"] == "managed"), len(frames))
    found = [number(f["ip"]) for f in frames[:first + 1]]
    if first == len(frames):
        return found
    at, skipped = _frame_pointer(frames[first]), 0
    while at:
        after, back = memory.word(at), memory.word(at + 8)
        if back is None or back == 0:
            break
        if memory.is_managed(back):
            found.append(back)
            skipped = 0
        else:
            skipped += 1
            if skipped > most_skipped:
                break
        if after is None or after <= at:
            break
        at = after
    return found


def like_otel(frames, memory):
    """Addresses: native frames by call frame information, managed ones by their frame pointer, prologue or not. Of a
    native frame it knows what we know of it, so it goes on as we do."""
    found, i = [], 0
    while i < len(frames):
        frame = frames[i]
        found.append(number(frame["ip"]))
        if frame["kind"] != "managed":
            i += 1
            continue
        at = _frame_pointer(frame)
        back, stack = memory.word(at + 8), hex(at + 16)
        i = next((k for k in range(i + 1, len(frames))
                  if frames[k]["sp"] == stack and back is not None and number(frames[k]["ip"]) == back), len(frames))
    return found


def lost(frames, found, kind=None):
    """How many frames (of a kind) a way does not have; both innermost first."""
    count, position = 0, 0
    for frame in frames:
        place = number(frame["ip"])
        if place in found[position:]:
            position = found.index(place, position) + 1
        elif kind is None or frame["kind"] == kind:
            count += 1
    return count
