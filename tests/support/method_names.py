"""One canonical text for a method, made from ClrMD's Method.Signature or from mixstack's raw_name.

ClrMD:    Ns.Outer`1+Inner`1[[System.Int32, Asm],[System.__Canon, Asm]].Mixed[[System.DateTime, Asm]](Int32, Nested ByRef)
mixstack: the metadata form, Ns.Outer`1+Inner`1[...].Mixed[...](System.Int32, Ns.Outer`1+Nested&)
Both become:  Ns.Outer+Inner<Int32,System.__Canon>.Mixed<System.DateTime>(Int32,Nested&)
What is dropped, because ClrMD does not say it or says it twice: assembly names, arities, blanks, "System." before
primitives, the outer type of a nested type in a parameter list.
"""
import functools
import re

_PRIMITIVES = ("Boolean|Char|SByte|Byte|Int16|UInt16|Int32|UInt32|Int64|UInt64|Single|Double|IntPtr|UIntPtr|Void"
               "|TypedReference")
_SYSTEM = re.compile(r"(?<![\w.+])System\.(" + _PRIMITIVES + r")(?![\w.+`])")
_ARITY = re.compile(r"`\d+")
_OUTER = re.compile(r"[\w.`]+(?:<[^<>]*>)?\+")
_BLANKS = re.compile(r"\s+")


def _closing(text, start):
    """Index just after the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "[":
            depth += 1
        elif text[i] == "]":
            depth -= 1
            if depth == 0:
                return i + 1
    return -1


def _split(text):
    """Splits at commas outside any bracket."""
    parts, depth, last = [], 0, 0
    for i, letter in enumerate(text):
        if letter in "[<(":
            depth += 1
        elif letter in "]>)":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    parts.append(text[last:])
    return parts


def _arguments(inside):
    """The text between the outer brackets of a generic argument list, as a list of types."""
    types = []
    for part in _split(inside):
        part = part.strip()
        if part.startswith("[") and part.endswith("]"):
            # [Type, Assembly]: the assembly goes. A nested list keeps its own brackets inside the first part.
            part = _split(part[1:-1])[0].strip()
        types.append(_brackets(part))
    return types


def _brackets(text):
    """Turns [[A, Asm],[B, Asm]] and [A,B] into <A,B>; leaves array brackets alone."""
    out, i = [], 0
    while i < len(text):
        if text[i] != "[":
            out.append(text[i])
            i += 1
            continue
        end = _closing(text, i)
        if end < 0:
            out.append(text[i:])
            break
        inside = text[i + 1:end - 1]
        if re.fullmatch(r"[\s,*]*", inside):
            out.append("[" + inside.replace(" ", "") + "]")
        else:
            out.append("<" + ",".join(_arguments(inside)) + ">")
        i = end
    return "".join(out)


def _parameters_start(text):
    """Index of the parenthesis that opens the parameter list, which is the last balanced group; -1: none."""
    if not text.endswith(")"):
        return -1
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        if text[i] == ")":
            depth += 1
        elif text[i] == "(":
            depth -= 1
            if depth == 0:
                return i
    return -1


def _function_pointers(text):
    """delegate*<A,R> and delegate* unmanaged[X]<A,R> in ClrMD's way: R(A)."""
    while True:
        match = re.search(r"delegate\*(?:unmanaged|managed)?(?:<[\w,]*>(?=<)|\[[\w,]*\])?<", text)
        if not match:
            return text.replace("*(", "(")
        depth, i = 1, match.end()
        while i < len(text) and depth:
            depth += {"<": 1, ">": -1}.get(text[i], 0)
            i += 1
        *arguments, result = _split(text[match.end():i - 1])
        text = text[:match.start()] + f"{result}({','.join(arguments)})" + text[i:]


@functools.lru_cache(maxsize=65536)
def canonical(text):
    """The canonical text of a method, or "" for none."""
    if not text:
        return ""
    text = re.sub(r" ByRef\b", "&", text.strip())
    start = _parameters_start(text)
    name, parameters = (text, "") if start < 0 else (text[:start], text[start:])
    name = _BLANKS.sub("", _ARITY.sub("", _brackets(name)))
    parameters = _BLANKS.sub("", _ARITY.sub("", _brackets(parameters)))
    parameters = _SYSTEM.sub(r"\1", parameters)
    parameters = _function_pointers(parameters)
    parameters = _OUTER.sub("", parameters)
    return _SYSTEM.sub(r"\1", name) + parameters
