"""scripts/bootstrap: what it says and does without root, with root and when everything is there. Nothing is installed:
dpkg-query, apt-get, sudo, id and dotnet are stand-ins that write down how they were called."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Bootstrap(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.tools = pathlib.Path(self.directory.name)
        self.calls = self.tools / "calls"
        self.tool("apt-get", f'echo "apt-get $*" >> {self.calls}')
        self.tool("sudo", "exit 1")
        self.tool("dotnet", "echo '10.0.100 [/usr/share/dotnet/sdk]'")
        self.tool("id", "echo 0")
        self.missing()

    def tool(self, name, script):
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def missing(self, *packages):
        """All packages are installed but these. dpkg-query's last argument is the package."""
        cases = "".join(f"{package}) exit 1;; " for package in packages)
        self.tool("dpkg-query", f'for last; do :; done; case "$last" in {cases} *) printf installed;; esac')

    def run_it(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        done = subprocess.run([ROOT / "scripts/bootstrap", *arguments], env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def called(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def test_nothing_to_do_is_quiet(self):
        self.assertEqual(self.run_it(), (0, ""))
        self.assertEqual(self.called(), [])

    def test_root_installs_only_what_is_missing(self):
        self.missing("ccache", "gdb")
        status, _ = self.run_it()
        self.assertEqual(status, 0)
        update, install = self.called()
        self.assertTrue(update.startswith("apt-get update"))
        self.assertTrue(install.endswith("ccache gdb"), install)

    def test_a_demo_needs_no_browser(self):
        self.missing("ccache", "gdb", "chromium-headless-shell")
        self.assertEqual(self.run_it("--build")[0], 0)
        self.assertTrue(self.called()[1].endswith("-recommends ccache"), self.called())

    def test_without_root_it_says_what_it_would_install(self):
        self.missing("libfmt-dev")
        self.tool("id", "echo 1000")
        status, text = self.run_it()
        self.assertEqual(status, 1)
        self.assertIn("apt-get install libfmt-dev", text)
        self.assertEqual(self.called(), [])

    def test_sudo_without_a_password_is_used(self):
        self.missing("libfmt-dev")
        self.tool("id", "echo 1000")
        self.tool("sudo", '[ "$1" = -n ] && exit 0; exec "$@"')
        self.assertEqual(self.run_it()[0], 0)
        self.assertEqual(len(self.called()), 2)

    def test_dry_run_changes_nothing(self):
        self.missing("gdb")
        status, text = self.run_it("--dry-run")
        self.assertEqual((status, self.called()), (0, []))
        self.assertIn("would install: gdb", text)

    def test_a_missing_sdk_is_said_clearly(self):
        self.tool("dotnet", "echo '8.0.100 [/usr/share/dotnet/sdk]'")
        status, text = self.run_it()
        self.assertEqual(status, 0)
        self.assertIn("no .NET 10 SDK", text)

    def test_wrong_arguments(self):
        self.assertEqual(self.run_it("--dry")[0], 2)


if __name__ == "__main__":
    unittest.main()
