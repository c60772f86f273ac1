"""Dumps as the checker wants them, from the two ways to make them: redump (one Session) and the command's JSON."""
import dataclasses
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import mixstack_dump  # noqa: E402
from grammar import Frame  # noqa: E402

_KINDS = dict(zip("nmFS!?", ("native", "managed", "runtime_frame", "runtime_stub", "signal_trampoline", "undescribed")))

_DOUBTS = re.compile("freed while named|could not be named")  # notes that say that a frame may not be what it seems


@dataclasses.dataclass
class Thread:
    tid: int
    comm: str
    name: str        # Thread.Name, empty when none
    stop: str
    captured: bool
    frames: list     # of Frame, innermost first
    key: str         # equal keys: equal frames
    places: str      # ip and sp of each frame


def redump_binary():
    """Beside the command under test, else None."""
    command = mixstack_dump.binary()
    found = command.with_name("redump") if command else None
    return found if found and found.exists() else None


class _Symbols(dict):
    """id -> (name, note), as redump announces them."""

    def learn(self, fields):
        name, module, note = fields[2], fields[3], fields[4] if len(fields) > 4 else ""
        self[fields[1]] = (name or module, note)


def _frame(text, symbols):
    end = next(i for i in range(2, len(text)) if text[i].isdigit())
    flags = text[2:end]
    name, note = symbols[text[end:]]
    sure = text[1] == "+" and "#" not in flags and not _DOUBTS.search(note)
    return Frame(_KINDS[text[0]], name, sure, "*" in flags)


def redumps(pid, count, gap_ms, seed):
    """Dumps of one Session: lists of threads."""
    process = subprocess.Popen([str(redump_binary()), str(pid), str(count), str(gap_ms), str(seed)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    symbols, known, threads = _Symbols(), {}, None
    try:
        for line in process.stdout:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "S":
                symbols.learn(fields)
            elif fields[0] == "D":
                if threads is not None:
                    yield threads
                threads = []
            elif fields[0] == "T":
                frames = known.get(fields[6])
                if frames is None:
                    frames = known[fields[6]] = [_frame(part, symbols) for part in fields[6].split()]
                    if len(known) > 20000:
                        known.clear()
                threads.append(Thread(int(fields[1]), fields[2], fields[3], fields[4], fields[5] == "1", frames, fields[6], fields[7]))
            else:
                raise mixstack_dump.DumpError(f"redump: {line}")
        if threads is not None:
            yield threads
        if process.wait() != 0:
            raise mixstack_dump.DumpError(f"redump ended with status {process.returncode}")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def _of_json(thread):
    frames, places = [], []
    for f in thread["frames"]:
        sure = f["trust"] == "certain" and not f["witness_disagrees"] and not _DOUBTS.search(f["note"] or "")
        name = (f["raw_name"] or f["name"]) if f["named"] else f["module"] or ""
        frames.append(Frame(f["code_kind"], name, sure, f["is_funclet"]))
        places.append(f"{f['ip'][2:]},{f['sp'][2:]}")
    managed = thread.get("managed") or {}
    return Thread(thread["tid"], thread["name"], managed.get("name") or "", thread["stop_reason"], thread["captured"],
                  frames, repr([(f.kind, f.name, f.sure, f.funclet) for f in frames]), " ".join(places))


def commands(pid, count):
    """Dumps by the command, a new process each."""
    for _ in range(count):
        yield [_of_json(thread) for thread in mixstack_dump.dump(pid)["threads"]]


