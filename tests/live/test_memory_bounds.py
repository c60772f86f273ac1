"""`mixstack memory` within limits of its own memory, and of processes that are frozen, end, or collect without a pause."""
import contextlib
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import time
import unittest

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase

STRINGS = 3_000_000  # of 86 bytes
MEGABYTE = 1 << 20
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def program(*arguments, environment=None):
    return processes.Debuggee([debuggee_build.native_growth(), *map(str, arguments)], environment)


@contextlib.contextmanager
def memory_cgroup(limit):
    """A cgroup of v1 or v2 for one command; skips where none can be made."""
    name = f"mixstack-test-{os.getpid()}"
    is_new = (CGROUPS / "cgroup.controllers").exists()
    folder = (CGROUPS if is_new else CGROUPS / "memory") / name
    try:
        folder.mkdir()
        (folder / ("memory.max" if is_new else "memory.limit_in_bytes")).write_text(str(limit))
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise unittest.SkipTest(f"no cgroup can be made here: {error}") from error
    try:
        yield folder
    finally:
        for _ in range(50):
            try:
                folder.rmdir()
                break
            except OSError:
                time.sleep(0.1)


class Bounds(LiveCase):
    def run_limited(self, prepare, *arguments, timeout=120):
        begin = time.monotonic()
        process = subprocess.Popen([mixstack_dump.binary(), "memory", *map(str, arguments), "--json"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=prepare)
        out, error = process.communicate(timeout=timeout)
        return process.returncode, out, error, time.monotonic() - begin

    def check_refused_or_told(self, said, key):
        """With numbers, and never killed."""
        code, out, error, _ = said
        self.assertIn(code, (0, 7), (code, error))
        [heap] = json.loads(out)[key]
        if code == 7:
            self.assertRegex(heap["why_not"], r"\d+ MB")
        return code, heap

    def test_of_their_own_memory(self):
        with program("held", STRINGS) as debuggee:
            code, heap = self.check_refused_or_told(self.run_limited(None, debuggee.pid, "--types", "--most-pause", "5s"), "heaps")
            self.assertEqual(code, 0, heap["why_not"])
            for key, option in (("heaps", "--types"), ("holders", "--holders")):
                for limit in (120, 300, 700):
                    with self.subTest(option=option, limit=limit):
                        with self.subTest("ulimit -v"):
                            space = 64 * MEGABYTE + limit * MEGABYTE
                            said = self.run_limited(lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space)),
                                                    debuggee.pid, option, "--most-pause", "5s")
                            self.check_refused_or_told(said, key)
                        with self.subTest("cgroup"), memory_cgroup(limit * MEGABYTE) as folder:
                            said = self.run_limited(lambda: (folder / "cgroup.procs").write_text(str(os.getpid())),
                                                    debuggee.pid, option, "--most-pause", "5s")
                            self.check_refused_or_told(said, key)
            self.assertTrue(debuggee.is_alive())

    def test_a_heap_of_a_hundred_gigabytes(self):
        """Hardly a page of which is used: it is larger than this machine."""
        try:
            debuggee = program("huge", 100, environment={"DOTNET_GCRegionRange": "0x8000000000"})
        except processes.ProcessError as error:
            self.skipTest(f"this machine does not give such an address space: {error}")
        with debuggee:
            for key, option in (("heaps", "--types"), ("holders", "--holders")):
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
                code, out, error, seconds = mixstack_dump.run("memory", debuggee.pid, option, "--json")
                self.assertIn(code, (0, 7), error)
                self.assertLess(seconds, 30)
                [heap] = json.loads(out)[key]
                if key == "holders":  # large objects take no room by their size
                    self.assertLess(heap["graph_memory"], 64 * MEGABYTE)
                if code == 7:
                    self.assertRegex(heap["why_not"], r"\d+ (MB|ms)")
                elif key == "heaps":
                    self.assertGreater(heap["bytes"], 100_000_000_000)
                grown = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before
                self.assertLess(grown, 512 << 10)
            # Nothing of it came into memory by being looked at.
            self.assertLess(int(pathlib.Path(f"/proc/{debuggee.pid}/statm").read_text().split()[1]) * 4096, 500 * MEGABYTE)

    def test_a_frozen_process(self):
        with program("held", 100_000) as debuggee:
            os.kill(debuggee.pid, signal.SIGSTOP)
            for option in ("--types", "--holders"):
                code, out, error, _ = mixstack_dump.run("memory", debuggee.pid, option, "--json")
                self.assertEqual(code, 0, error)
            self.assertIn(processes.thread_states(debuggee.pid)[debuggee.pid], processes.STOPPED)
            os.kill(debuggee.pid, signal.SIGCONT)
            folder = CGROUPS / "freezer" / f"mixstack-test-{os.getpid()}"
            if not (CGROUPS / "freezer").exists():
                self.skipTest("no freezer here")
            folder.mkdir()
            try:
                (folder / "cgroup.procs").write_text(str(debuggee.pid))
                (folder / "freezer.state").write_text("FROZEN")
                code, out, error, _ = mixstack_dump.run("memory", debuggee.pid, "--json")
                self.assertEqual(code, 0, error)
                self.assertGreater(json.loads(out)["account"]["resident"], 10 * MEGABYTE)
                for option in ("--types", "--holders"):
                    code, out, error, seconds = mixstack_dump.run("memory", debuggee.pid, option, "--json")
                    self.assertLess(seconds, 30)
                    self.assertIn(code, (0, 7), error)
                    if code == 7:
                        self.assertTrue(json.loads(out)["heaps" if option == "--types" else "holders"][0]["why_not"])
                code, out, error, seconds = mixstack_dump.run("memory", debuggee.pid, "--native", "-d", "500ms", "--json")
                self.assertIn(code, (0, 7), error)
                self.assertEqual(json.loads(out)["came"], 0)
            finally:
                (folder / "freezer.state").write_text("THAWED")
                (CGROUPS / "freezer" / "cgroup.procs").write_text(str(debuggee.pid))
                folder.rmdir()
            self.assertTrue(debuggee.ask("truth").startswith("TRUTH"))

    def test_a_process_that_ends_meanwhile(self):
        chance = random.Random(7)
        for round_number in range(3):
            for option in ([], ["--types"], ["--holders"], ["--makers"]):
                with program("held", 20_000) as debuggee:
                    looking = subprocess.Popen([mixstack_dump.binary(), "memory", str(debuggee.pid), *option, "--json"],
                                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    time.sleep(chance.random() * 0.25)
                    debuggee.end()
                    out, error = looking.communicate(timeout=60)
                self.assertIn(looking.returncode, (0, 3, 6, 7, 8), (round_number, option, error))  # 6: it is a zombie still
                if looking.returncode in (0, 7):
                    json.loads(out)
                else:
                    self.assertTrue(error)

    def test_a_process_that_collects_without_a_pause(self):
        with program("collecting", 300_000) as debuggee:
            debuggee.ask("go")
            time.sleep(0.5)
            for key, option in (("heaps", "--types"), ("holders", "--holders")):
                code, out, error, seconds = mixstack_dump.run("memory", debuggee.pid, option, "--json", timeout=120)
                self.assertLess(seconds, 60)
                self.assertIn(code, (0, 7), error)
                [heap] = json.loads(out)[key]
                self.assertEqual(code == 0, heap["is_exact"])
                self.assertEqual(heap["is_exact"], not heap["why_not"])
            before = int(debuggee.ask("truth").split()[1])
            time.sleep(0.5)
            self.assertGreater(int(debuggee.ask("truth").split()[1]), before)  # it runs on


if __name__ == "__main__":
    unittest.main()
