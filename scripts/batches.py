#!/usr/bin/env python3
"""Which sources can be compiled together: batches.py [--bytes N] [--kept FILE] SOURCE... prints "NUMBER SOURCE" for each.

Files of one number are included in one translation unit (CMake's unity build, cmake/batches.cmake), in the order given.
Each was written to be compiled alone: two files may have functions of one name in their unnamed namespaces, or one has
a function `read` there and the other calls that of the system. So a file joins a batch only where none of its words is
something that a file before it has declared for itself. It reads words, not C++; what it calls declared may be more than
what is.

--bytes limits a batch: one changed file costs its whole batch. --kept names a file in which the numbers stay from one
call to the next, so that a file that grew moves no others. Files that include a header of seconds (CLI11) share batches
with no others, so that it is read in few of them.
"""
import argparse
import pathlib
import re
import sys

MOST_FILES = 10
MOST_BYTES = 90_000
KEPT_BYTES = 1.25  # times as much may a batch grow to before a file has to leave it
DEAR_HEADER = re.compile(r"^#include <CLI/", re.M)
ROOT = pathlib.Path(__file__).resolve().parents[1]
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*"""
                   r"""|[A-Za-z_]\w*|::|\d[\w'.]*|\S""", re.S | re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = frozenset("""alignas auto bool break case catch char class const constexpr consteval constinit continue default
delete do double else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept
nullptr operator private protected public return short signed sizeof static struct switch template this throw true try
typedef typename union unsigned using virtual void volatile while override final""".split())
OPEN, UNNAMED, OTHER = "open", "unnamed", "other"


class Source:
    """The words of a file, and what it declares at namespace scope for itself alone."""

    def __init__(self, text, headers=()):
        self.size = len(text)
        self.is_dear = any(DEAR_HEADER.search(part) for part in (text, *headers))
        self.words, self.declared, self.same = set(), set(), {}
        tokens = []
        for token in TOKEN.findall(text):
            if token.startswith(("//", "/*")):
                continue
            if token.lstrip().startswith("#"):
                self._directive(token)
            else:
                tokens.append(token)
        self.words |= {t for t in tokens if WORD.fullmatch(t) and t not in KEYWORDS}
        self._scopes, self._depth, self._statement = [], 0, []
        for token, after in zip(tokens, tokens[1:] + [""]):
            self._read(token, after)
        # A namespace inside of ours hides the one of the same name further out.
        for header in headers:
            for outer, inner in re.findall(r"^namespace (\w+::\w[\w:]*)::(\w+) \{", header, re.M):
                self.same[inner] = outer

    def _directive(self, line):
        if re.match(r"\s*#\s*include", line):
            return
        self.words |= set(WORD.findall(line))
        if name := re.match(r"\s*#\s*define\s+(\w+)", line):
            self.declared.add(name.group(1))

    def _is_outside(self):
        return OTHER not in self._scopes

    def _read(self, token, after):
        if token in "([":
            self._depth += 1
        elif token in ")]":
            self._depth -= 1
        outside = self._is_outside() and self._depth == 0
        if outside:
            self._statement.append(token)
            if WORD.fullmatch(token) and token not in KEYWORDS and self._is_declared(token, after):
                self.declared.add(token)
        if token == "{":
            self._scopes.append(self._scope() if outside else OTHER)
            if self._scopes[-1] != OTHER:
                self._statement = []
        elif token == "}":
            if self._scopes:
                self._scopes.pop()
            if self._is_outside() and self._depth == 0:
                self._statement = []
        elif token == ";" and outside:
            self._end()

    def _scope(self):
        if self._statement[-2:-1] == ["namespace"]:
            return UNNAMED
        return OPEN if "namespace" in self._statement or self._statement[:1] == ["extern"] and len(self._statement) == 3 else OTHER

    def _is_declared(self, token, after):
        before = self._statement[-2] if len(self._statement) > 1 else ""
        if self._statement[0] == "using" or before == "::" or "namespace" in self._statement and after != "=":
            return False
        if after == "(":  # of a named namespace: declared in a header, and no other file's; upper case: a macro is used
            return not token.isupper() and (UNNAMED in self._scopes or not {"static", "constexpr", "inline"}.isdisjoint(self._statement))
        return after in ("=", "{", ";", "[", ":", ",") or after == "<" and before in ("struct", "class")

    def _end(self):
        if self._statement[0] == "using" and "namespace" not in self._statement and len(self._statement) > 2:
            name = self._statement[1] if "=" in self._statement else self._statement[-2]
            self.same[name] = " ".join(self._statement)
        self._statement = []


def bear_each_other(first, second):
    """Whether `second` may stand behind `first` in one translation unit."""
    if first.declared & second.words or first.is_dear != second.is_dear:
        return False
    return all(second.same.get(name) == what for name, what in first.same.items() if name in second.words)


class Batch:
    """Sources by their place in the order of all, which is the one they are included in."""

    def __init__(self):
        self.bytes, self.members = 0, {}

    def takes(self, index, source, most_bytes):
        if not self.members:
            return True
        if len(self.members) >= MOST_FILES or self.bytes + source.size > most_bytes:
            return False
        return all(bear_each_other(other, source) if at < index else bear_each_other(source, other)
                   for at, other in self.members.items())

    def add(self, index, source):
        self.bytes += source.size
        self.members[index] = source


def read(path):
    text = path.read_text(errors="replace")
    headers = [ROOT / folder / name for name in re.findall(r'^#include "([^"]+)"', text, re.M) for folder in ("src", "tests")]
    return Source(text, [header.read_text(errors="replace") for header in headers if header.exists()])


def batches(sources, most_bytes=MOST_BYTES, kept=()):
    """The number of each source's batch; `kept` has the number that each had before, or None."""
    numbers = [None] * len(sources)
    made = []
    for index, number in enumerate(kept):
        if number is None or not 0 <= number < len(sources):
            continue
        while len(made) <= number:
            made.append(Batch())
        if made[number].takes(index, sources[index], most_bytes * KEPT_BYTES):
            made[number].add(index, sources[index])
            numbers[index] = number
    for index, source in enumerate(sources):
        if numbers[index] is None:
            numbers[index] = place(index, source, made, most_bytes)
    return numbers


def place(index, source, made, most_bytes):
    """The first batch that takes it, or a new one."""
    number = next((n for n, batch in enumerate(made) if batch.takes(index, source, most_bytes)), len(made))
    if number == len(made):
        made.append(Batch())
    made[number].add(index, source)
    return number


def numbers_of_file(path):
    """The numbers that the last call wrote; none where the file is not there or not ours."""
    try:
        pairs = [line.split(" ", 1) for line in path.read_text().splitlines()]
        return {name: int(number) for number, name in pairs}
    except (OSError, ValueError):
        return {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=MOST_BYTES)
    parser.add_argument("--kept", type=pathlib.Path)
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    before = numbers_of_file(options.kept) if options.kept else {}
    sources = [read(pathlib.Path(path)) for path in options.sources]
    numbers = batches(sources, options.bytes, [before.get(path) for path in options.sources])
    lines = "".join(f"{number} {path}\n" for number, path in zip(numbers, options.sources))
    if options.kept:
        options.kept.write_text(lines)
    print(lines, end="")


if __name__ == "__main__":
    main()
