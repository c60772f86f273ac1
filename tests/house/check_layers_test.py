"""scripts/check_layers.py finds what it is there to find."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_layers  # noqa: E402

LAYERS = """
## Rooms

| room | may use |
| --- | --- |
| base | |
| memory | base |
| dotnet/code | memory base |
| dotnet/names | dotnet/code base |
| session | |

## Public headers

| header | from | made by |
| --- | --- | --- |
| mixstack/result.h | base | |
| mixstack/reader.h | memory | memory |
| mixstack/session.h | session | |

## Headers of others

| header | only in | why |
| --- | --- | --- |
| CLI/ | nobody | |
| sys/ptrace.h | memory | |
"""


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        self.write("docs/layers.md", LAYERS)
        self.write("src/base/CMakeLists.txt", "mixstack_layer(base LIBS tl::expected)")
        self.write("src/memory/CMakeLists.txt", "mixstack_layer(memory USES base LIBS x y SKIP z ALONE q.cc)")
        self.write("src/dotnet/code/CMakeLists.txt", "mixstack_layer(dotnet/code USES memory\n  base)")
        # Somebody makes use of every grant.
        self.write("src/memory/use.h", '#include "base/x.h"\n')
        self.write("src/dotnet/code/use.h", '#include "mixstack/reader.h"\n#include "base/x.h"\n')
        self.write("src/dotnet/names/use.h", '#include "base/x.h"\n')
        self.write("src/dotnet/names/CMakeLists.txt", "mixstack_layer(dotnet/names USES dotnet/code base)")
        self.write("src/dotnet/names/more.h", '#include "dotnet/code/x.h"\n')
        self.write("include/mixstack/result.h", "#include <cstdint>\n")
        self.write("include/mixstack/reader.h", "")
        self.write("include/mixstack/session.h", '#include "mixstack/result.h"\n')

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def faults_with(self, path, text):
        self.write(path, text)
        return check_layers.check(self.root)

    def test_granted_and_linked_is_fine(self):
        self.assertEqual(self.faults_with("src/dotnet/code/a.cc", '#include "memory/x.h"\n#include "mixstack/result.h"\n'
                                          '#include "dotnet/code/b.h"\n'), [])

    def test_upwards(self):
        [fault] = self.faults_with("src/base/a.h", '\n#include "memory/x.h"\n')
        self.assertEqual(fault, "src/base/a.h:2: base may not use memory")

    def test_granted_but_not_linked(self):
        [fault] = self.faults_with("src/dotnet/names/CMakeLists.txt", "mixstack_layer(dotnet/names USES base)")
        self.assertIn("does not link", fault)

    def test_granted_and_not_used(self):
        [fault] = self.faults_with("src/dotnet/names/more.h", "")
        self.assertEqual(fault, "docs/layers.md: dotnet/names may use dotnet/code, and does not")

    def test_a_contract_that_another_folder_makes(self):
        [fault] = self.faults_with("src/dotnet/names/a.cc", '#include "mixstack/reader.h"\n')
        self.assertEqual(fault, "src/dotnet/names/a.cc:1: dotnet/names may not use memory")

    def test_a_contract_made_above_its_level(self):
        faults = self.faults_with("docs/layers.md", LAYERS.replace("reader.h | memory |", "reader.h | base |"))
        self.assertEqual(faults, ["docs/layers.md: mixstack/reader.h is for base and up, and made by memory, which stands below it"])

    def test_linked_but_not_granted(self):
        [fault] = self.faults_with("src/memory/CMakeLists.txt", "mixstack_layer(memory USES base dotnet/code)")
        self.assertIn("links dotnet/code", fault)

    def test_contract_of_a_higher_level(self):
        [fault] = self.faults_with("src/memory/a.cc", '#include "mixstack/session.h"\n')
        self.assertIn("for session and up", fault)

    def test_reserved_headers(self):
        [fault] = self.faults_with("src/memory/a.cc", "#include <CLI/CLI.hpp>\n#include <sys/ptrace.h>\n")
        self.assertIn("CLI/CLI.hpp", fault)
        self.assertEqual(self.faults_with("src/memory/a.cc", ""), [])
        self.assertEqual(self.faults_with("src/base/a_test.cc", "#include <sys/ptrace.h>\n"), [])

    def test_support_is_for_tests(self):
        self.assertEqual(self.faults_with("src/memory/a_test.cc", '#include "support/fake.h"\n'), [])
        self.assertEqual(len(self.faults_with("src/memory/a.cc", '#include "support/fake.h"\n')), 1)

    def test_unknown_folders_and_contracts(self):
        self.assertEqual(len(self.faults_with("src/attic/a.cc", "\n")), 1)
        self.assertEqual(len(self.faults_with("include/mixstack/new.h", "\n")), 2)

    def test_a_table_that_contradicts_itself(self):
        faults = self.faults_with("docs/layers.md", LAYERS.replace("| base | |", "| base | memory |"))
        self.assertEqual(faults[0], "docs/layers.md: base may use memory, which does not stand above it")

    def test_a_namespace_that_somebody_else_includes(self):
        self.write("src/memory/page.h", "namespace mixstack::memory {\nstruct Page {};\n}\n")
        [fault] = self.faults_with("src/dotnet/names/a.cc", "// memory::Page\nauto page = memory::Page();\n")
        self.assertEqual(fault, "src/dotnet/names/a.cc:2: dotnet/names names memory, and may not use memory")
        self.assertEqual(self.faults_with("src/dotnet/names/a.cc", 'auto text = "memory::Page";\n'), [])


if __name__ == "__main__":
    unittest.main()
