"""Completions in real shells, and the manual page as man shows it. MIXSTACK names the binary."""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest

MIXSTACK = pathlib.Path(os.environ["MIXSTACK"]).resolve()


def output(*command, **options):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def in_shell(command, setup, line, until, seconds=20):
    """What an interactive shell shows when `line` and two tabs are typed, up to the text `until`."""
    environment = {**os.environ, "PATH": f"{MIXSTACK.parent}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb",
                   "COLUMNS": "200", "LINES": "60"}
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.execvpe(command[0], command, environment)
        finally:
            os._exit(127)
    try:
        shown, end = "", time.monotonic() + seconds
        os.write(terminal, (setup + "; echo se''t\n").encode())
        typed = False
        while time.monotonic() < end:
            ready, _, _ = select.select([terminal], [], [], 0.1)
            if ready:
                shown += os.read(terminal, 65536).decode(errors="replace")
            if not typed and "set\r\n" in shown:
                typed, shown = True, ""
                os.write(terminal, (line + "\t\t").encode())
            if typed and until in shown:
                return shown
        raise AssertionError(f"{command[0]}: '{line}' shows no '{until}':\n{shown}")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = output(MIXSTACK, "completions", "bash")

    def complete(self, *words, cwd=None):
        """The words offered in the place of the last one."""
        script = (self.text + '\ncompopt() { :; }\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mixstack\n'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return [w for w in output("bash", "-uc", script, "bash", MIXSTACK, *words, cwd=cwd).splitlines() if w]

    def test_commands_verbs_and_options(self):
        self.assertIn("dump", self.complete(""))
        self.assertEqual(self.complete("du"), ["dump"])
        self.assertEqual(self.complete("--ver"), ["--version"])
        self.assertEqual(self.complete("agent", "re"), ["record"])
        self.assertEqual(self.complete("dump", "--mana"), ["--managed-only"])
        self.assertEqual(self.complete("4711", "--mana"), ["--managed-only"])
        self.assertEqual(self.complete("agent", "record", "4711", "--dur"), ["--duration"])
        self.assertEqual(self.complete("agent", "stop", "4711", "--dur"), [])

    def test_values(self):
        self.assertEqual(self.complete("dump", "--color", "al"), ["always"])
        self.assertEqual(self.complete("dump", "--color", "="), ["auto", "always", "never"])
        self.assertEqual(self.complete("dump", "--color", "=", "ne"), ["never"])
        self.assertEqual(self.complete("completions", "z"), ["zsh"])
        self.assertEqual(self.complete("dump", "--max-frames", ""), [])
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "core of *.zst").touch()
            (pathlib.Path(folder) / "cores").mkdir()
            self.assertEqual(sorted(self.complete("dump", "--core", "co", cwd=folder)), ["core of *.zst", "cores"])
            self.assertEqual(self.complete("dump", "--sysroot", "co", cwd=folder), ["cores"])

    def test_in_a_shell(self):
        shown = in_shell(["bash", "--norc", "--noprofile", "-i"], "source <(mixstack completions bash)",
                         "mixstack dump --ma", "--managed-only")
        self.assertIn("--max-frames", shown)


@unittest.skipUnless(shutil.which("zsh"), "no zsh")
class Zsh(unittest.TestCase):
    def test_in_a_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "_mixstack").write_text(output(MIXSTACK, "completions", "zsh"))
            output("zsh", "-n", pathlib.Path(folder) / "_mixstack")
            for setup in (f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D",
                          "autoload -U compinit; compinit -u -D; source <(mixstack completions zsh)"):
                for line, until in (("mixstack agent rec", "record"), ("mixstack dump --mana", "managed-only"),
                                    ("mixstack dump --color al", "always"), ("mixstack ", "doctor"),
                                    ("mixstack agent record 1 --dur", "--duration"), ("mixstack 4711 --tr", "--tree")):
                    with self.subTest(line):
                        in_shell(["zsh", "-f", "-i"], setup, line, until)


@unittest.skipUnless(shutil.which("fish"), "no fish")
class Fish(unittest.TestCase):
    def complete(self, line):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "HOME": folder, "PATH": f"{MIXSTACK.parent}:{os.environ['PATH']}"}
            shown = output("fish", "-c", f"mixstack completions fish | source; complete -C '{line}'", env=environment)
        return [offer.split("\t")[0] for offer in shown.splitlines()]

    def test_commands_options_and_values(self):
        self.assertIn("dump", self.complete("mixstack "))
        self.assertNotIn("attach", self.complete("mixstack "))
        self.assertEqual(self.complete("mixstack agent re"), ["record"])
        self.assertEqual(self.complete("mixstack dump --mana"), ["--managed-only"])
        self.assertEqual(self.complete("mixstack 4711 --mana"), ["--managed-only"])
        self.assertEqual(self.complete("mixstack dump --color al"), ["always"])
        self.assertEqual(self.complete("mixstack agent record 1 --dur"), ["--duration"])
        self.assertEqual(self.complete("mixstack agent stop 1 --dur"), [])
        self.assertEqual(self.complete("mixstack completions z"), ["zsh"])


@unittest.skipUnless(shutil.which("man"), "no man")
class ManualPage(unittest.TestCase):
    def test_man_shows_it_without_a_warning(self):
        with tempfile.NamedTemporaryFile("w", suffix=".1") as page:
            page.write(output(MIXSTACK, "completions", "man"))
            page.flush()
            done = subprocess.run(["man", "--warnings", "-l", page.name], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "PAGER": "cat"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in ("MIXSTACK(1)", "SYNOPSIS", "-n, --name NAME", "MIXSTACK AGENT", "EXIT STATUS", "EXAMPLES"):
            self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main()
