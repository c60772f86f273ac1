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
    "M": ["Links.M", "DynamicClass.m_N_[0-9]+", "Links.Throw", "EH", r"\*Links.M"],
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
_HELPERS = re.compile(r"\*?(<>z__|<PrivateImplementationDetails>\.|System\.|Microsoft\.|Interop|Internal\.|ILStubClass\.|Making\.|Native\.|Walk\.)")
_MAKING = "GKMXT"


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
    problem: str = ""     # what breaks the grammar, empty when all is right
    index: int = -1       # of the frame, counted from the innermost
    marked: bool = False  # every frame that cannot be right carries a mark, and so does the outer edge of every gap


_ANY = None  # natives before a frame when a doubtful step lies between: nobody knows which


class _Reader:
    """Reads a stack from the thread's start inwards, in all ways the grammar allows at once. A reading is one of
    ("step", i, natives): the managed frames up to step i were met, and then these native ones;
    ("top", letter): the chain is on its way up or down, only helpers may lie above; ("leaf", method): above Leaves.Run.
    A marked frame may be right, wrong, or have frames missing inside of it."""

    def __init__(self, match, with_marks):
        self.steady, self.number, self.word, self.leaf = match[1] == "s", match[2], match[3], match[4]
        self.steps = _expected(self.number, self.word)
        self.with_marks = with_marks

    def read(self, frames, is_cut):
        rows = [(i, f) for i, f in enumerate(frames) if f.kind != "runtime_frame"][::-1]
        if not rows:
            return Verdict("no frames")
        readings = {("step", 0, _ANY)}
        if is_cut:
            readings = self._later(readings)
        elif rows[0][1].name not in NATIVE_END and not self._is_doubted(rows[0][1]):
            return Verdict("does not begin at the thread's start", rows[0][0])
        for index, frame in rows:
            found = token(frame) if frame.kind == "managed" else None
            after = {new for old in readings for new in self._native(old, frame) + self._managed(old, found)}
            if self._is_doubted(frame):
                after = self._later(readings | after)
            if not after:
                return Verdict(f"{found} instead of {self._wanted(readings)}", index)
            readings = after
        if self.steady and all(r[0] == "step" for r in readings):
            return Verdict(f"steady thread without {self._wanted(readings)}", rows[-1][0])
        return Verdict()

    def _is_doubted(self, frame):
        return self.with_marks and not frame.sure

    def _wanted(self, readings):
        words = [f"{self.steps[r[1]][0]} after {list(r[2] or [])}" if r[0] == "step" else f"what may lie above {r[0]} {r[1]}" for r in readings]
        return " or ".join(sorted(words)[:3])

    def _later(self, readings):
        """Every reading that any of these may have become by frames not shown."""
        if not any(r[0] == "step" for r in readings):
            return readings | {("leaf", "*") for r in readings if r[0] == "leaf"}
        first = min(r[1] for r in readings if r[0] == "step")
        later = {("step", i, _ANY) for i in range(first, len(self.steps))} | {("leaf", "*")}
        return later | (set() if self.steady else {("top", letter) for letter in "." + self.word})

    @staticmethod
    def _native(reading, frame):
        if frame.kind == "managed":
            return []
        if reading[0] != "step" or reading[2] is _ANY:
            return [reading]
        return [("step", reading[1], (*reading[2], frame.name if frame.kind == "native" else ""))]

    def _managed(self, reading, found):
        if found is None:
            return []
        if reading[0] == "leaf":
            return self._in_leaf(reading[1], found)
        if reading[0] == "top":
            return self._helper(reading[1], found)
        i, natives = reading[1:]
        step, _, wanted = self.steps[i]
        if step == "EH":  # the managed half of throwing: System.* frames until the next of ours
            if found.lstrip("*").startswith("System."):
                return [("step", i, ())]
            return self._managed(("step", i + 1, _ANY), found) if _OURS.match(found) else []
        if re.fullmatch(step, found):
            if not self._fit(step, natives, wanted):
                return []
            return [("leaf", "Run")] if i + 1 == len(self.steps) else [("step", i + 1, ())]
        if step == _BOTTOM[1] and found.startswith("System.Threading.Thread+StartHelper."):
            return [reading]  # not inlined where precompiled code is off
        return [] if self.steady else self._helper(self.steps[i - 1][1] if i else "", found)

    @staticmethod
    def _fit(step, natives, wanted):
        """Native frames between two managed ones."""
        if natives is _ANY or step == _BOTTOM[0] or step.startswith(r"\*"):
            return True
        return [n for n in natives if n] == [wanted] if wanted else not natives

    @staticmethod
    def _helper(letter, found):
        """The chain ends before its leaf: it is on its way, up or down. Only helpers may lie above."""
        if _OURS.match(found) or not _HELPERS.match(found):
            return []
        return [("top", letter)] if not found.startswith("Making.") or letter in _MAKING else []

    def _in_leaf(self, last, found):
        """Above Leaves.Run: the leaf's own method, what that calls, and anything of the framework."""
        plain = found.lstrip("*")
        if plain.startswith("Leaves."):
            method, own = plain.removeprefix("Leaves."), _LEAVES[self.leaf]
            if last == "*":
                fits = own in (method, _CALLERS.get(method))
            elif last == "Run":
                fits = method == own
            else:
                fits = _CALLERS.get(method) == last or (found.startswith("*") and method == own)
            return [("leaf", method)] if fits else []
        fits = _HELPERS.match(found) or plain.startswith(("Leaves+", "DynamicClass.lambda"))
        return [("leaf", last)] if fits and not re.match(r"(Links|Program|Made)\b", plain) else []


def _expected(number, word):
    """(managed frame, letter of its link, the one native frame before it) from the thread's start inwards."""
    steps, native = [(step, "", "") for step in _BOTTOM], ""
    for letter in word:
        for step in _LINKS[letter]:
            if step.startswith("n:"):
                native = step[2:]
                continue
            steps.append((step.replace("_N_", f"_{number}_"), letter, native))
            native = ""
        steps.append(("Links.Next", "", ""))
    return steps + [("Leaves.Run", "", "")]


def check(name, frames, is_cut=False):
    """The verdict on one thread of the program. Of a cut stack the frames near the thread's start are missing."""
    match = NAME.match(name)
    strict = _Reader(match, False).read(frames, is_cut)
    if not strict.problem or all(f.sure for f in frames):
        return strict
    lenient = _Reader(match, True).read(frames, is_cut)
    return lenient if lenient.problem else dataclasses.replace(strict, marked=True)
