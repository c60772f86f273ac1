"""scripts/check_heads.py: long sources explain themselves, and the check sees one that does not."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_heads  # noqa: E402

HEAD = "// Input: bytes.\n// Output: words.\n// Algorithm: one pass.\n// Bounds: none are needed: it is linear.\n"
BODY = "int x;\n" * 300


class Heads(unittest.TestCase):
    def test_each_part_is_asked_for(self):
        self.assertEqual(check_heads.missing(HEAD + BODY), [])
        self.assertEqual(check_heads.missing(BODY), list(check_heads.PARTS))
        self.assertEqual(check_heads.missing(HEAD.replace("Bounds", "Limits") + BODY), ["bounds"])
        self.assertEqual(check_heads.missing('#include "x.h"\n' + HEAD + BODY), list(check_heads.PARTS))

    def test_short_sources_and_written_data_are_free(self):
        self.assertEqual(check_heads.missing("int x;\n" * 250), [])
        self.assertEqual(check_heads.missing("// Made by a script. Not to be edited.\n" + BODY), [])

    def test_the_house_keeps_it(self):
        sources = [p for p in (ROOT / "src").rglob("*.cc") if not p.name.endswith("_test.cc")]
        self.assertEqual([str(p) for p in sources if check_heads.missing(p.read_text(errors="replace"))], [])


if __name__ == "__main__":
    unittest.main()
