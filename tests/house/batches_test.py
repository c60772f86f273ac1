"""scripts/batches.py: files that declare the same for themselves, or use what another hides, are not compiled together."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import batches  # noqa: E402

HELPER = "namespace mixstack { namespace {\nint helper(int a) { return a; }\nstruct Row { int x = 0; };\n} }\n"


def together(*texts):
    return list(batches.batches([batches.Source(text) for text in texts]))


class Batches(unittest.TestCase):
    def test_strangers_are_compiled_together(self):
        self.assertEqual(together(HELPER, "namespace mixstack {\nint other() { return 1; }\n}\n"), [0, 0])

    def test_one_name_in_two_unnamed_namespaces(self):
        self.assertEqual(together(HELPER, HELPER), [0, 1])

    def test_constants_of_one_line(self):
        constants = "namespace {\nconstexpr int kOne = f(3), kTwo = 4;\n}\n"
        self.assertEqual(together(constants, "int kTwo();\n"), [0, 1])

    def test_a_function_that_hides_the_systems(self):
        hides = "namespace mixstack { namespace {\nlong read(int fd) { return fd; }\n} }\n"
        calls = "namespace mixstack {\nlong f() { return ::read(1, nullptr, 0); }\n}\n"
        self.assertEqual(together(hides, calls), [0, 1])
        self.assertEqual(together(calls, hides), [0, 0])  # what comes later hides nothing

    def test_what_a_header_declares_is_everybodys(self):
        self.assertEqual(together("namespace mixstack {\nResult<int> parse(View text) { return 1; }\n}\n",
                                  "namespace mixstack {\nint g() { return *parse(\"\"); }\n}\n"), [0, 0])

    def test_using_the_same_is_no_clash(self):
        self.assertEqual(together("using test::Memory;\nMemory a();\n", "using test::Memory;\nMemory b();\n"), [0, 0])
        self.assertEqual(together("using test::Memory;\nMemory a();\n", "Memory b();\n"), [0, 1])

    def test_macros(self):
        self.assertEqual(together("#define LIMIT 3\n", "int a = LIMIT;\n"), [0, 1])

    def test_words_in_strings_and_comments_count_for_nothing(self):
        self.assertEqual(together(HELPER, "// helper\nconst char* text = \"Row }\";\n"), [0, 0])

    def test_a_namespace_that_hides_another(self):
        inner = batches.Source("int a();\n", ["namespace mixstack::process::test {\n}\n"])
        self.assertEqual(list(batches.batches([inner, batches.Source("using test::filled;\n")])), [0, 1])

    def test_a_file_stays_where_it_was(self):
        sources = [batches.Source("int a();\n")] * 3
        self.assertEqual(batches.batches(sources, kept=[2, 1, None]), [2, 1, 0])

    def test_a_new_file_hides_nothing_from_those_that_were_there(self):
        hides = batches.Source("namespace mixstack { namespace {\nlong read(int fd) { return fd; }\n} }\n")
        calls = batches.Source("namespace mixstack {\nlong f() { return ::read(1, nullptr, 0); }\n}\n")
        self.assertEqual(batches.batches([hides, calls], kept=[None, 0]), [1, 0])
        self.assertEqual(batches.batches([hides, calls], kept=[0, 0]), [0, 1])

    def test_headers_of_seconds_are_read_in_few_batches(self):
        dear = batches.Source("#include <CLI/CLI.hpp>\nint a();\n")
        self.assertEqual(batches.batches([dear, batches.Source("int b();\n"), dear]), [0, 1, 0])

    def test_no_batch_without_end(self):
        self.assertEqual(max(together(*["int a();\n"] * (3 * batches.MOST_FILES))), 2)


if __name__ == "__main__":
    unittest.main()
