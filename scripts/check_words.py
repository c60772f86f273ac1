#!/usr/bin/env python3
"""Sentences of comments and pages have a subject first, and the field's words.

  check_words.py [ROOT] [PATH...]   all of src/, include/ and docs/, or the given files

Prints each fault as FILE:LINE: TEXT. Exit status 1 when there is one. A sentence that begins with "Of", "Who" or "What"
has its subject last; docs/glossary.md says which words stand for which.
"""
import pathlib
import re
import sys

# Word -> what the field says.
WORDS = {r"circles?": "cycle", r"gives? up some ?time": "may time out", r"who holds up": "owner, or blocked by"}
START = re.compile(r"(?:^|(?<=[.!?;] )|(?<=[.!?]\) ))(Of|Who|Whose|Whom|What)\b(?! (?:is|does|to do|if|now)\b[^.]*\?)")
WORD = re.compile("|".join(rf"\b(?:{word})\b" for word in WORDS), re.I)
COMMENT = re.compile(r"^\s*(?://[/!]?<?|\*|#)\s?(.*)$")
TRAILING = re.compile(r"\S.*?\s//[/!]?<?\s?(.*)$")
SOURCES = (".h", ".cc", ".inc", ".c")


def comments(text):
    """(line, text, whether it goes on from the line before) of every comment line."""
    last, blank = 0, True
    for number, line in enumerate(text.splitlines(), 1):
        found = COMMENT.match(line) if "//" in line.lstrip()[:2] else None
        if found:
            yield number, found.group(1), last == number - 1 and not blank
            last, blank = number, not found.group(1).strip() or found.group(1).rstrip().endswith((".", ":", "!", "?"))
        elif "//" in line and (found := TRAILING.match(line)) and '"' not in found.group(1):
            yield number, found.group(1), False


def lines_of_page(text):
    code, goes_on = False, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        if code or line.startswith(("    ", "|", "```")):
            goes_on = False
            continue
        bare = re.sub(r"^(?:[-*#>]+|\d+\.)\s+", "", line)
        yield number, bare, goes_on and bare == line
        goes_on = bool(line.strip()) and not line.rstrip().endswith((".", ":", "!", "?")) and not line.startswith("#")


def faults_of(path, shown):
    text = path.read_text(errors="replace")
    for number, line, goes_on in (comments if path.suffix in SOURCES else lines_of_page)(text):
        plain = re.sub(r"`[^`]*`", "x", line).lstrip()
        for found in START.finditer(plain):
            if found.start() == 0 and goes_on:
                continue
            yield f'{shown}:{number}: a sentence begins with "{found.group(1)}"'
        for found in WORD.finditer(plain):
            word = next(w for w in WORDS if re.fullmatch(w, found.group(0), re.I))
            yield f'{shown}:{number}: "{found.group(0)}": {WORDS[word]}'


def files(root):
    for folder in ("src", "include", "docs"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (*SOURCES, ".md") and "adr" not in path.parts:
                yield path
    yield from (root / name for name in ("README.md", "CONTRIBUTING.md"))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    chosen = [root / name for name in sys.argv[2:]] or list(files(root))
    chosen = [f for c in chosen for f in (sorted(c.rglob("*")) if c.is_dir() else [c]) if f.suffix in (*SOURCES, ".md")]
    faults = [fault for path in chosen for fault in faults_of(path, path.relative_to(root).as_posix())]
    for fault in faults:
        print(fault)
    print(f"words: {len(faults)} sentences to turn round")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
