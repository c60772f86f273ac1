"""Typed damages find what they look for: each fault, made by hand, is told; what is fine is not."""
import copy
import json
import os
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import typed_checks  # noqa: E402
from typed_damage import Anatomy, Damage  # noqa: E402

FRAME = {"kind": "managed", "code_kind": "managed", "ip": "0x10", "sp": "0x20", "name": "A.B()", "raw_name": "A.B()",
         "named": True, "trust": "certain"}
WHOLE = {"threads": [{"tid": 1, "name": "main", "frames": [FRAME]}]}


def faults(report=None, status=0, errors=b"", structures=frozenset({"nibble_map"}), seconds=0.1, megabytes=50, text=None):
    out = json.dumps(report if report is not None else WHOLE).encode() if text is None else text
    outcome = typed_checks.Outcome(status, out, errors, seconds, megabytes)
    return typed_checks.faults(outcome, WHOLE, set(structures))


def changed(**fields):
    report = copy.deepcopy(WHOLE)
    report["threads"][0]["frames"][0].update(fields)
    return report


class Checks(unittest.TestCase):
    def test_the_same_report_is_fine(self):
        self.assertEqual(faults(), [])

    def test_ends_and_costs(self):
        for wrong in ({"status": -11}, {"status": -24}, {"status": 134}, {"seconds": 5.5}, {"megabytes": 600},
                      {"errors": b"x.cc:1: runtime error: shift"}, {"text": b"{"}, {"text": b""}, {"text": b'"\xff"'}):
            self.assertEqual(len(faults(**wrong)), 1, wrong)
        self.assertEqual(faults(status=6, text=b"", errors=b"mixstack: no core\n"), [])

    def test_control_bytes(self):
        for name in ("a\x07", "\x1b[2J", "a\x7f", "\x9b31m", "a\nb"):
            self.assertEqual(len(faults(changed(raw_name=name, trust="inferred"))), 1, name)
        self.assertEqual(faults(changed(message="two\nlines")), [])

    def test_certain_frames_that_are_not_there(self):
        self.assertEqual(len(faults(changed(ip="0x11"))), 1)
        self.assertEqual(faults(changed(ip="0x11", trust="inferred")), [])
        self.assertEqual(faults(changed(ip="0x11"), structures={"unwind_info"}), [])
        self.assertEqual(faults(changed(ip="0x11", code_kind="runtime_frame")), [])

    def test_damages_to_the_stack_itself(self):
        report = changed(sp="0x1000")
        for ranges, expected in (([(0xff8, 0x1000)], True), ([(0xfc1, 0xfc2)], True), ([(0x1000, 0x1008)], False),
                                 ([(0xfb0, 0xfb8), (0x2000, 0x2001)], False), ([], False)):
            self.assertEqual(bool(typed_checks.stack_words(ranges, report)), expected, ranges)

    def test_other_names(self):
        self.assertEqual(len(faults(changed(raw_name="C.D()"))), 1)
        self.assertEqual(faults(changed(raw_name="", named=False)), [])
        self.assertEqual(faults(changed(raw_name="C.D()"), structures={"method_desc"}), [])


class Damages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        core, tool = pathlib.Path(self.folder.name) / "core", pathlib.Path(self.folder.name) / "tool"
        core.write_bytes(bytes(range(256)) * 64)
        # The tool's answer: one mapping; a pointer, a count, a row of an unwind table and a page of text.
        tool.write_text("#!/bin/sh\nprintf 'M\\t1000\\t5000\\t0\\t4000\\nW\\tthread\\t1010\\t10\\t8\\nW\\tmodule\\t1020\\t20\\t4\\n"
                        "W\\tcode_header\\t1030\\t30\\tc\\nW\\tmetadata\\t2000\\t1000\\t1000\\n'\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        self.anatomy = Anatomy(core, tool)

    def test_rows_are_a_type_of_their_own(self):
        self.assertEqual(sorted(self.anatomy.words), ["metadata", "module", "thread", "unwind_rows"])

    def test_patches_stay_inside_their_words_and_differ(self):
        seen = set()
        for number in range(400):
            damage = Damage(self.anatomy, f"1/{number}")
            for offset, data in damage.patches:
                self.assertTrue(data)
                inside = [w for words in self.anatomy.words.values() for w in words
                          if w.offset <= offset and offset + len(data) <= w.offset + w.size]
                self.assertTrue(inside, (number, offset, data))
                seen.add((offset, data))
        self.assertGreater(len(seen), 300)

    def test_a_seed_decides_everything(self):
        self.assertEqual(Damage(self.anatomy, "7/9").patches, Damage(self.anatomy, "7/9").patches)
        self.assertNotEqual([Damage(self.anatomy, f"7/{i}").patches for i in range(9)],
                            [Damage(self.anatomy, f"8/{i}").patches for i in range(9)])

    def test_a_tool_that_fails_is_an_error(self):
        self.assertRaises(RuntimeError, Anatomy, os.devnull, "/bin/false")


if __name__ == "__main__":
    unittest.main()
