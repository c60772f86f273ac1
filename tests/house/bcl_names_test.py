"""The names of src/dotnet/bcl/ are those of the frameworks of .NET 9, 10 and 11 that are on this machine.

A release is looked for as one that is installed, then as a package of NuGet's. What is not there is not checked, and
said so. Other builds, of servicing releases and previews: FRAMEWORKS="11=DIR:DIR 10=DIR".
"""
import bisect
import collections
import functools
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import assembly_names  # noqa: E402

NAMES = ROOT / "src/dotnet/bcl"
RELEASES = (9, 10, 11)
SHARED = pathlib.Path(os.environ.get("DOTNET_ROOT") or "/usr/share/dotnet") / "shared"
PACKAGES = pathlib.Path(os.environ.get("NUGET_PACKAGES") or pathlib.Path.home() / ".nuget/packages")

KINDS = ("TypeName", "TypeStart", "TypePart", "FieldName", "FieldEnd", "NameStart", "NamePart", "Namespace",
         "SimpleName", "AssemblyName", "FileStart")
DECLARATION = re.compile(rf"^(?P<indent> *)(?:static|inline) constexpr (?:std::array<)?(?P<kind>{'|'.join(KINDS)})\b"
                         r"(?:, (?P<count>\d+)>)? (?P<name>k\w+)(?P<value>[^;]*;[^\n]*)", re.M)
STRING = re.compile(r'"([^"]*)"(?:[^"\n]*// .*\[(none|\d+(?:-\d+)?)\])?')
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)

# releases: those of RELEASES in which the mark says that it is there; owner: of a field, the name of its type.
Name = collections.namedtuple("Name", "where kind text owner releases")


def releases_of(mark):
    if not mark:
        return set(RELEASES)
    first, _, last = mark.partition("-")
    return set() if mark == "none" else set(range(int(first), int(last or first) + 1))


def declared(path, text, owner=None, most=frozenset(RELEASES)):
    """Every name of a piece of a header."""
    for found in DECLARATION.finditer(text):
        for name, mark in STRING.findall(found["value"]):
            yield Name(f"{path.name}: {found['name']}", found["kind"], name, owner, releases_of(mark) & most)


def names_of(path):
    text = path.read_text()
    yield from declared(path, STRUCT.sub("", text))
    for struct, body in STRUCT.findall(text):
        own = {n.where.rpartition(" ")[2]: n for n in declared(path, body)}
        if "kNamespace" in own:
            full = f"{own['kNamespace'].text}.{own['kName'].text}"
            yield Name(f"{path.name}: {struct}", "TypeName", full, None, own["kName"].releases)
            continue
        type_ = own["kType"]
        for name in declared(path, body, type_, type_.releases):
            yield name._replace(where=name.where.replace(": ", f": {struct}::"))


def all_names():
    return [name for path in sorted(NAMES.glob("*.h")) for name in names_of(path)]


def folders_of(release):
    """Where the assemblies of a release are; newest first."""
    for chosen in os.environ.get("FRAMEWORKS", "").split():
        number, _, folders = chosen.partition("=")
        if int(number) == release:
            return [pathlib.Path(folder) for folder in folders.split(":")]

    def newest(folder):
        def parts(path):
            return [int(n) for n in re.findall(r"\d+", path.name)]
        return sorted(folder.glob(f"{release}.*"), key=parts)[-1:]
    found = [newest(SHARED / f"Microsoft.{name}.App") or
             newest(PACKAGES / f"microsoft.{name.lower()}.app.runtime.linux-x64") for name in ("NETCore", "AspNetCore")]
    return [folder[0] for folder in found] if all(found) else []


def csharp(type_name):
    """As stacks tell it: "A.B`1+C" is "A.B<T>.C"."""
    return re.sub(r"`\d+", "<T>", type_name).replace("+", ".")


def texts_of(type_):
    """What stacks tell of a type: its name, its methods, and its lambdas as what they are in."""
    own = csharp(type_.name)
    outer = re.sub(r"\.<>c[^.]*$", "", own)
    yield own
    for name, is_generic in type_.methods:
        yield f"{own}.{name}{'<T>' if is_generic else ''}("
        if found := re.match(r"<(\w+)>b__", name):
            yield f"{outer}.{found[1]}.lambda("


class Framework:
    """All names of a release."""

    def __init__(self, folders):
        self._fields, texts, self._assemblies, self._files = {}, set(), set(), set()
        for path in sorted(p for folder in folders for p in folder.rglob("*") if p.is_file()):
            self._files.add(path.name)
            assembly = assembly_names.types_of(path) if path.suffix == ".dll" else None
            if assembly is None:
                continue
            self._assemblies.add(assembly[0])
            for type_ in assembly[1]:
                self._fields.setdefault(type_.name, set()).update(type_.fields)
                texts.update(texts_of(type_))
        self._texts = sorted(texts)
        self._all_types, self._all_texts = "\n".join(self._fields), "\n".join(self._texts)

    def _begins_text(self, start):
        at = bisect.bisect_left(self._texts, start)
        return at < len(self._texts) and self._texts[at].startswith(start)

    def _owners(self, owner):
        if owner.kind == "TypeName":
            return [owner.text] if owner.text in self._fields else []
        return [name for name in self._fields if name.startswith(owner.text)]

    def has(self, name):
        text = name.text
        return {
            "TypeName": lambda: text in self._fields,
            "TypeStart": lambda: any(t.startswith(text) for t in self._fields),
            "TypePart": lambda: text in self._all_types,
            "FieldName": lambda: any(text in self._fields[t] for t in self._owners(name.owner)),
            "FieldEnd": lambda: any(f.endswith(text) for fields in self._fields.values() for f in fields),
            "NameStart": lambda: self._begins_text(text),
            "NamePart": lambda: text in self._all_texts,
            "AssemblyName": lambda: text in self._assemblies,
            "FileStart": lambda: any(f.startswith(text) for f in self._files),
        }[name.kind]()


@functools.cache
def framework(release):
    folders = folders_of(release)
    return Framework(folders) if folders else None


class Names(unittest.TestCase):
    def check_release(self, release):
        found = framework(release)
        if found is None:
            why = f".NET {release} is not checked: neither {SHARED} nor {PACKAGES} has both frameworks of it"
            print(why, file=sys.stderr)
            self.skipTest(why)
        faults = []
        for name in all_names():
            if found.has(name) == (release in name.releases):
                continue
            of = f" of {name.owner.text}" if name.kind == "FieldName" else ""
            says = "is gone from" if release in name.releases else "is in"
            faults.append(f'{name.where}: "{name.text}"{of} {says} .NET {release}')
        if faults:
            self.fail("\n" + "\n".join(faults))

    def test_of_9(self):
        self.check_release(9)

    def test_of_10(self):
        self.check_release(10)

    def test_of_11(self):
        self.check_release(11)

    def test_every_string_of_the_headers_is_read(self):
        names = all_names()
        for path in sorted(NAMES.glob("*.h")):
            strings = re.findall(r'^(?!#include|\s*//).*', path.read_text(), re.M)
            written = [s for line in strings for s in re.findall(r'"([^"]*)"', line.split("//")[0])]
            read = [n.text for n in names if n.where.startswith(f"{path.name}:")]
            in_two_parts = path.read_text().count("constexpr Namespace ")
            with self.subTest(path.name):
                self.assertEqual(len(written), len(read) + in_two_parts)

    def test_a_name_stands_once(self):
        counts = collections.Counter((n.kind, n.text) for n in all_names() if n.owner is None)
        self.assertEqual([name for name, count in counts.items() if count > 1], [])


class Sources(unittest.TestCase):
    def test_names_stand_nowhere_else(self):
        faults = []
        for path in sorted((ROOT / "src").rglob("*")):
            if path.suffix not in (".h", ".cc", ".inc") or path.name.endswith("_test.cc") or NAMES in path.parents:
                continue
            lines = enumerate(path.read_text(errors="replace").splitlines(), 1)
            faults += [f"{path.relative_to(ROOT)}:{n}: {line.strip()}" for n, line in lines if '"System.' in line]
        if faults:
            self.fail("\n" + "\n".join(faults))


if __name__ == "__main__":
    unittest.main()
