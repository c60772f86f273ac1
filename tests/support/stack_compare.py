"""Compares what mixstack printed of a stopped process with what ClrMD and gdb see in it.

Every rule answers with Difference objects. A difference that is a documented oddity of .NET or of a witness carries
its name in `known`; the rest are faults. Tests assert both: no faults, and that an oddity does show where it should.
"""
import bisect
import dataclasses

from method_names import canonical
from witnesses import context_registers

# The oddities (known differences), by name.
INLINED_CALL_ADDRESS = "inlined-call-address"    # precompiled code: the Frame's address is not the return address
CALL_SITE_SP = "call-site-sp"                    # stackalloc: the Frame's CallSiteSP lies above the physical sp
RESUMED_FROM_FRAME = "resumed-from-frame"        # our walk took the Frame's address and sp, gdb has the physical ones
UNSEEN_BY_CLRMD = "unseen-by-clrmd"              # no Frame (helper, signal handler, suppressed transition): ClrMD is blind
NEWBORN = "newborn"                              # a thread that clone has just made on AArch64: gdb goes on to its maker
NEIGHBOURS_FRAME = "neighbours-frame"            # ClrMD repeats the previous thread's frame on a thread without one

COMPLETE = "end-of-stack"
# Farthest a Frame's address was seen from the true return address is 43 bytes.
_CALL_ADDRESS_SLACK = 64


@dataclasses.dataclass(frozen=True)
class Difference:
    tid: int
    rule: str
    text: str
    known: str = ""

    def __str__(self):
        mark = f" (known: {self.known})" if self.known else ""
        return f"thread {self.tid}: {self.rule}: {self.text}{mark}"


def number(text):
    return int(text, 16)


def reason(thread):
    return thread["stop_reason"].replace("_", "-")


def is_managed(frame):
    return frame["kind"] == "managed"


def same_method(witness, ours):
    """Same MethodDesc where both say one; same canonical text where ClrMD has a text."""
    if witness.get("methodDesc") and ours.get("method_desc"):
        if number(witness["methodDesc"]) != number(ours["method_desc"]):
            return False
    return not witness.get("method") or canonical(witness["method"]) == canonical(ours["raw_name"])


def _label(frame):
    name = frame.get("raw_name") or frame.get("method") or frame.get("name") or "?"
    return f"{name} ip {frame['ip']} sp {frame['sp']}"


def _stack_range(ours):
    """Lowest and highest stack address our walk touched."""
    places = [number(frame["sp"]) for frame in ours]
    return (min(places), max(places)) if places else (0, 0)


def _own_stacks(our_frames, mappings, slack=4 << 20):
    """(begin, end) of the thread's stacks: the mappings that hold frames of ours. Where the mappings are not known
    (a core), what is within reach of the frames."""
    if mappings is None:
        low, high = _stack_range(our_frames)
        return [(low - slack, high + slack + 1)]
    places = sorted(number(frame["sp"]) for frame in our_frames)
    return [(begin, end) for begin, end in mappings
            if bisect.bisect_left(places, begin) < bisect.bisect_left(places, end)]


def _belongs(witness, stacks):
    """Whether ClrMD's frame can lie on this thread's stacks at all."""
    return any(begin <= number(witness["sp"]) < end for begin, end in stacks)


def _is_a_neighbours(witness_frames, last_of_others):
    """Whether ClrMD's answer for a thread is what it said last of one it looked at before. Of a thread that has no
    Frame (it is being born, or was in managed code once) it prints the register context it used last: one entry, with
    the instruction pointer where an earlier thread's stack ended, on that one's stack, and without a method if that
    was native code (which is then none of the entries that ClrMD printed for that thread)."""
    if len(witness_frames) != 1:
        return False
    return number(witness_frames[0]["ip"]) in last_of_others or not witness_frames[0].get("method")


def _address_rule(tid, previous, witness, ours):
    """Differences of two frames that are the same by sp and method."""
    if number(witness["ip"]) == number(ours["ip"]):
        return []
    text = f"{_label(witness)} but ours is {ours['ip']}"
    known = INLINED_CALL_ADDRESS if _near(witness, ours) and _is_after_call(previous) else ""
    return [Difference(tid, "ip", text, known)]


def _near(witness, ours):
    return abs(number(witness["ip"]) - number(ours["ip"])) <= _CALL_ADDRESS_SLACK


def _is_after_call(previous):
    """Whether ClrMD resumed here from an InlinedCallFrame."""
    return previous is not None and previous.get("frameName") == "InlinedCallFrame"


def _find(ours, start, previous, witness):
    """Index of our managed frame with this frame's sp, at or after `start`; and whether the sp differs in a known way:
    a method with stackalloc (many marshalling stubs have one) calls with an sp below the Frame's CallSiteSP."""
    sp = number(witness["sp"])
    for i in range(start, len(ours)):
        if number(ours[i]["sp"]) == sp:
            return i, False
    if _is_after_call(previous):
        for i in range(start, len(ours)):
            if number(ours[i]["sp"]) < sp and _near(witness, ours[i]) and same_method(witness, ours[i]):
                return i, True
    return -1, False


def _extra(tid, frames, clrmd_is_blind):
    """Managed frames of ours that ClrMD does not report between two that it does."""
    for frame in frames:
        yield Difference(tid, "extra", f"ClrMD lacks {_label(frame)}", UNSEEN_BY_CLRMD if clrmd_is_blind else "")


def _pairs(witness_frames):
    """Managed frames of ClrMD, each with the entry before it."""
    previous = None
    for frame in witness_frames:
        if frame["kind"] == "managed":
            yield previous, frame
        previous = frame


def compare_managed(tid, witness_frames, our_frames, last_of_others=frozenset(), mappings=None):
    """Every managed frame of ClrMD is in ours: same order, ip, sp and method. `last_of_others`: instruction pointers at
    which ClrMD's stacks of the threads before this one end."""
    ours = [frame for frame in our_frames if is_managed(frame)]
    differences, position, matched = [], 0, 0
    stacks = _own_stacks(our_frames, mappings)
    for previous, witness in _pairs(witness_frames):
        if not _belongs(witness, stacks):
            known = NEIGHBOURS_FRAME if _is_a_neighbours(witness_frames, last_of_others) else ""
            differences.append(Difference(tid, "foreign", f"not on this stack: {_label(witness)}", known))
            continue
        found, moved = _find(ours, position, previous, witness)
        if found < 0:
            near = _label(ours[position]) if position < len(ours) else "nothing"
            differences.append(Difference(tid, "missing", f"{_label(witness)}; next of ours: {near}"))
            continue
        # Extra frames above everything ClrMD saw: a thread whose top it cannot walk.
        differences.extend(_extra(tid, ours[position:found], clrmd_is_blind=matched == 0))
        if not same_method(witness, ours[found]):
            differences.append(Difference(
                tid, "method", f"ClrMD {witness['method']} [{witness.get('methodDesc')}], "
                               f"ours {ours[found]['raw_name']} [{ours[found].get('method_desc')}]"))
        differences.extend(_address_rule(tid, previous, witness, ours[found]))
        if moved:
            differences.append(Difference(tid, "sp", f"{_label(witness)} but ours is {ours[found]['sp']}", CALL_SITE_SP))
        position, matched = found + 1, matched + 1
    differences.extend(_extra(tid, ours[position:], clrmd_is_blind=matched == 0))
    return differences


_CALLEE_SAVED = ("rbx", "r12", "r13", "r14", "r15")
# Frames that hold every callee-saved register; after any other kind ClrMD's contexts keep stale ones.
_WHOLE_CONTEXT = ("SoftwareExceptionFrame", "FaultingExceptionFrame", "PrestubMethodFrame", "StubDispatchFrame",
                  "ExternalMethodFrame", "DynamicHelperFrame", "ResumableFrame", "RedirectedThreadFrame")


def _matches(witness_frames, our_frames):
    """(oracle frame, our frame, whether ClrMD's callee-saved registers mean something) for frames equal by ip and sp."""
    ours = {(number(f["ip"]), number(f["sp"])): f for f in our_frames if is_managed(f)}
    whole = bool(witness_frames) and witness_frames[0]["kind"] == "managed"
    for frame in witness_frames:
        if frame["kind"] != "managed":
            whole = frame.get("frameName") in _WHOLE_CONTEXT
        elif (number(frame["ip"]), number(frame["sp"])) in ours:
            yield frame, ours[number(frame["ip"]), number(frame["sp"])], whole


def compare_registers(tid, witness_frames, our_frames):
    """The registers we claim to know in a managed frame equal those of ClrMD's context, where it defines them.
    Answers the differences and the number of registers compared."""
    differences, compared = [], 0
    for witness, mine, whole in _matches(witness_frames, our_frames):
        context = context_registers(witness)
        for name in ("rip", "rsp", "rbp") + (_CALLEE_SAVED if whole else ()):
            if name not in mine.get("registers", {}):
                continue
            compared += 1
            if number(mine["registers"][name]) != context[name]:
                differences.append(Difference(tid, "register", f"{name} {context[name]:#x}, ours "
                                                               f"{mine['registers'][name]} in {_label(mine)}"))
    return differences, compared


def compare_explicit(tid, witness_frames, our_frames):
    """Every explicit Frame ClrMD reports is in our `--frames` output, by address, kind and MethodDesc."""
    ours = {number(f["frame_address"]): f for f in our_frames if f.get("code_kind") == "runtime_frame"}
    differences = []
    for theirs in witness_frames:
        if theirs["kind"] != "runtime" or not theirs["frameName"]:
            continue
        mine, text = ours.get(number(theirs["sp"])), f"{theirs['frameName']} at {theirs['sp']}"
        if mine is None or theirs["frameName"] not in mine["name"]:
            differences.append(Difference(tid, "Frame", f"{text} is missing"))
        elif theirs.get("methodDesc") and mine["method_desc"] != theirs["methodDesc"]:
            differences.append(Difference(tid, "Frame", f"{text} is of {theirs['methodDesc']}, ours {mine['method_desc']}"))
    return differences


def is_code_of_image(frame):
    """Whether gdb has an ELF image for this frame, so that its unwinding went by call frame information."""
    return frame["library"] is not None or frame["kind"] == "signal"


def checkpoints(witness_frames):
    """(ip, sp) of every place where ClrMD resumed from an explicit Frame. Two kinds matter to gdb: InlinedCallFrame
    (its own address and sp) and HijackFrame (the return address lies in the Frame, the stack holds something else)."""
    return {(number(frame["ip"]), number(frame["sp"])) for previous, frame in _pairs(witness_frames)
            if previous is not None and previous["kind"] == "runtime"}


def compare_native(tid, gdb_stack, our_frames, resumed=frozenset()):
    """Our frames equal gdb's by address: up to the first address that lies in no ELF image, that one included (it is
    the physical return address into managed code); to the very end where gdb never leaves ELF images."""
    ours = [frame for frame in our_frames if frame.get("code_kind") != "runtime_frame"]
    for i, theirs in enumerate(gdb_stack["frames"]):
        if theirs["pc"] == 0:
            return []  # gdb lost its way
        if i >= len(ours):
            known = NEWBORN if i == 1 and gdb_stack.get("newborn") else ""
            return [Difference(tid, "native", f"gdb goes on to {theirs['name']} at {theirs['pc']:#x}", known)]
        place = (number(ours[i]["ip"]), number(ours[i]["sp"]))
        if place != (theirs["pc"], theirs["sp"]):
            text = f"frame {i}: gdb {theirs['name']} at {theirs['pc']:#x} sp {theirs['sp']:#x}, ours {_label(ours[i])}"
            known = RESUMED_FROM_FRAME if place in resumed and not is_code_of_image(theirs) else ""
            return [Difference(tid, "native", text, known)]
        if not is_code_of_image(theirs):
            return []
    if gdb_stack["end"] == "outermost" and len(ours) > len(gdb_stack["frames"]):
        return [Difference(tid, "native", f"gdb ends before {_label(ours[len(gdb_stack['frames'])])}")]
    return []


def compare_end(thread):
    """Nothing ends without a reason, and nothing ends early here."""
    if not thread.get("stop_reason"):
        return [Difference(thread["tid"], "end", "no stop reason")]
    if reason(thread) != COMPLETE:
        last = _label(thread["frames"][-1]) if thread["frames"] else "no frame"
        return [Difference(thread["tid"], "end", f"{thread['stop_reason']} after {last}")]
    return []


def compare_process(dump, oracle, gdb=None, mappings=None):
    """All rules over all threads. `mappings`: (begin, end) of the process's mappings while it stood."""
    ours = {thread["tid"]: thread for thread in dump["threads"]}
    differences, resumed, last = [], {}, set()
    for witness in oracle["threads"] if oracle else []:
        tid = witness["osId"]
        resumed[tid] = checkpoints(witness["frames"])
        if not witness["isAlive"] or tid == 0:
            continue
        if tid not in ours:
            differences.append(Difference(tid, "thread", "not in the dump"))
            continue
        differences.extend(compare_managed(tid, witness["frames"], ours[tid]["frames"], last, mappings))
        last.update(number(frame["ip"]) for frame in witness["frames"][-1:])
    for tid, stack in (gdb or {}).items():
        if tid not in ours:
            differences.append(Difference(tid, "thread", "gdb sees it, the dump does not"))
            continue
        differences.extend(compare_native(tid, stack, ours[tid]["frames"], resumed.get(tid, frozenset())))
    for thread in ours.values():
        differences.extend(compare_end(thread))
    return differences
