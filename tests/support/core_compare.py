"""Two dumps of one stopped process, from the process itself and from a core: they are to be identical.

What may differ is named here, one by one, with the reason; everything else is a fault.
"""
import re

# Nobody writes these into a core.
NOT_IN_A_CORE = {
    "thread.name": "the kernel's name of a thread is in no note, but for the main thread's (pr_fname)",
    "thread.role": "of a thread without managed code its name alone tells it",
    "thread.ns_tid": "the thread's id in its own pid namespace is in no note",
    "thread.cpu_ns": "times are the kernel's, of a running thread",
    "thread.queued_ns": "the same",
    "thread.off_cpu_ns": "the same",
    "thread.wait_channel": "the kernel's, of a blocked thread",
    "thread.syscall.arguments": "read of the blocked thread, after the stop",
    "thread.syscall.fd": "the same",
    "thread.syscall.object": "the same",
    "thread.kernel_state": "a core has one state letter for the process (pr_state), if any",
}
# Without debug files a static function has no name.
OF_SYMBOL_FILES = ("name", "raw_name", "named", "symbol_offset")
# The runtime's own thread that compiles in the background comes, works and goes as it likes.
# The thread that got the signal shows its registers, and our own stop before it made the kernel restart what slept.
OF_THE_END = [r"thread\.(vector_)?registers(_from)?", r"thread\.syscall(\..*)?"]
BUSY = (".NET Tiered Com",)
PROCESS = ("pid", "arch", "executable", "thread_count", "runtimes")


def differences(one, other, path=""):
    """(path, left, right) for each leaf that differs; a missing key or another length counts as one."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if key not in one or key not in other:
                yield f"{path}.{key}", one.get(key, "(absent)"), other.get(key, "(absent)")
            else:
                yield from differences(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f"{path}.length", len(one), len(other)
        for i, (left, right) in enumerate(zip(one, other)):
            yield from differences(left, right, f"{path}[{i}]")
    elif one != other:
        yield path, one, other


def busy_threads(live):
    """tids of threads that may have moved between the dump and the end: none of them waits in the kernel."""
    return {thread["tid"] for thread in live["threads"] if thread["name"] in BUSY or thread["syscall"] is None}


def compare_running(live, core, allowed=()):
    """The same for a process that ran on between the dump and its core, if only for an instant."""
    busy = busy_threads(live)
    one, other = ({**dump, "threads": [t for t in dump["threads"] if t["tid"] not in busy]} for dump in (live, core))
    for dump in (one, other):
        dump["process"] = {**dump["process"], "thread_count": len(dump["threads"])}
    return compare(one, other, [*allowed, *OF_THE_END])


def compare(live, core, allowed=()):
    """What differs beyond what a core cannot hold, as lines of text. `allowed`: regular expressions of paths such as
    thread.frames[3].name, matched as a whole."""
    # Counters go on while the process is looked at.
    one, other = ({**d["process"], "runtimes": [{k: v for k, v in r.items() if k != "counters"} for r in d["process"]["runtimes"]]}
                  for d in (live, core))
    faults = [f"process.{key}: {one[key]} but in the core {other[key]}" for key in PROCESS if one[key] != other[key]]
    ours = {thread["tid"]: thread for thread in live["threads"]}
    theirs = {thread["tid"]: thread for thread in core["threads"]}
    if ours.keys() != theirs.keys():
        return [*faults, f"threads: {sorted(ours)} but in the core {sorted(theirs)}"]
    pattern = re.compile("|".join([*map(re.escape, NOT_IN_A_CORE), *allowed]))
    for tid, thread in ours.items():
        for path, left, right in differences(thread, theirs[tid], "thread"):
            if not pattern.fullmatch(path):
                faults.append(f"thread {tid} ({thread['name']}): {path}: {left} but in the core {right}")
    return faults


def frame_names(*keys):
    """Patterns for `allowed`: these keys of any frame."""
    return [rf"thread\.frames\[\d+\]\.{key}" for key in keys]
