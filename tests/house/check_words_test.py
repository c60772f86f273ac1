"""scripts/check_words.py finds sentences without a subject in front, and only those."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_words  # noqa: E402


class CheckWords(unittest.TestCase):
    def faults(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_text(text)
            return [fault.split(":")[1] for fault in check_words.faults_of(path, name)]

    def test_a_comment_that_begins_so(self):
        self.assertEqual(self.faults("a.cc", "// What was read.\nint x;\n/// Of a core nothing is known.\n"), ["1", "3"])
        self.assertEqual(self.faults("a.cc", "int x;  ///< Who made it\n"), ["1"])

    def test_a_later_sentence(self):
        self.assertEqual(self.faults("a.h", "// It is read. Who waits is told.\n"), ["1"])
        self.assertEqual(self.faults("a.h", "// The list of\n// What is a name here.\n"), [])

    def test_code_is_not_read(self):
        self.assertEqual(self.faults("a.cc", 'auto s = "What is it";\nOf(x);\n'), [])

    def test_questions_may(self):
        self.assertEqual(self.faults("a.md", "# What does it do?\n\nWhat is shown is a stack.\n"), ["3"])

    def test_pages_without_their_code(self):
        self.assertEqual(self.faults("a.md", "```\nWhat is it\n```\n- Of these two.\n"), ["4"])

    def test_words(self):
        self.assertEqual(self.faults("a.h", "// A circle of waits.\n"), ["1"])
        self.assertEqual(self.faults("a.h", "// A `circle` of waits.\n"), [])

    def test_the_house(self):
        faults = [fault for path in check_words.files(ROOT) for fault in check_words.faults_of(path, path.relative_to(ROOT))]
        self.assertEqual(faults, [])


if __name__ == "__main__":
    unittest.main()
