"""Documents say what the code has: exit codes, stop reasons, targets of make, links between files."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = {"build", ".git", "obj", "bin", "node_modules"}


def enumerators(header, name):
    text = (ROOT / header).read_text()
    body = re.sub(r"//[^\n]*", "", re.search(rf"enum class {name}\b[^{{]*{{(.*?)}};", text, re.S).group(1))
    return [re.sub(r"\s", "", item).split("=")[0] for item in body.split(",") if item.strip()]


def first_cells(document):
    return {cell for line in (ROOT / document).read_text().splitlines() if line.startswith("|")
            for cell in [c.strip() for c in line.strip("|").split("|")][:2]}


def without_code(text):
    """Markdown without what stands between backticks."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)


class Documents(unittest.TestCase):
    def test_stop_reasons_trust_steppers_and_kinds_are_described(self):
        cells = first_cells("docs/stop-reasons.md")
        for name in ("StopReason", "Trust", "StepperId", "FrameKind"):
            missing = set(enumerators("include/mixstack/frame.h", name)) - cells
            self.assertFalse(missing, f"{name} in docs/stop-reasons.md")

    def test_no_page_is_empty(self):
        """A merge once emptied the changelog, and nothing said so."""
        pages = [p for p in ROOT.rglob("*.md") if not SKIPPED & set(p.relative_to(ROOT).parts)]
        self.assertGreater(len(pages), 60)
        self.assertEqual([str(p.relative_to(ROOT)) for p in pages if len(p.read_text().strip().splitlines()) < 2], [])
        self.assertIn("## 0.1.0", (ROOT / "CHANGELOG.md").read_text())

    def test_the_schema_lists_the_same_words(self):
        schema = (ROOT / "docs/formats/dump.schema.json").read_text()
        for name in ("StopReason", "Trust", "StepperId", "FrameKind"):
            for word in enumerators("include/mixstack/frame.h", name):
                self.assertIn(f'"{word}"', schema)

    def test_exit_codes_are_described_with_their_numbers(self):
        header = (ROOT / "src/frontends/cli/exit_code.h").read_text()
        codes = re.findall(r"^\s+(\w+) = (\d+),", header, re.M)
        self.assertGreaterEqual(len(codes), 10)
        text = (ROOT / "docs/exit-codes.md").read_text()
        help_text = (ROOT / "src/frontends/cli/help_dump.cc").read_text()
        for name, number in codes:
            self.assertIn(f"| {number} | {name} |", text)
            self.assertRegex(help_text, rf"(?m)(^| ) {number}  \w")

    def test_make_lists_the_promised_targets(self):
        listed = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for target in ("demo", "unit", "test", "bench", "fuzz", "format", "lint", "install", "clean"):
            self.assertRegex(listed, rf"(?m)^  make {target} +\w")
        for target in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M):
            self.assertIn(f"make {target} ", listed)

    def test_links_and_named_documents_exist(self):
        for path in ROOT.rglob("*.md"):
            if SKIPPED & set(path.relative_to(ROOT).parts):
                continue
            text = path.read_text()
            links = [(path.parent / target) for target in re.findall(r"\]\(([^)#:\s]+)\)", without_code(text))]
            links += [ROOT / target for target in re.findall(r"`(docs/[\w./-]+)`", text)]
            for link in links:
                with self.subTest(f"{path.relative_to(ROOT)} -> {link}"):
                    self.assertTrue(link.exists())


if __name__ == "__main__":
    unittest.main()
