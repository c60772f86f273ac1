"""What shipped files ask of a system is what docs/install.md says. BUILD names the build folder."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["BUILD"])
PLACES = ("bin", "lib", "lib/standalone")


def needs_of(file):
    """The libraries that it names, and the youngest version of glibc whose names it asks for."""
    def read(what):
        return subprocess.run(["readelf", "-W", what, file], capture_output=True, text=True, check=True).stdout
    libraries = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", read("-d")))
    wanted = read("-V").split("Version needs section", 1)[-1]
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([0-9.]+)", wanted)]
    return libraries, max(versions, default=(0,))


def limits():
    """Rows of the table: | `file` | glibc | libraries |"""
    text = (ROOT / "docs/install.md").read_text().split("## Needs", 1)[1].split("\n## ", 1)[0]
    for name, glibc, libraries in re.findall(r"^\| `([^`]+)` \| ([0-9.]+) \| ([^|]*) \|$", text, re.M):
        yield name, tuple(map(int, glibc.split("."))), set(re.findall(r"[\w+-]+\.so\.\d+", libraries))


class Needs(unittest.TestCase):
    def test_no_file_asks_for_more_than_is_said(self):
        seen = set()
        for name, glibc, libraries in limits():
            for place in PLACES:
                file = BUILD / place / name
                if not file.exists():
                    continue
                seen.add(name)
                with self.subTest(str(file)):
                    needed, version = needs_of(file)
                    # The dynamic linker and the C library themselves are what the version says.
                    others = {n for n in needed if not re.match(r"(libc|libm|ld-linux.*)\.so\.", n)}
                    self.assertLessEqual(version, glibc)
                    self.assertLessEqual(others, libraries)
        self.assertIn("libmixstack_agent.so", seen)

    def test_the_agent_needs_no_more_than_dotnet(self):
        row = {name: (glibc, libraries) for name, glibc, libraries in limits()}["libmixstack_agent.so"]
        self.assertEqual(row, ((2, 27), set()))


if __name__ == "__main__":
    unittest.main()
