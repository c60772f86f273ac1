"""Tests of running processes read JSON and codes, not our English: assertions on sentences are counted, and can only become
fewer (tests/live/README.md). Those that are left are approved texts of commands, words of the program under test, and names.

A sentence is a text with two words in lower case, one after the other, among the values that an assertion compares. What an
assertion says when it fails is none; nor are arguments of calls (selectors, commands), names of code in brackets
("[perf map]") and commands to type ("mixstack symbols fetch 17").
"""
import ast
import pathlib
import re
import sys
import textwrap
import unittest

LIVE = pathlib.Path(__file__).resolve().parents[1] / "live"
MOST = 57  # to be lowered with each that goes, and never raised

TWO_WORDS = re.compile(r"(?<![\w.])[a-z][a-z']* [a-z][a-z']+(?![\w.(])")
IS_NO_SENTENCE = re.compile(r"\[[a-z ]+\]|mixstack .*", re.S)
COMPARES_ONE = {"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"}
TAKES_WORDS = {"texts", "text", "evaluate", "wait", "open", "ask", "click_on", "run", "why", "answer"}


def texts_of(node):
    """Texts in an expression, those of calls that are given words left out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in TAKES_WORDS:
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_of(child)


def sentences(source):
    """(line, texts) of each assertion that compares sentences."""
    for node in ast.walk(ast.parse(source)):
        name = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
        if not name.startswith("assert") or name.startswith("assertRaises"):
            continue
        compared = node.args[:1 if name in COMPARES_ONE else 2]
        found = [text for argument in compared for text in texts_of(argument)
                 if TWO_WORDS.search(text) and not IS_NO_SENTENCE.fullmatch(text)]
        if found:
            yield node.lineno, found


class EnglishInTests(unittest.TestCase):
    def of(self, code):
        return [texts for _, texts in sentences(textwrap.dedent(code))]

    def test_there_are_no_more_than_there_were(self):
        found = [f"{path.name}:{line}: {texts}" for path in sorted(LIVE.glob("*.py"))
                 for line, texts in sentences(path.read_text())]
        self.assertEqual(len(found), MOST, "\n".join(["too many: assert on JSON, codes (mixstack_dump.codes) and exit codes"
                                                      if len(found) > MOST else "fewer: lower MOST", *found]))

    def test_what_is_counted(self):
        self.assertEqual(self.of('self.assertIn("nothing is wrong", out)'), [["nothing is wrong"]])
        self.assertEqual(self.of('self.assertRegex(out, rf"{n} threads wait for thread")'), [[" threads wait for thread"]])
        self.assertEqual(self.of('self.assertTrue(any("cut off" in d for d in said), said)'), [["cut off"]])

    def test_what_is_not(self):
        for code in ('self.assertEqual(codes(error), ["no_agent"])', 'self.assertTrue(found, "no such thing was found")',
                     'self.assertIn("Main.Run(int, string)", text)', 'self.assertEqual(a, b, "they are the same")',
                     'self.assertEqual(self.texts(page, "#crumbs button"), ["all"])', 'self.assertIn("[perf map]", names)',
                     'self.assertIn(f"mixstack agent attach {pid}", error)', 'say("it is fine")'):
            self.assertEqual(self.of(code), [], code)


if __name__ == "__main__":
    sys.exit(unittest.main())
