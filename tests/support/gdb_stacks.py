"""Runs inside gdb: prints every thread's physical frames as one line of JSON. LIMIT is set by the caller. With SERVE
set, of each process that a line of standard input names."""
import json
import sys

import gdb

_PHYSICAL = (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME)


def _frame(frame):
    pc = frame.pc()
    return {
        "pc": pc,
        "sp": int(frame.read_register("sp").cast(gdb.lookup_type("unsigned long"))),
        "name": frame.name(),
        "kind": "signal" if frame.type() == gdb.SIGTRAMP_FRAME else "native",
        "library": gdb.solib_name(pc) or (gdb.current_progspace().filename if frame.name() else None),
    }


def _is_newborn(frame):
    """Whether the thread is about to return from the system call that made it, and has run nothing yet: AArch64's clone
    returns 0 to it, and its CFI is the parent's up to the branch behind (x86-64's says outermost at once)."""
    if frame.architecture().name() != "aarch64" or "clone" not in (frame.name() or ""):
        return False
    before = bytes(gdb.selected_inferior().read_memory(frame.pc() - 4, 4))
    return before == b"\x01\x00\x00\xd4" and int(frame.read_register("x0")) == 0  # svc #0


def _stack():
    frames, end = [], "limit"
    frame = gdb.newest_frame()
    newborn = _is_newborn(frame)
    while frame is not None and len(frames) < LIMIT:  # noqa: F821
        if frame.type() in _PHYSICAL:
            frames.append(_frame(frame))
        try:
            older = frame.older()
        except gdb.error as error:
            end = str(error)
            break
        if older is None:
            end = "outermost" if frame.unwind_stop_reason() in (gdb.FRAME_UNWIND_NO_REASON,
                                                                gdb.FRAME_UNWIND_OUTERMOST) else "stuck"
        frame = older
    return {"frames": frames, "end": end, "newborn": newborn}


def _all():
    stacks = {}
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        try:
            stacks[thread.ptid[1]] = _stack()
        except gdb.error as error:
            stacks[thread.ptid[1]] = {"frames": [], "end": str(error)}
    return stacks


def _serve():
    for line in sys.stdin:
        try:
            gdb.execute(f"attach {int(line)}", to_string=True)
            try:
                answer = "STACKS " + json.dumps(_all())
            finally:
                gdb.execute("detach", to_string=True)
                gdb.execute("file", to_string=True)  # the next may be another program
        except gdb.error as error:
            answer = f"ERROR {error}"
        print(answer.replace("\n", " "), flush=True)


if globals().get("SERVE"):
    _serve()
else:
    print("STACKS " + json.dumps(_all()))
