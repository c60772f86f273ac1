"""What the tests of the StackwalkerAPI use of it, by the compiler's reading: each reference to its entity, not to whatever
has the same name."""
import functools
import pathlib
import re

from clang.cindex import CursorKind, Index

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "stackwalker"
ARGUMENTS = ["-xc++", "-std=c++20", f"-I{ROOT}/include/stackwalker", f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{ROOT}/tests",
             "-DFMT_HEADER_ONLY=1"]
_MACROS = {name for path in HEADERS.rglob("*.h") for name in re.findall(r"^\s*#\s*define\s+(\w+)", path.read_text(), re.M)}
_CLASSES = (CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL)
_FUNCTIONS = (CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR,
              CursorKind.FUNCTION_TEMPLATE, CursorKind.CONVERSION_FUNCTION)


@functools.cache
def _file_is_in(name, folder):
    return pathlib.Path(name).resolve().is_relative_to(folder)


def _is_in(cursor, folder):
    return cursor.location.file is not None and _file_is_in(cursor.location.file.name, folder)


def _names(cursor):
    """The entity and the classes it belongs to, as the table writes them: without namespaces, but for lists of
    registers."""
    name = cursor.spelling.split("<")[0]
    parts, at = ["operator" if name == "operator()" else name], cursor.semantic_parent
    while at is not None and at.kind in _CLASSES + (CursorKind.ENUM_DECL,):
        if at.kind in _CLASSES:
            parts.insert(0, at.spelling)
        at = at.semantic_parent
    names = {"::".join(parts[:length]) for length in range(1, len(parts) + 1)}
    if at is not None and at.spelling in ("x86_64", "aarch64"):
        names.add(f"{at.spelling}::*")
    return names


class Unit:
    """One source file of tests."""

    def __init__(self, path):
        self.path = path
        self._unit = Index.create().parse(str(path), args=ARGUMENTS)
        errors = [str(d) for d in self._unit.diagnostics if d.severity >= d.Error]
        if errors:
            raise RuntimeError(f"{path}: {errors[:3]}")
        self._own = {}  # definitions of functions and classes in our tests: USR -> cursor
        self._collect(self._unit.cursor)

    def _words(self, extent):
        """Macros are gone from what the compiler has read."""
        lines = pathlib.Path(extent.start.file.name).read_text().splitlines()[extent.start.line - 1:extent.end.line]
        text = re.sub(r'"(\\.|[^"\\])*"|//.*|/\*.*?\*/', "", "\n".join(lines))
        return re.findall(r"\w+", text)

    def _is_own(self, cursor):
        return _is_in(cursor, ROOT / "src" / "frontends" / "stackwalker") or _is_in(cursor, ROOT / "tests")

    def _collect(self, cursor):
        for child in cursor.get_children():
            if child.location.file is not None and not self._is_own(child):
                continue
            if child.kind in _FUNCTIONS + _CLASSES and child.is_definition():
                self._own[child.get_usr()] = child
            self._collect(child)

    def _used_by(self, cursor, seen, out):
        """Adds what a definition refers to, also through our own helpers and classes."""
        if cursor.get_usr() in seen:
            return
        seen.add(cursor.get_usr())
        if cursor.kind in _CLASSES:
            out |= self._overridden_by(cursor)
            for child in cursor.get_children():
                if self._runs_without_a_call(child):
                    self._used_by(self._own.get(child.get_usr(), child), seen, out)
            return
        out |= _MACROS.intersection(self._words(cursor.extent))
        for at in cursor.walk_preorder():
            for target in (at.referenced, at.type.get_declaration() if at.kind.is_expression() else None):
                if target is None or target.location.file is None:
                    continue
                if _is_in(target, HEADERS):
                    out |= _names(target)
                elif target.get_usr() in self._own:
                    self._used_by(self._own[target.get_usr()], seen, out)
                elif target.semantic_parent is not None and target.semantic_parent.get_usr() in self._own:
                    self._used_by(self._own[target.semantic_parent.get_usr()], seen, out)

    @staticmethod
    def _runs_without_a_call(member):
        """What an object of a class makes use of whoever has it: also what the API or GoogleTest calls."""
        if member.kind == CursorKind.CXX_METHOD:
            return member.is_virtual_method() or member.spelling in ("SetUp", "TearDown")
        return member.kind in (CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR, CursorKind.FIELD_DECL)

    def _overridden_by(self, cursor):
        """What of the API's classes a class of the tests overrides."""
        names, own = set(), {c.spelling for c in cursor.get_children() if c.kind == CursorKind.CXX_METHOD}
        for base in cursor.get_children():
            if base.kind != CursorKind.CXX_BASE_SPECIFIER:
                continue
            declared = base.type.get_declaration()
            if _is_in(declared, HEADERS):
                names |= {f"{declared.spelling}::{c.spelling}" for c in declared.get_children()
                          if c.kind == CursorKind.CXX_METHOD and c.is_virtual_method() and c.spelling in own}
        return names

    def tests(self):
        """Name of each test -> what it uses."""
        found = {}
        for cursor in self._own.values():
            if cursor.kind == CursorKind.CXX_METHOD and cursor.spelling == "TestBody":
                suite_and_test = cursor.semantic_parent.spelling.removesuffix("_Test")
                used, seen = set(), set()
                self._used_by(cursor, seen, used)
                for base in cursor.semantic_parent.get_children():
                    if base.kind == CursorKind.CXX_BASE_SPECIFIER and base.type.get_declaration().get_usr() in self._own:
                        self._used_by(base.type.get_declaration(), seen, used)
                found[suite_and_test] = used
        return found

    def everything(self):
        used, seen = set(), set()
        for cursor in self._own.values():
            self._used_by(cursor, seen, used)
        return used


def of_tests():
    """Name of each test, SUITE.TEST or the path of a program -> the entities that it uses."""
    found = {}
    for path in sorted((ROOT / "src" / "frontends" / "stackwalker").glob("*_test.cc")):
        found.update({name.replace("_", ".", 1): used for name, used in Unit(path).tests().items()})
    for path in sorted((ROOT / "tests" / "stackwalker").glob("*.cpp")):
        found[f"tests/stackwalker/{path.name}"] = Unit(path).everything()
    return found
