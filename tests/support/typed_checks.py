"""Dumps of damaged cores, each with five seconds and 512 MB, and what must hold of every one of them.

No crash, no hang, an exit code that is documented, JSON that is JSON, no control byte in any text. And nothing wrong
that is sure: a frame of code that the undamaged core does not show may not be certain, and a method that it shows
keeps its name, as far as the damage did not touch what says so (`may_move`, `may_rename`)."""
import bisect
import json
import os
import re
import resource
import signal
import subprocess
import time

SECONDS, MEGABYTES, WALL = 5, 512, 40
CODES = range(0, 10)
# Rows and codes of unwind tables, what says where all else lies, and the stack's own words: who reads them is told
# another stack.
MOVERS = {"unwind_info", "unwind_rows", "descriptor", "stack_words"}
SAVED = 64  # bytes below a frame's sp: the return address, and below that what prologues and stubs push
# What says which method code belongs to (those above, too), and what it is called: another of the same kind is as good
# as the first.
NAMERS = {"method_desc", "method_table", "module", "metadata", "metadata_root", "name_text", "descriptor", "code_header",
          "entry_point_map", "frame_data"}
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
# The same in JSON that was not read yet, where line breaks between items are its own: a quick look at megabytes.
ESCAPED = re.compile(rb"\\u00[0189]|\\u007f|\\[bfnrt]|[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


class Outcome:
    def __init__(self, status, text, errors, seconds, megabytes):
        self.status, self.text, self.errors = status, text, errors
        self.seconds, self.megabytes = seconds, megabytes


def _limits(is_sanitized):
    def apply():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not is_sanitized:  # its shadow is larger than any limit: there only what it held is looked at
            resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
    return apply


def dump(mixstack, core, options, is_sanitized, errors_file):
    """Runs the command to its end. Its own CPU seconds, and those of its children that it waited for."""
    start = time.monotonic()
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=16",
                       UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    errors_file.seek(0)
    errors_file.truncate()
    process = subprocess.Popen([str(mixstack), "dump", "--core", str(core), *options], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=errors_file, env=environment,
                               preexec_fn=_limits(is_sanitized))
    os.set_blocking(process.stdout.fileno(), False)
    pieces = []
    while True:
        try:
            piece = os.read(process.stdout.fileno(), 1 << 20)
            if not piece:
                break
            pieces.append(piece)
        except BlockingIOError:
            if time.monotonic() - start > WALL:
                process.kill()
            time.sleep(0.002)
    _, status, use = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    errors_file.seek(0)
    text = b"".join(pieces).replace(str(core).encode(), b"CORE")  # a copy of a core is the same core
    return Outcome(process.returncode, text, errors_file.read(), use.ru_utime + use.ru_stime,
                   use.ru_maxrss >> 10)


def _dirty(value, key=""):
    """Texts with control bytes. What an exception says is no name: JSON keeps it as it is."""
    if isinstance(value, str):
        if key != "message" and CONTROL.search(value):
            yield f"{key}: {value!r}"
    elif isinstance(value, list):
        for item in value:
            yield from _dirty(item, key)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _dirty(item, name)


def frames_of(report):
    """(tid, ip, sp) -> frame, of code; explicit Frames are records, not code."""
    return {(t["tid"], f["ip"], f["sp"]): f for t in report["threads"] for f in t["frames"]
            if f["code_kind"] != "runtime_frame"}


def stack_words(ranges, report):
    """{"stack_words"} when a damage changes return addresses or saved registers: Frames share them with the unwinder."""
    tops = sorted({int(sp, 16) for _, _, sp in frames_of(report)})
    for begin, end in ranges:
        at = bisect.bisect_right(tops, begin)
        if at < len(tops) and tops[at] - SAVED < end:
            return {"stack_words"}
    return set()


def names_of(report):
    return {f["raw_name"] for t in report["threads"] for f in t["frames"] if f["kind"] == "managed" and f["named"]}


def _wrong_frames(report, whole, structures):
    known = frames_of(whole)
    may_move, may_rename = structures & MOVERS, structures & (MOVERS | NAMERS)
    for place, frame in frames_of(report).items():
        if frame["trust"] != "certain":
            continue
        before = known.get(place)
        if before is None:
            if not may_move:
                yield f"certain, but not in the whole core: {frame['kind']} {place} {frame['name']}"
        elif (frame["kind"] == "managed" and before["kind"] == "managed" and frame["named"] and not may_rename
              and frame["raw_name"] != before["raw_name"]):
            yield f"renamed: {before['raw_name']} became {frame['raw_name']}"


def _faults_of_text(text):
    try:
        lines = text.decode("utf-8").replace("\n", "")
    except ValueError as bad:
        return [f"text that is not UTF-8: {bad}"]
    dirty = CONTROL.search(lines)
    return [f"control bytes in the text: {lines[max(0, dirty.start() - 100):dirty.start() + 100]!r}"] if dirty else []


def faults(outcome, whole, structures):
    """What is wrong with a dump of a damaged core, in words. `whole`: of the whole one, None for text."""
    if outcome.status < 0 or outcome.status not in CODES:
        what = "hang" if -outcome.status in (signal.SIGXCPU, signal.SIGKILL) else "crash"
        return [f"{what}: status {outcome.status}: {outcome.errors[-4000:].decode(errors='replace')}"]
    if b"Sanitizer" in outcome.errors or b"runtime error:" in outcome.errors:
        return [f"crash: {outcome.errors[-4000:].decode(errors='replace')}"]
    found = []
    if outcome.megabytes > MEGABYTES:
        found.append(f"{outcome.megabytes} MB")
    if outcome.seconds > SECONDS:
        found.append(f"hang: {outcome.seconds:.1f} s")
    errors = outcome.errors.decode(errors="replace")
    if CONTROL.search(errors.replace("\n", "")):
        found.append(f"control bytes in a message: {errors!r}")
    if not outcome.text:
        return found if outcome.status not in (0, 7) else found + [f"no report, status {outcome.status}"]
    if whole is None:
        return found + _faults_of_text(outcome.text)
    try:
        report = json.loads(outcome.text.decode("utf-8"))
    except ValueError as bad:
        return found + [f"no JSON: {bad}"]
    if ESCAPED.search(outcome.text):
        found += [f"control bytes: {dirty}" for dirty in _dirty(report)][:1]
    return found + list(_wrong_frames(report, whole, structures))[:3]
