"""demos/run fits one screen of 80x24 and shows on it what it promises. MIXSTACK names the binary."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("dotnet", "g++", "script")


def demo(*options, **environment):
    done = subprocess.run([ROOT / "demos/run", *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=100, env={**os.environ, **environment})
    return done.returncode, done.stdout.splitlines(), done.stderr


@unittest.skipUnless(all(map(shutil.which, NEEDED)), f"the demo needs {', '.join(NEEDED)}")
class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # What is set for other programs must not reach this one.
        cls.status, (cls.building, *cls.lines), cls.errors = demo(DOTNET_TieredCompilation="0")
        # Read at once: the demo's next run writes them anew.
        cls.files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "build/demos").glob("*.*")}

    def position(self, pattern):
        """The number of the first line like that, and what it matched."""
        for number, line in enumerate(self.lines):
            if match := re.search(pattern, line):
                return number, match
        self.fail(f"no {pattern} in:\n" + "\n".join(self.lines))

    def test_is_one_screen(self):
        self.assertEqual((self.status, self.errors), (0, ""), self.lines)
        self.assertTrue(self.building.startswith("Building"), self.building)
        self.assertLess(len(self.lines), 24, self.lines)  # and the prompt
        self.assertEqual([line for line in self.lines if len(line) > 80 or re.search(r"[\x00-\x1f]", line)], [])

    def test_says_which_program_in_this_order(self):
        pid = self.position(r"^Process (\d+): OrderDesk")[1][1]
        parts = [self.position(pattern)[0] for pattern in (
            "untouched", rf"^\$ mixstack dump {pid} -t \d+", rf"^\$ mixstack why {pid}", rf"^\$ mixstack record -p {pid} ",
            "still runs")]
        self.assertEqual(parts, sorted(parts))

    def test_shows_one_mixed_stack(self):
        first, last = self.position(r"^\$ mixstack dump")[0], self.position(r"^\$ mixstack why")[0]
        kinds = "".join(re.findall(r"^#\d+ +[0-9a-f]+ ([MN]) ", "\n".join(self.lines[first:last]), re.MULTILINE))
        self.assertRegex(kinds, "N+M+N+M+")
        rest = self.position(r"rest: (\S+)")[1][1]
        self.assertIn("OrderDesk.Program.Main()", self.files[ROOT / rest])

    def test_tells_the_deadlock(self):
        number = self.position("^DEADLOCK: 2 threads")[0]
        told = " ".join(self.lines[number:])
        self.assertRegex(told, r'"shipping" waits for the monitor of\s+OrderDesk\.Invoices')
        self.assertRegex(told, r'"refunding" waits for the monitor of\s+OrderDesk\.Stock')

    def test_writes_a_flame_graph(self):
        path = self.position(r"^(?:file://)?(\S+\.html)$")[1][1]
        page = self.files[ROOT / path]
        self.assertTrue(page.lower().startswith("<!doctype html"), page[:80])
        self.assertTrue(page.rstrip().endswith("</html>"), page[-80:])

    def test_options_give_the_dump(self):
        status, lines, errors = demo("--merge")
        self.assertEqual((status, errors), (0, ""))
        self.assertTrue(any(re.match(r"\$ mixstack dump \d+ .*--merge", line) for line in lines), lines)
        self.assertIn("OrderDesk.Warehouse.Ship(string)", "\n".join(lines))

    def test_says_what_makes_it_slow(self):
        status, lines, errors = demo("slow")
        self.assertEqual((status, errors), (0, ""))
        told = "\n".join(lines)
        for word, place in (("EXCEPTIONS", "Quantity"), ("CONTENDED", "Book"), ("FORCED COLLECTIONS", "Tidy")):
            # Likely, where the collector moved what was looked at: this program collects all the time.
            self.assertRegex(told, rf"(?m)^(?:LIKELY )?{word}: .*OrderDesk\.SlowDesk\.{place}\(")

    def test_says_what_failed(self):
        status, lines, errors = demo(MIXSTACK=shutil.which("false"))
        self.assertEqual(status, 1, lines)
        self.assertIn("demos/run: mixstack ended with status 1, not 0", errors)


if __name__ == "__main__":
    unittest.main()
