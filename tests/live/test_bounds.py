"""What a target or a core can cost: bounded in time, memory and output, and said when a bound is reached."""
import errno
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from harness import LiveCase
import hostile_cores
import mixstack_dump
import processes
from mixstack_dump import codes, messages, reasons


# Started small, so that the peak RSS of its child is the child's own: what starts a program counts as its beginning.
_LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
spent = 1000 * (usage.ru_utime + usage.ru_stime)
open(sys.argv[1], "w").write(f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss} {spent:.0f}")
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
            self.status, kilobytes, spent = map(int, result.read().split())
            self.processor_seconds = spent / 1000
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
    BUDGET, FEWEST = 100_000, 100_000 // 2 // 400

    def test_many_notes_of_one_deep_stack(self):
        """A core of 1 MB whose threads all stand on one stack of 65,536 frames."""
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=400, frames=65_536)
        ran = Measured("dump", "--core", core, "--json", "--frame-budget", self.BUDGET)
        self.assertEqual(ran.status, 7, ran.errors)
        dump = ran.dump()
        self.assertEqual(len(dump["threads"]), 400)
        frames = [len(t["frames"]) for t in dump["threads"]]
        self.assertLessEqual(sum(frames), self.BUDGET)
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
        self.assertIn(" 2097152 ", ran.out)
        self.assertLess(ran.megabytes, 500)
        self.assertLess(ran.size, 1 << 20)

    def test_one_deep_stack_is_whole(self):
        """262,144 frames: what a stack of 8 MB holds when it overflows."""
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=1, frames=262_144)
        dump = Measured("dump", "--core", core, "--json", "--max-frames", 300_000).dump()
        self.assertEqual(len(dump["threads"][0]["frames"]), 262_144)
        self.assertEqual(dump["threads"][0]["stop_reason"], "end_of_stack")

    def test_as_many_threads_as_are_read(self):
        """200,000 threads of one deep stack in 70 MB: frames do not grow with their number."""
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=200_000, frames=65_536)
        ran = Measured("dump", "--core", core, "--merge", timeout=250)
        self.assertEqual(ran.status, 7, ran.errors)
        self.assertLess(ran.processor_seconds, 100)
        self.assertIn("--frame-budget", ran.out)
        self.assertLess(ran.megabytes, 1000)

    def test_thirty_thousand_threads(self):
        core = self.folder / "core"
        hostile_cores.many_threads(core, threads=30_000, frames=20)
        ran = Measured("dump", "--core", core, "--merge", timeout=60)
        self.assertRegex(ran.out, r"\b30000\b")  # one stack, with their number
        self.assertLess(ran.size, 100_000)
        self.assertLess(ran.megabytes, 250)


def limited(words):
    """The command runs with these limits of a shell; the shell is replaced by it."""
    return ["sh", "-c", words + '; exec "$@"', "sh"]


class Sleepers:
    """A process with threads that wait."""

    PROGRAM = """
import sys, threading, time
for _ in range(int(sys.argv[1])):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("READY", flush=True)
time.sleep(600)
"""

    def __init__(self, threads):
        self.process = subprocess.Popen([sys.executable, "-c", self.PROGRAM, str(threads)], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Limits(Native):
    """What the system does not give: said, with an exit code of its own, and never at the target's cost."""

    RESOURCES = 10

    def assert_runs(self, pid):
        deadline = time.monotonic() + 5
        while True:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            states = set(processes.thread_states(pid).values())
            if not states & {"t", "T"} and "TracerPid:\t0" in status:
                return
            self.assertLess(time.monotonic(), deadline, f"threads are {states}")
            time.sleep(0.01)

    def test_memory(self):
        """Every limit from too little for a start to enough: whatever step it fails in, it is said and the target runs."""
        seen = set()
        with Sleepers(50) as target:
            for megabytes in (*range(8, 60, 2), *range(60, 260, 20)):
                ran = Measured("dump", target.pid, "--stop-timeout", "5s", before=limited(f"ulimit -v {megabytes << 10}"))
                if ran.status < 0 or ran.status > 100:
                    # Too little to load the program: the kernel, or libc, ends it before main.
                    self.assertLess(megabytes, 14, ran.errors)
                    continue
                self.assertIn(ran.status, (0, 7, self.RESOURCES), f"{megabytes} MB: {ran.errors}")
                if ran.status == self.RESOURCES:
                    self.assertIn(reasons(ran.errors)[-1], (("resources", "memory"), ("resources", "threads")))
                seen.add(ran.status)
                self.assert_runs(target.pid)
        self.assertIn(self.RESOURCES, seen)
        self.assertIn(0, seen)

    def test_memory_for_a_core(self):
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=20, frames=65_536)
        ran = Measured("dump", "--core", core, before=limited("ulimit -v 100000"))
        self.assertEqual(ran.status, self.RESOURCES, ran.errors)
        self.assertEqual(reasons(ran.errors), [("resources", "memory")])

    def test_open_files(self):
        seen = set()
        with Sleepers(3) as target:
            for files in (3, 4, 5, 6, 7, 8, 10, 64):
                ran = Measured("dump", target.pid, "--stop-timeout", "5s", before=limited(f"ulimit -n {files}"))
                self.assertIn(ran.status, (0, self.RESOURCES), f"{files} files: {ran.errors}")
                if ran.status == self.RESOURCES:
                    self.assertEqual(reasons(ran.errors), [("resources", "files")])
                seen.add(ran.status)
                self.assert_runs(target.pid)
        self.assertEqual(seen, {0, self.RESOURCES})

    def test_open_files_of_a_recording(self):
        """A process that lives has not ended, however few files we may have."""
        seen = set()
        with Sleepers(3) as target:
            for files in (*range(4, 24, 2), 64):
                ran = Measured("record", "-p", target.pid, "-d", "500ms", "-i", "-f", "folded", "-o", "-",
                               before=limited(f"ulimit -n {files}"))
                self.assertIn(ran.status, (0, self.RESOURCES), f"{files} files: {ran.errors}")
                if ran.status == self.RESOURCES:
                    # No "process_ended", "process_changed".
                    self.assertEqual([m["reason"] for m in messages(ran.errors) if m["exit_code"] != 0], ["files"], ran.errors)
                    self.assertNotIn("process_ended", codes(ran.errors))
                    self.assertIn("ulimit -n", ran.errors)
                seen.add(ran.status)
                self.assert_runs(target.pid)
        self.assertEqual(seen, {0, self.RESOURCES})

    def test_open_files_for_a_core(self):
        core = self.folder / "core"
        hostile_cores.shared_stack(core, threads=1, frames=4)
        ran = Measured("dump", "--core", core, before=limited("ulimit -n 3"))
        self.assertEqual(ran.status, self.RESOURCES, ran.errors)
        self.assertEqual([m["os_error"] for m in messages(ran.errors)], [errno.EMFILE], ran.errors)

    def unshared(self, words):
        shell = ["unshare", "--mount", "sh", "-c", words + '; exec "$@"', "sh"]
        if subprocess.run([*shell, "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespace may be made, or not in it what the test mounts")
        return shell

    def test_no_proc(self):
        with Sleepers(0) as target:
            ran = Measured("dump", target.pid, before=self.unshared("mount -t tmpfs none /proc"))
        self.assertEqual(ran.status, self.RESOURCES, ran.errors)
        self.assertEqual(codes(ran.errors), ["no_proc"])

    def test_a_process_that_proc_hides(self):
        hide = "mount -t proc -o hidepid=2 proc /proc"
        drop = self.unshared(hide + "; exec setpriv --reuid 65534 --clear-groups --regid 65534 \"$@\"")
        with Sleepers(0) as target:
            if subprocess.run([*drop, "test", "-d", f"/proc/{target.pid}"]).returncode == 0:
                self.skipTest("this kernel does not hide processes (hidepid)")
            ran = Measured("dump", target.pid, before=drop)
        self.assertEqual(ran.status, 4, ran.errors)
        self.assertEqual(codes(ran.errors), ["hidden"])

    def test_no_such_process_is_still_said(self):
        with Sleepers(0) as target:
            pid = target.pid
        ran = Measured("dump", pid)
        self.assertEqual(ran.status, 3, ran.errors)
        self.assertEqual(codes(ran.errors), ["no_such_process"])
        self.assertIn(str(pid), ran.errors)


class Fifos(Native):
    def setUp(self):
        super().setUp()
        self.core = self.folder / "core"
        self.fifo = self.folder / "fifo"
        hostile_cores.shared_stack(self.core, threads=1, frames=100)
        os.mkfifo(self.fifo)

    def start(self):
        # A test run in a shell's background inherits an ignored SIGINT.
        return subprocess.Popen([str(mixstack_dump.binary()), "dump", "--core", str(self.fifo)], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def test_a_writer_that_comes_later(self):
        with self.start() as process:
            self.assertIn(str(self.fifo), process.stderr.readline())
            time.sleep(0.3)
            self.fifo.write_bytes(self.core.read_bytes())
            out, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 7, errors)
        self.assertIn("Thread 100", out)

    def test_no_writer_is_said(self):
        with self.start() as process:
            out, errors = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (1, ""), errors)
        self.assertEqual(codes(errors), ["waits_for_writer", "no_writer"])

    def test_an_interrupt_ends_the_wait(self):
        with self.start() as process:
            process.stderr.readline()
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=1), -signal.SIGINT)


class SparseLibraries(Native):
    """Libraries that claim to hold enormous tables, for which no disk is needed."""

    COUNT, TABLE = 8, 480 << 20
    SOURCE = "#include <unistd.h>\nint hold(void) { for (;;) pause(); }\n"
    PROGRAM = """
import ctypes, sys, threading, time
for path in sys.argv[1:]:
    threading.Thread(target=ctypes.CDLL(path).hold, daemon=True).start()
time.sleep(1)
print("READY", flush=True)
time.sleep(600)
"""

    def build(self, grow):
        """Paths of libraries whose sections of type `grow` are 480 MB large, all of them holes."""
        source, library = self.folder / "hold.c", self.folder / "hold.so"
        source.write_text(self.SOURCE)
        if shutil.which("gcc") is None:
            self.skipTest("no gcc")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o", library, source], check=True)
        whole = bytearray(library.read_bytes())
        (headers,), (size, count) = struct.unpack_from("<Q", whole, 40), struct.unpack_from("<HH", whole, 58)
        at = (len(whole) + 0xFFFF) & ~0xFFFF
        end = at
        for i in range(count):
            if struct.unpack_from("<I", whole, headers + i * size + 4)[0] in grow:
                struct.pack_into("<QQ", whole, headers + i * size + 24, end, self.TABLE)
                end += self.TABLE
        self.assertGreater(end, at)
        paths = []
        for i in range(self.COUNT):
            path = self.folder / f"sparse{i}.so"
            path.write_bytes(whole + bytes([i]))  # each another file
            os.truncate(path, end)
            paths.append(path)
        return paths

    def look(self, paths):
        process = subprocess.Popen([sys.executable, "-c", self.PROGRAM, *map(str, paths)], stdout=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), b"READY\n")
            return Measured("dump", process.pid, "--json", "--stop-timeout", "5s", timeout=60)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def check(self, ran):
        stacks = [[f["module"] for f in t["frames"]] for t in ran.dump()["threads"]]
        held = [s for s in stacks if any(m.startswith("sparse") for m in s)]
        self.assertEqual(len(held), self.COUNT, stacks)
        self.assertLess(ran.megabytes, 1500)

    def test_symbol_tables(self):
        SYMTAB, STRTAB = 2, 3
        ran = self.look(self.build((SYMTAB,)))
        self.check(ran)
        self.assertLess(ran.megabytes, 400)

    def test_symbol_and_string_tables(self):
        """4 million symbols of each would be read, and 480 MB of names: one budget for all files, and it is said."""
        SYMTAB, STRTAB = 2, 3
        ran = self.look(self.build((SYMTAB, STRTAB)))
        self.check(ran)
        self.assertEqual(ran.status, 7, ran.errors)
        said = [d for d in ran.dump()["diagnoses"] if d["error"]["code"] == "limit_exceeded"]
        self.assertEqual(len(said), 1, ran.dump()["diagnoses"])


class Mappings(Native):
    PROGRAM = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
os.chdir(sys.argv[1])
for _ in range(15):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
fd = os.open("f" * 200, os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(fd, 4096)
for _ in range(int(sys.argv[2])):
    if libc.mmap(None, 4096, 1, 1, fd, 0) == ctypes.c_void_p(-1).value:
        sys.exit(1)
print("READY", flush=True)
time.sleep(600)
"""

    def test_a_list_of_more_than_64_megabytes(self):
        """20,000 mappings of a file with a long path: Linux allows 65,530 by default, a million where it is told so."""
        process = subprocess.Popen([sys.executable, "-c", self.PROGRAM, str(self.folder), "20000"],
                                   stdout=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), b"READY\n")
            size = len(pathlib.Path(f"/proc/{process.pid}/maps").read_bytes())
            self.assertGreater(size, 64 << 20)
            ran = Measured("dump", process.pid, "--json", "--stop-timeout", "5s", timeout=60)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        self.assertEqual(ran.status, 0, ran.errors)
        self.assertEqual(ran.dump()["threads"][0]["stop_reason"], "end_of_stack")
        self.assertLess(ran.megabytes, 600)
