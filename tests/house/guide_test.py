"""The code in docs/library.md compiles: the first C++ block as it stands, the others as the body of a
function that has what the text speaks of."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/library.md").read_text()

CXX = """
#include <array>
#include <cstdio>
#include <thread>
#include "mixstack/ask_memory.h"
#include "mixstack/machine.h"
#include "mixstack/memory_growth.h"
#include "mixstack/report.h"
#include "mixstack/self_walk.h"
#include "mixstack/session.h"
#include "mixstack/shared_images.h"
#include "mixstack/record.h"
#include "mixstack/recording_formats.h"
#include "mixstack/top.h"
#include "mixstack/why.h"
using mixstack::fail;
"""
# Names that a block may use without making them; a block that makes one hides it.
ARGUMENTS = {
    "pid": "std::uint32_t pid", "session": "mixstack::Session& session", "walker": "mixstack::Walker& walker",
    "thread": "const mixstack::ThreadCapture& thread", "frame": "const mixstack::Frame& frame",
    "range": "mixstack::AddressRange range", "stepper": "std::shared_ptr<mixstack::FrameStepper> stepper",
    "dump": "const mixstack::ProcessDump& dump",
    "names": "std::shared_ptr<mixstack::NameProvider> names",
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.S | re.M)


def indented(text):
    return "".join("  " + line + "\n" for line in text.splitlines())


class Guide(unittest.TestCase):
    def compiles(self, compiler, suffix, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / f"guide{suffix}"
            source.write_text(text)
            done = subprocess.run([*compiler, "-I", str(ROOT / "include"), "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
                                   "-fsyntax-only", str(source)], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, f"{text}\n{done.stderr}")

    def test_cxx(self):
        code = blocks("cpp")
        self.assertGreaterEqual(len(code), 6)
        functions = []
        self.compiles(["g++", "-std=c++20"], ".cc", code[0])  # a reader's first file: with its includes, by itself
        for number, block in enumerate(code[1:], 1):
            made = set(re.findall(r"(?m)^\s*(?:const )?(?:auto|[\w:]+)&? (\w+)(?: =|;)", block)) & set(ARGUMENTS)
            # Only what the first lines make hides an argument: a loop's variable is its own.
            outer = {name for name in made if re.search(rf"(?m)^\S.*\b{name}\b(?: =|;)", block)}
            arguments = ", ".join(text for name, text in ARGUMENTS.items() if name not in outer)
            functions.append(f"mixstack::Result<void> block_{number}({arguments}) {{\n{indented(block)}  return {{}};\n}}\n")
        self.compiles(["g++", "-std=c++20"], ".cc", CXX + "\n".join(functions))

    def test_c(self):
        [block] = blocks("c")
        self.compiles(["gcc", "-std=c11", "-pedantic"], ".c",
                      f"#include <stdio.h>\n#include \"mixstack.h\"\nvoid block(void) {{\n{indented(block)}}}\n")

    def test_the_reference_is_made_without_a_warning(self):
        if not shutil.which("doxygen"):
            self.skipTest("no doxygen")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, capture_output=True, text=True, timeout=100,
                                  env={"PATH": "/usr/bin:/bin", "MIXSTACK_REFERENCE": folder})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((pathlib.Path(folder) / "index.html").exists())
            self.assertTrue(list(pathlib.Path(folder).glob("classmixstack_1_1Session.html")))


if __name__ == "__main__":
    unittest.main()
