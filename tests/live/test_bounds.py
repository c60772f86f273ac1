"""What a target or a core can cost: bounded in time, memory and output, and said when a bound is reached."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from harness import LiveCase
import hostile_cores
import mixstack_dump


# Started small, so that the peak RSS of its child is the child's own: what starts a program counts as its beginning.
_LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1], "w").write(f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}")
"""


class Measured:
    """One run of the command: its exit status, texts, peak RSS in MB, and how many bytes it printed. `before` are words
    that run it, like a shell with limits."""

    def __init__(self, *arguments, timeout=120.0, before=()):
        command = [*before, str(mixstack_dump.binary()), *map(str, arguments)]
        with tempfile.TemporaryFile() as out, tempfile.NamedTemporaryFile("r") as result:
            start = time.monotonic()
            done = subprocess.run([sys.executable, "-c", _LAUNCHER, result.name, shutil.which(command[0]), *command[1:]],
                                  stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=timeout)
            self.seconds = time.monotonic() - start
            self.status, kilobytes = map(int, result.read().split())
            self.megabytes = kilobytes / 1024
            self.size = out.seek(0, os.SEEK_END)
            out.seek(0)
            self.out = out.read().decode()
            self.errors = done.stderr.decode()

    def dump(self):
        return json.loads(self.out)


class Native(LiveCase):
    needs_dotnet = False

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="mixstack-bounds-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Cores(Native):
    BUDGET, FEWEST = 100_000, 256

    def test_many_notes_of_one_deep_stack(self):
        """A core of 1 MB whose threads all stand on one stack of 65,536 frames."""
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=400, frames=65_536)
        ran = Measured("dump", "--core", core, "--json", "--frame-budget", self.BUDGET)
        self.assertEqual(ran.status, 7, ran.errors)
        dump = ran.dump()
        self.assertEqual(len(dump["threads"]), 400)
        frames = [len(t["frames"]) for t in dump["threads"]]
        self.assertLessEqual(sum(frames), self.BUDGET + 400 * self.FEWEST)
        self.assertGreaterEqual(min(frames), self.FEWEST)
        for thread in dump["threads"]:
            self.assertEqual(thread["stop_reason"], "max_frames")
        said = [d for d in dump["diagnoses"] if d["error"]["code"] == "limit_exceeded"]
        self.assertEqual(len(said), 1, dump["diagnoses"])
        self.assertIn("--frame-budget", said[0]["text"])
        self.assertLess(ran.megabytes, 200)

    def test_the_budget_without_an_option(self):
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=400, frames=65_536)
        ran = Measured("dump", "--core", core, timeout=60)
        self.assertEqual(ran.status, 7, ran.errors)
        self.assertIn("more than the 2097152 that a dump may have", ran.out)
        self.assertLess(ran.megabytes, 500)
        self.assertLess(ran.size, 1 << 20)

    def test_one_deep_stack_is_whole(self):
        """262,144 frames: what a stack of 8 MB holds when it overflows."""
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=1, frames=262_144)
        dump = Measured("dump", "--core", core, "--json", "--max-frames", 300_000).dump()
        self.assertEqual(len(dump["threads"][0]["frames"]), 262_144)
        self.assertEqual(dump["threads"][0]["stop_reason"], "end_of_stack")

    def test_thirty_thousand_threads(self):
        core = self.folder / "core"
        hostile_cores.many_threads(core, threads=30_000, frames=20)
        ran = Measured("dump", "--core", core, "--merge", timeout=60)
        self.assertIn("30000 threads with this stack", ran.out)
        self.assertLess(ran.megabytes, 250)
