#!/usr/bin/env python3
"""Each source of src/ over 250 lines opens with a comment: input, output, the algorithm and its order, its bounds.

  check_heads.py [ROOT]

Tests are free, and so is data that a script writes ("Not to be edited" in the first lines). Exit status 1 when one lacks it.
"""
import pathlib
import re
import sys

LINES = 250
PARTS = {
    "input": re.compile(r"\b(Input|In:)"),
    "output": re.compile(r"\b(Output|Out:)"),
    "algorithm": re.compile(r"\b(Algorithm|[Oo]rder)\b|\b1\."),
    "bounds": re.compile(r"\b[Bb]ounds?\b|\b[Bb]ounded\b"),
}


def head(text):
    """The comment at the very begin of a file."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line)
    return "\n".join(lines)


def missing(text):
    """The parts that the head of a long source lacks."""
    comment = head(text)
    if text.count("\n") <= LINES or "Not to be edited" in comment:
        return []
    return [part for part, words in PARTS.items() if not words.search(comment)]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    found = 0
    for path in sorted((root / "src").rglob("*.cc")):
        if path.name.endswith("_test.cc"):
            continue
        if parts := missing(path.read_text(errors="replace")):
            found += 1
            print(f"{path.relative_to(root)}: over {LINES} lines, and its first comment lacks: {', '.join(parts)}")
    print(f"heads: {found} sources to explain")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
