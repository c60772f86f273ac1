#!/usr/bin/env python3
"""Compares every include line, every namespace that is named and every USES of CMake with the tables of docs/layers.md.

  check_layers.py [ROOT]

Prints each violation as FILE:LINE: TEXT. Exit status 1 when there is one.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\\\.|[^"\\\\\n])*"', re.S)
NAMESPACE = re.compile(r"^namespace mixstack::([\w:]+) \{[ \t]*$", re.M)
NAMED = re.compile(r"(?<![\w:.>])(?:mixstack::)?((?:[a-z]\w*::)+)")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
USES = re.compile(r"mixstack_layer\(\s*(\S+)\s(?:[^()]*?\bUSES\b([^()]*?))?(?:\b(?:LIBS|SKIP|ALONE)\b[^()]*)?\)", re.S)


def table(text, heading):
    """The rows below a heading, without the table's own heading, as lists of cells."""
    section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


class Rules:
    """docs/layers.md."""

    def __init__(self, text):
        rooms = table(text, "Rooms")
        # The level of a room is its row: what it uses stands above it.
        self.level = {name: row for row, (name, _) in enumerate(rooms)}
        self.may_use = {name: set(uses.split()) for name, uses in rooms}
        headers = table(text, "Public headers")
        self.public = {name: self.level.get(lowest, -1) for name, lowest, _ in headers}
        self.lowest = {name: lowest for name, lowest, _ in headers}
        self.maker = {name: maker for name, _, maker in headers if maker}
        self.reserved = [(headers.split(), set(only.split())) for headers, only, _ in table(text, "Headers of others")]

    def faults(self):
        """Contradictions inside the tables themselves."""
        for name, uses in self.may_use.items():
            for used in sorted(uses):
                if used not in self.level:
                    yield f"{name} may use {used}, which is no room"
                elif self.level[used] >= self.level[name]:
                    yield f"{name} may use {used}, which does not stand above it"
        for header, lowest in self.lowest.items():
            if lowest not in self.level:
                yield f"{header} is for {lowest} and up, which is no room"
        for header, maker in self.maker.items():
            if maker not in self.level:
                yield f"{header} is made by {maker}, which is no room"
            elif self.level[maker] > self.public[header]:
                yield f"{header} is for {self.lowest[header]} and up, and made by {maker}, which stands below it"

    def folder_of(self, path):
        """The room a file of src/ or an included path belongs to; None: none of the table."""
        parts = path.split("/")
        for length in (2, 1):
            name = "/".join(parts[:length])
            if len(parts) > length and name in self.level:
                return name
        return None

    def used_by(self, header):
        """The room whose code an include in quotation marks makes use of; None: nobody's."""
        for contracts, maker in self.maker.items():
            if header == contracts or contracts.endswith("/") and header.startswith(contracts):
                return maker
        return None if header.startswith("mixstack/") else self.folder_of(header)

    def check_own(self, folder, linked, header, is_test):
        """What is wrong with an include in quotation marks; None: nothing."""
        used = self.used_by(header)
        if header.startswith("mixstack/"):
            if header not in self.public:
                return f"{header} is not listed among the public headers"
            if self.public[header] > self.level[folder]:
                return f"{folder} may not include {header}, a contract for {self.lowest[header]} and up"
            if used is None:
                return None
        elif header.startswith("support/"):
            return None if is_test else "only tests include support/"
        elif used is None:
            return f'"{header}" is in no room of the table'
        if used == folder:
            return None
        if used not in self.may_use[folder]:
            return f"{folder} may not use {used}"
        return None if used in linked else f"{folder} includes {used} but does not link it (USES)"

    def check_foreign(self, folder, header):
        for headers, only in self.reserved:
            for reserved in headers:
                matches = header.startswith(reserved) if reserved.endswith("/") else header == reserved
                if matches and folder not in only:
                    return f"<{header}> is for {', '.join(sorted(only))} only"
        return None


def linked_folders(root):
    """Per room the rooms its CMakeLists links."""
    linked = {}
    for lists in sorted((root / "src").rglob("CMakeLists.txt")):
        for name, uses in USES.findall(lists.read_text()):
            linked[name] = set(uses.split())
    return linked


def includes(root):
    """(path below src/, line, what kind of include, header) of every include line."""
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc", ".inc"):
            continue
        inside = path.relative_to(root / "src").as_posix()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if found := INCLUDE.match(line):
                yield inside, number, found.group(1), found.group(2)


def without_comments(text):
    return COMMENT.sub(lambda found: "\n" * found.group(0).count("\n"), text)


def declarations(root, rules):
    """Per namespace below mixstack the rooms that declare it. What public headers declare is everybody's."""
    rooms = {}
    for path in sorted((root / "src").rglob("*")):
        inside = path.relative_to(root / "src").as_posix()
        if path.suffix in (".h", ".cc", ".inc") and not inside.endswith("_test.cc") and (room := rules.folder_of(inside)):
            for name in NAMESPACE.findall(path.read_text(errors="replace")):
                rooms.setdefault(name, set()).add(room)
    for path in (root / "include").rglob("*.h"):
        for name in NAMESPACE.findall(path.read_text()):
            rooms.pop(name, None)
    return rooms


def longest(chain, rooms):
    """The namespace that the start of a::b::c means, seen from any room; None: none of the list."""
    parts = chain.split("::")[:-1]
    for length in range(len(parts), 0, -1):
        start = "::".join(parts[:length])
        means = [name for name in rooms if name == start or name.endswith("::" + start)]
        if means:
            return min(means, key=len)
    return None


def check_namespaces(root, rules):
    """What a room reaches through somebody else's include is used by it, too."""
    rooms = declarations(root, rules)
    for path in sorted((root / "src").rglob("*")):
        inside = path.relative_to(root / "src").as_posix()
        room = rules.folder_of(inside)
        if path.suffix not in (".h", ".cc", ".inc") or room is None or inside.endswith("_test.cc"):
            continue
        for number, line in enumerate(without_comments(path.read_text(errors="replace")).splitlines(), 1):
            for chain in NAMED.findall(line):
                name = longest(chain, rooms)
                if name and room not in rooms[name] and not rooms[name] & rules.may_use[room]:
                    yield f"src/{inside}:{number}: {room} names {name}, and may not use {' or '.join(sorted(rooms[name]))}"


def unused_grants(root, rules):
    """What the table grants and nobody makes use of, tests included."""
    used = {name: set() for name in rules.level}
    for inside, _, kind, header in includes(root):
        if kind == '"' and (folder := rules.folder_of(inside)) is not None:
            used[folder].add(rules.used_by(header))
    for name, granted in rules.may_use.items():
        for unused in sorted(granted - used[name]):
            yield f"docs/layers.md: {name} may use {unused}, and does not"


def check_files(root, rules, linked):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc", ".inc"):
            continue
        inside = path.relative_to(root / "src").as_posix()
        if rules.folder_of(inside) is None:
            yield f"src/{inside}:1: in no room of docs/layers.md"
    for inside, number, kind, header in includes(root):
        folder, is_test = rules.folder_of(inside), inside.endswith("_test.cc")
        if folder is None:
            continue
        fault = (rules.check_own(folder, linked.get(folder, set()), header, is_test) if kind == '"'
                 else None if is_test else rules.check_foreign(folder, header))
        if fault:
            yield f"src/{inside}:{number}: {fault}"


def check_public(root, rules):
    """Contracts include contracts of their level or below, and nothing of ours else."""
    for path in sorted((root / "include/mixstack").glob("*.h")):
        name = f"mixstack/{path.name}"
        if name not in rules.public:
            yield f"include/{name}:1: not listed in docs/layers.md"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if found and found.group(1) == '"':
                other = found.group(2)
                if rules.public.get(other, 99) > rules.public[name]:
                    yield f"include/{name}:{number}: includes {other}"


def check(root):
    """All violations of the tree at `root`, and the number of files read."""
    rules = Rules((root / "docs/layers.md").read_text())
    faults = [f"docs/layers.md: {fault}" for fault in rules.faults()]
    linked = linked_folders(root)
    for folder, uses in sorted(linked.items()):
        if folder not in rules.level:
            faults.append(f"src/{folder}/CMakeLists.txt: {folder} is not in docs/layers.md")
            continue
        faults += [f"src/{folder}/CMakeLists.txt: links {used}, which the table does not grant"
                   for used in sorted(uses - rules.may_use[folder])]
    return (faults + list(unused_grants(root, rules)) + list(check_files(root, rules, linked)) +
            list(check_namespaces(root, rules)) + list(check_public(root, rules)))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    faults = check(root)
    for fault in faults:
        print(fault)
    print(f"layers: {len(faults)} violations")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
