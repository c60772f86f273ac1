"""Shared libraries export their interface and nothing else. BUILD names the build folder."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = pathlib.Path(os.environ["BUILD"]) / "lib"
# What the compiler adds to a class or a function: "vtable for X", "X::f[abi:cxx11](...)", "X::f() const@@VERSION".
VERSION = re.compile(r"@@?MIXSTACK_0$")
TABLE = re.compile(r"^(vtable|typeinfo|typeinfo name|VTT) for ")


def exported(library):
    """Demangled names, the symbol of the version itself left out."""
    lines = subprocess.run(["nm", "-DC", "--defined-only", LIBRARIES / library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    names = [VERSION.sub("", line.split(" ", 2)[2]) for line in lines]
    return [name for name in names if name != "MIXSTACK_0"]


def without_comments(path):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.S)


def classes_of(headers):
    """Names of the classes the headers define, without namespaces."""
    return {name for header in headers
            for name in re.findall(r"\b(?:class|struct)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)(?:\s+final)?\s*(?::[^;{]*)?\{",
                                   without_comments(header))}


class Exports(unittest.TestCase):
    def test_what_the_c_header_declares_is_there(self):
        text = without_comments(ROOT / "include/mixstack.h")
        declared = set(re.findall(r"MIXSTACK_API\s[^;(]*?\b(mixstack_\w+)\(", text))
        self.assertGreaterEqual(len(declared), 11)
        self.assertEqual({n for n in exported("libmixstack.so") if n.startswith("mixstack_")}, declared)

    def test_cxx_names_are_of_public_classes(self):
        headers = sorted((ROOT / "include/mixstack").glob("*.h"))
        classes = classes_of(headers)
        self.assertIn("Session", classes)
        text = "\n".join(map(without_comments, headers))
        for name in exported("libmixstack.so"):
            if name.startswith("mixstack_"):
                continue
            with self.subTest(name):
                plain = TABLE.sub("", name).replace("[abi:cxx11]", "").split("(")[0]
                parts = plain.split("::")
                self.assertEqual(parts[0], "mixstack")
                inner = [p for p in parts[1:] if p != "dotnet"]
                if len(inner) == 1 and not TABLE.match(name):
                    self.assertRegex(text, rf"\b{inner[0]}\(")  # a function of its own
                    continue
                self.assertIn(inner[0], classes)
                member = inner[1:]
                self.assertLessEqual(len(member), 1, "a class inside another one is no interface")
                if member and not member[0].startswith("operator"):
                    self.assertRegex(text, rf"(?<!\w){re.escape(member[0])}\(")

    def test_what_public_classes_define_is_there(self):
        """A member function with code in the archive that the shared library hides: cmake/mixstack.map lacks its class."""
        classes = classes_of(sorted((ROOT / "include/mixstack").glob("*.h")))
        names = set(exported("libmixstack.so"))
        archive = subprocess.run(["nm", "-C", "--defined-only", LIBRARIES / "libmixstack.a"], capture_output=True, text=True,
                                 check=True).stdout
        member = re.compile(r"^[0-9a-f]+ T (mixstack::(?:dotnet::)?(\w+)::(?:~?\w+|operator\W+)(?:\[abi:cxx11\])?\(.*)$", re.M)
        defined = {name for name, owner in member.findall(archive) if owner in classes}
        self.assertGreater(len(defined), 40)
        self.assertFalse(defined - names)

    def test_what_public_functions_define_is_there(self):
        """The same of functions outside classes, of all that are declared without a body."""
        text = "\n".join(without_comments(h) for h in (ROOT / "include/mixstack").glob("*.h"))
        declared = set(re.findall(r"^(?!inline|constexpr|template|struct|class|using|enum)[\w\[][^\n;{}()=]*?[ &*](\w+)\("
                                  r"[^;]*?\);$", text, re.M))
        self.assertLessEqual({"describe", "frame_text", "write_json", "to_string"}, declared)
        archive = subprocess.run(["nm", "-C", "--defined-only", LIBRARIES / "libmixstack.a"], capture_output=True, text=True,
                                 check=True).stdout
        defined = {name for name, function in re.findall(
            r"^[0-9a-f]+ T (mixstack::(?:dotnet::)?(\w+)(?:\[abi:cxx11\])?\(.*)$", archive, re.M) if function in declared}
        self.assertGreaterEqual(len(defined), 8)
        self.assertFalse(defined - set(exported("libmixstack.so")))

    @unittest.skipUnless((LIBRARIES / "libstackwalker-mixstack.so").exists(), "no StackwalkerAPI in this build")
    def test_the_stackwalker_library_shows_nothing_of_the_engine(self):
        names = exported("libstackwalker-mixstack.so")
        self.assertGreater(len(names), 100)
        for name in names:
            self.assertRegex(TABLE.sub("", name), r"^(non-virtual thunk to )?Dyninst::", name)

    def test_names_and_versions_of_the_files(self):
        dynamic = subprocess.run(["readelf", "-dW", LIBRARIES / "libmixstack.so"], capture_output=True, text=True,
                                 check=True).stdout
        self.assertIn("[libmixstack.so.0]", dynamic)
        self.assertNotIn("TEXTREL", dynamic)
        version = re.search(r"project\(mixstack VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertTrue((LIBRARIES / f"libmixstack.so.{version}").exists())
        self.assertTrue((LIBRARIES / "libmixstack.a").exists())


if __name__ == "__main__":
    unittest.main()
