"""docs/stackwalker-api.md against the headers and the tests: every public entity of include/stackwalker has a row, every
row names an entity that is there, and a test that is there and uses it (see references.py).
"""
import pathlib
import re
import sys
import unittest

import references

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "stackwalker"
TABLE = ROOT / "docs" / "stackwalker-api.md"
HIDDEN = {"openTarget"}  # ties to mixstack, not for users
# Lists of registers; one row stands for each.
REGISTERS = {"registers/x86_64_regs.h": "x86_64::*", "registers/aarch64_regs.h": "aarch64::*"}


class Scanner:
    """The entities a header declares: classes, functions, typedefs, enumerators and constants that users can reach."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
        macros = re.findall(r"^\s*#\s*define\s+(\w+)", text, re.M)
        text = re.sub(r"^\s*#[^\n]*", " ", text, flags=re.M)
        self.text, self.names = text, macros
        self.scopes = []  # (kind, name, access)
        self.scan()

    def prefix(self):
        return "".join(name + "::" for kind, name, _ in self.scopes if kind == "class")

    def is_reachable(self):
        return all(access != "private" for kind, _, access in self.scopes if kind == "class")

    def add(self, name):
        if self.is_reachable() and name not in HIDDEN:
            self.names.append(self.prefix() + name)

    def scan(self):
        statement, i = "", 0
        while i < len(self.text):
            c = self.text[i]
            if c == "{":
                i = self.open(" ".join(statement.split()), i)
                statement = ""
                continue
            if c == "}":
                if self.scopes:
                    self.scopes.pop()
                statement = ""
            elif c == ";":
                self.declare(" ".join(statement.split()))
                statement = ""
            elif c == ":" and statement.strip() in ("public", "private", "protected"):
                kind, name, _ = self.scopes[-1]
                self.scopes[-1] = (kind, name, statement.strip())
                statement = ""
            else:
                statement += c
            i += 1

    def open(self, statement, i):
        """Enters a scope, or skips one that declares nothing. Answers where to go on."""
        if re.match(r"(inline )?namespace\b|extern\b", statement):
            self.scopes.append(("namespace", statement.split()[-1], "public"))
            return i + 1
        match = re.match(r"(class|struct)\s+(\w+)(?!.*\()", statement)
        if match:
            self.add(match.group(2))
            self.scopes.append(("class", match.group(2), "private" if match.group(1) == "class" else "public"))
            return i + 1
        end = self.matching(i)
        if re.match(r"(typedef\s+)?enum\b", statement):
            for name in re.findall(r"(?:^|,)\s*(\w+)", self.text[i + 1:end]):
                self.add(name)
            if statement.startswith("typedef"):
                self.add(re.match(r"\s*(\w+)", self.text[end + 1:]).group(1))
                return self.text.index(";", end) + 1
            return end + 1
        if not re.match(r"(struct|union)$", statement):  # an unnamed struct declares a member
            self.declare(statement)
        return end + 1

    def matching(self, i):
        depth = 0
        while True:
            depth += {"{": 1, "}": -1}.get(self.text[i], 0)
            if depth == 0:
                return i
            i += 1

    def declare(self, statement):
        statement = re.sub(r"\[\[.*?\]\]|\bexplicit\b|\bvirtual\b|__attribute__\(\(.*?\)\)\)?", " ", statement).strip()
        if not statement or re.match(r"(friend|using|class|struct|public|private|protected)\b", statement):
            return
        if statement.startswith("typedef"):
            name = re.search(r"\(\*(\w+)\)|(\w+)$", statement)
            self.add(name.group(1) or name.group(2))
            return
        function = re.match(r"[^(=]*?(~?\w+|operator\s*\S+?)\s*\(", statement)
        if function and "= delete" not in statement:
            name = function.group(1).replace(" ", "")
            own = self.scopes[-1][1] if self.scopes and self.scopes[-1][0] == "class" else None
            if name.lstrip("~") != own and not (name.startswith("operator") and own is None):
                self.add(name)
            return
        constant = re.match(r"(?:inline |static )*constexpr .*?(\w+)\s*(?:=|$)", statement)
        if constant:
            self.add(constant.group(1))


def declared():
    """Header name -> its entities."""
    result = {}
    for path in sorted(HEADERS.rglob("*.h")):
        name = path.relative_to(HEADERS).as_posix()
        result[name] = [REGISTERS[name]] if name in REGISTERS else sorted(set(Scanner(path.read_text()).names))
    return result


def rows():
    """(entities, header, source, test) of each row of the table."""
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and cells[0].startswith("`"):
            yield re.findall(r"`([^`]+)`", cells[0]), cells[1].strip("`"), cells[2], cells[3].strip("`")


class Table(unittest.TestCase):
    def test_every_entity_has_a_row(self):
        listed = {(entity, header) for entities, header, _, _ in rows() for entity in entities}
        missing = [f"{header}: {entity}" for header, entities in declared().items() for entity in entities
                   if (entity, header) not in listed]
        self.assertEqual(missing, [])

    def test_every_row_is_true(self):
        known, used, wrong = declared(), references.of_tests(), []
        for entities, header, source, test in rows():
            for entity in entities:
                if entity not in known.get(header, []):
                    wrong.append(f"{entity} is not in {header}")
                if test not in used:
                    wrong.append(f"{entity}: there is no test {test}")
                elif entity not in used[test]:
                    wrong.append(f"{test} does not use {entity}")
            if not source:
                wrong.append(f"{entities} has no source")
        self.assertEqual(wrong, [])
        self.assertGreater(len(list(rows())), 150)

    def test_corrections_of_the_manual_are_listed(self):
        text = TABLE.read_text()
        for path in (ROOT / "tests" / "stackwalker").glob("*.cpp"):
            self.assertIn(path.name, text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for header_name, found in declared().items():
            print(header_name, *found, sep="\n  ")
    else:
        unittest.main()
