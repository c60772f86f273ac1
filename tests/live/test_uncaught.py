"""Exceptions of C++ that nothing catches: what a dump of a process that stands in std::terminate, and its core, say."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import debuggee_build
import mixstack_dump
import processes

PROGRAM = debuggee_build.NATIVE / "uncaught"
HOLD = {"LD_PRELOAD": str(debuggee_build.NATIVE / "libholdabort.so")}
# What is thrown: type and text, both as far as they are proved.
TOLD = {
    "runtime": ("std::runtime_error", "disk 4711 is full"),
    "derived": ("shop::Refused", "order 4711 is refused"),
    "silent": ("shop::Silent", None),  # what() says something else than the text that it holds
    "logic": ("std::out_of_range", "4711 is beyond the end"),
    "system": ("std::system_error", "order 4711: Connection timed out"),
    "number": ("int", None),
    "text": ("char const*", "text 4711"),
    "plain": ("shop::Plain", None),
    "two": ("shop::Two", None),  # two bases: where the text lies is not proved
    "empty": ("std::runtime_error", None),
    "noexcept": ("shop::Refused", "order 4711 is refused"),
    "again": ("std::runtime_error", "the second"),
    "passed": ("shop::Refused", "passed on"),
    "thread": ("shop::Refused", "order 4711 is refused"),
}


def last_words(dump):
    return [d["text"] for d in dump["diagnoses"] if d["subject"] == "last words"]


class Uncaught(unittest.TestCase):
    maxDiff = None

    def words(self, what):
        with processes.Debuggee([PROGRAM, what], HOLD) as debuggee:
            return last_words(mixstack_dump.dump(debuggee.pid))

    def check(self, what, words):
        kind, text = TOLD[what]
        [line] = [w for w in words if w.startswith("C++: ")]
        found = re.fullmatch(r"C\+\+: terminate, for nothing catches (.*) on thread (\d+)(?:: (.*))?", line, re.DOTALL)
        self.assertTrue(found, line)
        self.assertEqual((found[1], found[3]), (kind, text))

    def test_types_and_texts(self):
        for what in TOLD:
            with self.subTest(what):
                self.check(what, self.words(what))

    def test_long_texts_and_controls(self):
        [line] = self.words("long")
        self.assertTrue(line.endswith(": " + "x" * 1024), line[-80:])
        with processes.Debuggee([PROGRAM, "controls"], HOLD) as debuggee:
            text = subprocess.run([mixstack_dump.binary(), "dump", str(debuggee.pid)], capture_output=True, check=True).stdout
        self.assertNotIn(b"\x1b[31m", text)
        self.assertNotIn(b"\a", text)

    def test_nothing_is_said_where_no_exception_led_there(self):
        for what in ("direct", "while-handled"):
            self.assertEqual(self.words(what), [], what)

    def test_one_that_an_exception_ptr_kept(self):
        [words] = self.words("kept")
        self.assertRegex(words, r"shop::Refused on thread \d+: kept$")

    def test_cores(self):
        """As the kernel writes them, and an assert's own words."""
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8").strip()
        if pattern.startswith("|") or "/" in pattern:
            self.skipTest(f"kernel.core_pattern is {pattern}")
        for what in ("derived", "noexcept", "assert"):
            with self.subTest(what), tempfile.TemporaryDirectory() as folder:
                subprocess.run(["bash", "-c", f"ulimit -c unlimited; echo 0x7f >/proc/self/coredump_filter; exec {PROGRAM} {what}"],
                               cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                [core] = os.listdir(folder)
                words = last_words(mixstack_dump.dump_core(pathlib.Path(folder) / core))
                if what == "assert":
                    self.assertEqual(len(words), 1)
                    self.assertRegex(words[0], r"libc: .*Assertion .argc == 4711. failed")
                else:
                    self.check(what, words)


if __name__ == "__main__":
    unittest.main()
