"""What a target's owner puts in our way: a helper that is not ours, a library that is no DAC, files that are devices."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import mixstack_dump
import processes
from harness import LiveCase

NOBODY = 65534
LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('READY 0', flush=True); sys.stdin.readline()"
TRAP = "#!/bin/sh\nid -u > {}\n"


@contextlib.contextmanager
def impostor(folder, dac=b"no DAC"):
    """A process that has any library at all mapped under the name and in the folder of .NET 8."""
    home = pathlib.Path(folder) / "8.0.0"
    home.mkdir(exist_ok=True)
    runtime = home / "libcoreclr.so"
    shutil.copy(mixstack_dump.binary().parent.parent / "fake_dac" / "libfake_dac_refuse.so", runtime)
    (home / "libmscordaccore.so").write_bytes(dac)
    with processes.Debuggee([sys.executable, "-c", LOAD, runtime]) as debuggee:
        yield debuggee


class Helper(LiveCase):
    """Executed is only what root or we alone can have written."""

    needs_dotnet = False
    timeout = 60

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, who must not run what another user wrote")
        if not (mixstack_dump.binary().parent.parent / "fake_dac").exists():
            self.skipTest("no fake DACs are built beside mixstack")

    def look(self, folder, debuggee, mixstack):
        """The one runtime of a dump by the copy `mixstack`, and who ran the trap."""
        marker = pathlib.Path(folder) / "ran"
        marker.touch()
        marker.chmod(0o666)
        done = subprocess.run([mixstack, "dump", str(debuggee.pid), "--json"], capture_output=True, timeout=30)
        [runtime] = mixstack_dump._parsed((done.returncode, done.stdout.decode(), done.stderr.decode(), 0))[
            "process"]["runtimes"]
        return runtime, marker.read_text()

    def trap(self, path, folder, owner):
        path.write_text(TRAP.format(pathlib.Path(folder) / "ran"))
        path.chmod(0o755)
        os.chown(path, owner, owner)

    def assert_refused(self, runtime, ran, path, *words):
        self.assertEqual(ran, "", f"uid {ran.strip()} ran another user's program")
        self.assertFalse(runtime["walkable"])
        said = runtime["missing"][-1]
        self.assertEqual(said["subject"], str(path))
        for word in words:
            self.assertIn(word, said["text"])

    def test_of_another_user_beside_us(self):
        with tempfile.TemporaryDirectory() as folder, impostor(folder) as debuggee:
            room = pathlib.Path(folder) / "shared"
            room.mkdir()
            room.chmod(0o1777)
            mixstack = shutil.copy2(mixstack_dump.binary(), room / "mixstack")
            self.trap(room / "mixstack-helper", folder, NOBODY)
            runtime, ran = self.look(folder, debuggee, mixstack)
            self.assert_refused(runtime, ran, room / "mixstack-helper", "can be written by everybody", "mode 1777")

    def test_where_others_can_replace_it(self):
        """Root's own file, but a folder on the way is another user's."""
        with tempfile.TemporaryDirectory(dir=mixstack_dump.binary().parent) as folder, impostor(folder) as debuggee:
            os.chmod(folder, 0o755)
            room = pathlib.Path(folder) / "his"
            room.mkdir()
            mixstack = shutil.copy2(mixstack_dump.binary(), room / "mixstack")
            self.trap(room / "mixstack-helper", folder, 0)
            os.chown(room, NOBODY, NOBODY)
            runtime, ran = self.look(folder, debuggee, mixstack)
            self.assert_refused(runtime, ran, room / "mixstack-helper", f"{room} belongs to uid {NOBODY}")

    def test_a_good_one_is_run(self):
        """Where only root can write, it is started: the words are those about the file that is no DAC."""
        with tempfile.TemporaryDirectory() as folder, impostor(folder, b"no ELF file " * 1000) as debuggee:
            runtime, _ = self.look(folder, debuggee, mixstack_dump.binary())
            self.assertEqual(runtime["missing"][-1]["error"]["code"], "unsupported", runtime["missing"])


class Files(LiveCase):
    """What is no regular file is looked at and not opened."""

    needs_dotnet = False
    timeout = 60

    def test_a_fifo_in_the_place_of_a_dac(self):
        """Who opens a FIFO for writing waits until somebody opens it for reading: he tells whether we did."""
        if not (mixstack_dump.binary().parent.parent / "fake_dac").exists():
            self.skipTest("no fake DACs are built beside mixstack")
        with tempfile.TemporaryDirectory() as folder, impostor(folder) as debuggee:
            fifo = pathlib.Path(folder) / "8.0.0" / "libmscordaccore.so"
            fifo.unlink()
            os.mkfifo(fifo)
            writer = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'wb')", str(fifo)])
            try:
                deadline = time.monotonic() + 10
                while set(processes.thread_states(writer.pid).values()) != {"S"} and time.monotonic() < deadline:
                    time.sleep(0.01)
                time.sleep(0.2)
                [runtime] = mixstack_dump.dump(debuggee.pid)["process"]["runtimes"]
                time.sleep(0.1)
                self.assertIsNone(writer.poll(), "the FIFO was opened")
                refused = runtime["missing"][-1]
                self.assertEqual((refused["subject"], refused["error"]["code"]), (str(fifo), "unsupported"))
            finally:
                writer.kill()
                writer.wait()


if __name__ == "__main__":
    unittest.main()
