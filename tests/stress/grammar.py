"""Which frames a thread of tests/debuggees/Churn may have. Its name says it: "s1f-BHGd" is steady thread 0x1f, whose
methods B, H and G call each other in this order, each through Links.Next, and then leaf d."""
import dataclasses
import re

NAME = re.compile(r"([sc])([0-9a-f]+)-([A-Z]*)([a-k])$")
NATIVE_END = {"clone3", "clone", "_start"}

# Managed frames of each link from the caller inwards; "n:" is a native frame, "*" a funclet. N is the thread's number.
_LINKS = {
    "A": ["Links.A"], "B": ["Links.B"], "C": [r"Links.C\[\[.*\]\]"], "D": ["Links.D"],
    "E": ["Links.E", "Links.Throw", "EH", r"\*Links.E"], "F": ["Links.F", "Links.Throw", "EH", r"\*Links.F"],
    "G": ["Links.G", "DynamicClass.g_N_[0-9]+"], "K": ["Links.K", r"(Made.k_N_[0-9]+.Run|\?!0x6000001)"],
    "X": ["Links.X", "DynamicClass.x_N_[0-9]+"], "T": ["Links.T", r"Links.Typed\[\[.*\]\]"],
    "H": ["Links.H", "n:scen_call", "Links.CalledBack"],
    "J": ["Links.J", "ILStubClass.IL_STUB_PInvoke", "n:scen_call", "ILStubClass.IL_STUB_ReversePInvoke", r"Links\+<>c__DisplayClass.*.<J>b__.*"],
    "I": ["Links.I", r"Links\+(Round|Flat|Boxed).I"], "L": ["Links.L", r"Links\+<>c__DisplayClass.*.<L>b__.*"],
    "O": ["Links.O"], "S": ["Links.S"], "V": ["Links.V"],
}
# A name like "?!0x6000001" says that the method's metadata could not be read: honest, and counted.
UNNAMED = re.compile(r"\?!0x")
_LEAVES = {"a": "Allocate", "b": "Store", "c": "Collect", "d": "Dispatch", "e": "Except", "f": "Lock", "g": "CompileCode",
           "h": "CallNative", "i": "Pool", "j": "Instantiate", "k": "Spin"}
# A method of a leaf -> the only method that calls it.
_CALLERS = {"NewArray": "Allocate", "StoreOnce": "Store", "Look": "Dispatch", "Fail": "Except", "Hot": "Instantiate",
            "Step": "Spin", "Compare": "CallNative"}
_BOTTOM = ["System.Threading.Thread.StartCallback", r"Program\+<>c__DisplayClass.*.<Begin>b__0", "Links.Start", "Links.Next"]
_OURS = re.compile(r"\*?(Links|Leaves|Program|DynamicClass|Made)\b")
# What the runtime and the framework put above a link that is about to call the next one.
_HELPERS = re.compile(r"\*?(System\.|Microsoft\.|Interop|Internal\.|ILStubClass\.|Making\.|Native\.|Walk\.)")
_MAKING = "GKXT"


@dataclasses.dataclass(frozen=True)
class Frame:
    """What the grammar needs to know of a frame."""
    kind: str            # managed, native, runtime_frame, runtime_stub, signal_trampoline, undescribed
    name: str            # raw name, or the module's name where there is none
    sure: bool = True
    funclet: bool = False


def token(frame):
    """A managed frame without parameters and without the program's namespace; a funclet with a star."""
    name = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)$", "", frame.name)
    name = name.removeprefix("Churn.")
    return ("*" if frame.funclet else "") + name


@dataclasses.dataclass
class Verdict:
    problem: str = ""   # what breaks the grammar, empty when all is right
    index: int = -1     # of the frame, counted from the innermost


class _Stack:
    """The frames from the thread's start inwards."""

    def __init__(self, frames):
        self.frames = [f for f in frames if f.kind != "runtime_frame"]
        self.rows = [(len(self.frames) - 1 - i, f) for i, f in enumerate(reversed(self.frames))]
        self.at = 0

    def next_managed(self):
        """(natives passed, token or None at the top)."""
        natives = []
        while self.at < len(self.rows):
            frame = self.rows[self.at][1]
            if frame.kind == "managed":
                return natives, token(frame)
            natives.append(frame)
            self.at += 1
        return natives, None

    def index(self):
        return self.rows[min(self.at, len(self.rows) - 1)][0]


def _expected(number, word):
    steps = [(step, "") for step in _BOTTOM]
    for letter in word:
        steps += [(step.replace("_N_", f"_{number}_"), letter) for step in _LINKS[letter]]
        steps.append(("Links.Next", ""))
    return steps + [("Leaves.Run", "")]


def check(name, frames):
    """The verdict on one thread of the program."""
    match = NAME.match(name)
    steady, number, word, leaf = match[1] == "s", match[2], match[3], match[4]
    stack = _Stack(frames)
    if not stack.rows or stack.rows[0][1].name not in NATIVE_END:
        return Verdict("does not begin at the thread's start", len(stack.rows) - 1)
    wanted_native, last_letter, natives, found = "", "", [], None
    for step, letter in _expected(number, word):
        if step.startswith("n:"):
            wanted_native = step[2:]
            continue
        if step == "EH":
            problem = _pass_dispatch(stack)
            if problem:
                return Verdict(problem, stack.index())
            continue
        natives, found = stack.next_managed()
        while step == _BOTTOM[1] and found and found.startswith("System.Threading.Thread+StartHelper."):
            stack.at += 1  # not inlined where precompiled code is off
            natives, found = stack.next_managed()
        if found is None or not re.fullmatch(step, found):
            return _top(stack, steady, step, last_letter, natives, found)
        problem = _between(step, natives, wanted_native)
        if problem:
            return Verdict(problem, stack.index())
        wanted_native, last_letter = "", letter
        stack.at += 1
    return _leaf(stack, leaf)


def _pass_dispatch(stack):
    """The managed half of throwing: System.* frames until the next of ours."""
    while True:
        _, found = stack.next_managed()
        if found is None or _OURS.match(found):
            return ""
        if not found.lstrip("*").startswith("System."):
            return f"{found} in the dispatch of an exception"
        stack.at += 1


def _between(step, natives, wanted):
    """Native frames between two managed ones."""
    if wanted:
        names = [f.name for f in natives if f.kind == "native"]
        return "" if names == [wanted] else f"{names} instead of {wanted} before {step}"
    if step in ("System.Threading.Thread.StartCallback",) or step.startswith(r"\*"):
        return ""
    return f"native frames before {step}: {[f.name for f in natives]}" if natives else ""


def _top(stack, steady, step, letter, natives, found):
    """The chain ends before its leaf: it is on its way, up or down. Only helpers may lie above."""
    if steady:
        return Verdict(f"steady thread without {step}, but {found}", stack.index())
    previous = ""
    while found is not None:
        if _OURS.match(found) or not _HELPERS.match(found):
            return Verdict(f"{found} instead of {step}", stack.index())
        if found.startswith("Making.") and letter not in _MAKING:
            return Verdict(f"{found} above link {letter!r}", stack.index())
        previous = found
        stack.at += 1
        _, found = stack.next_managed()
    del previous, natives
    return Verdict()


def _leaf(stack, leaf):
    """Above Leaves.Run: the leaf's own method, what that calls, and anything of the framework."""
    last = "Run"
    while True:
        _, found = stack.next_managed()
        if found is None:
            return Verdict()
        plain = found.lstrip("*")
        if plain.startswith("Leaves.") and not plain.startswith("Leaves+"):
            method = plain.removeprefix("Leaves.")
            again = found.startswith("*") and method == _LEAVES[leaf]
            fits = method == _LEAVES[leaf] if last == "Run" else _CALLERS.get(method) == last or again
            if not fits:
                return Verdict(f"{found} above Leaves.{last} of leaf {leaf}", stack.index())
            last = method
        elif re.match(r"(Links|Program|DynamicClass|Made)\b", plain):
            return Verdict(f"{found} above leaf {leaf}", stack.index())
        elif not _HELPERS.match(found) and not plain.startswith(("Leaves+", "DynamicClass")):
            return Verdict(f"unknown {found} above leaf {leaf}", stack.index())
        stack.at += 1
