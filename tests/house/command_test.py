"""The command against the real kernel: what it refuses and why, and that one file is enough. MIXSTACK names the binary."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import sys
import time
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIXSTACK = os.environ["MIXSTACK"]
sys.path.insert(0, str(ROOT / "tests/support"))
import dump_schema  # noqa: E402

SCHEMA = dump_schema.strict()
NOBODY = "65534"
IS_ROOT = os.geteuid() == 0


def run(*arguments, wrapper=(), **options):
    done = subprocess.run([*wrapper, MIXSTACK, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr


def state(pid):
    """Letter of /proc/PID/stat; None: gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("did not happen in time")
        time.sleep(0.01)


def status_field(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split()[1]
    return None


# A 32-bit program that waits: mov eax,29 (pause); int 0x80; jmp start. ELF32 header and one PT_LOAD.
PAUSE_32 = bytes.fromhex("b81d000000cd80ebf7")


def elf32():
    base, start = 0x8048000, 0x54
    size = start + len(PAUSE_32)
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + start, 52, 0, 0, 52, 32, 1,
                                                             0, 0, 0)
    return header + struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 4096) + PAUSE_32


class Command(unittest.TestCase):
    def sleeper(self, *wrapper):
        child = subprocess.Popen([*wrapper, "sleep", "600"], stdin=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        wait_until(lambda: state(child.pid) == "S" and "sleep" in pathlib.Path(f"/proc/{child.pid}/comm").read_text())
        return child

    def test_a_process_is_dumped_and_runs_on(self):
        child = self.sleeper()
        status, out, error = run("dump", child.pid)
        self.assertEqual((status, error), (0, ""))
        self.assertIn("nanosleep", out)
        self.assertEqual(status_field(child.pid, "TracerPid"), "0")
        wait_until(lambda: state(child.pid) == "S")

    def test_real_json_keeps_to_the_schema(self):
        child = self.sleeper()
        for options in ((), ("--explain", "--registers", "--merge", "--frames"), ("--managed-only",)):
            status, out, _ = run("dump", child.pid, "--json", *options)
            self.assertEqual(status, 0)
            jsonschema.validate(json.loads(out), SCHEMA)

    def test_version_says_which_file_this_is(self):
        status, out, error = run("--version")
        self.assertEqual((status, error), (0, ""))
        self.assertRegex(out, r"^mixstack \d+\.\d+\.\d+\nbuild id [0-9a-f]{40}\n(commit [0-9a-f]{40}(-dirty)?\n)?$")
        notes = subprocess.run(["readelf", "-n", MIXSTACK], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"Build ID: {out.splitlines()[1].split()[-1]}", notes)

    def test_no_such_process(self):
        status, out, error = run("dump", 2**31 - 1)
        self.assertEqual((status, out), (3, ""))
        self.assertIn("no process 2147483647", error)

    def test_a_thread_id_is_answered_with_the_line_that_works(self):
        program = "import threading,time; threading.Thread(target=time.sleep,args=(600,),daemon=True).start(); time.sleep(600)"
        child = subprocess.Popen(["python3", "-c", program])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        tasks = pathlib.Path(f"/proc/{child.pid}/task")
        wait_until(lambda: len(list(tasks.iterdir())) == 2)
        [thread] = [t.name for t in tasks.iterdir() if t.name != str(child.pid)]
        status, _, error = run("dump", thread)
        self.assertEqual(status, 3)
        self.assertIn(f"mixstack dump {child.pid} -t {thread}", error)
        status, out, _ = run("dump", child.pid, "-t", thread, "--json")
        self.assertEqual(status, 0)
        self.assertEqual([t["tid"] for t in json.loads(out)["threads"]], [int(thread)])

    def test_an_absent_thread_is_a_partial_result(self):
        child = self.sleeper()
        status, _, error = run("dump", child.pid, "-t", child.pid, "-t", 2**31 - 1)
        self.assertEqual(status, 7)
        self.assertIn("no thread 2147483647", error)

    def test_kernel_thread(self):
        if status_field(2, "Name") != "kthreadd":
            self.skipTest("no kernel threads in this pid namespace")
        status, _, error = run("dump", 2)
        self.assertEqual(status, 6)
        self.assertIn("kernel thread", error)

    def test_zombie(self):
        child = subprocess.Popen(["true"])
        self.addCleanup(child.wait)
        wait_until(lambda: state(child.pid) == "Z")
        status, _, error = run("dump", child.pid)
        self.assertEqual(status, 6)
        self.assertIn("zombie", error)

    def test_a_32_bit_process(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "pause32"
            program.write_bytes(elf32())
            program.chmod(0o755)
            try:
                child = subprocess.Popen([program])
            except OSError as error:
                self.skipTest(f"this kernel runs no 32-bit programs: {error}")
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            time.sleep(0.2)
            if child.poll() is not None:
                self.skipTest("this kernel runs no 32-bit programs")
            status, _, error = run("dump", child.pid)
            self.assertEqual(status, 6)
            self.assertIn("32-bit", error)

    @unittest.skipUnless(shutil.which("gdb"), "no gdb")
    def test_another_tracer_is_named(self):
        child = self.sleeper()
        gdb = subprocess.Popen(["gdb", "-nx", "-q", "-p", str(child.pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        self.addCleanup(gdb.communicate, b"detach\nquit\n", 30)
        wait_until(lambda: status_field(child.pid, "TracerPid") != "0", 30)
        status, _, error = run("dump", child.pid)
        self.assertEqual(status, 5)
        self.assertIn(f"already traced by pid {status_field(child.pid, 'TracerPid')} (gdb)", error)

    @unittest.skipUnless(IS_ROOT, "needs root to become somebody else")
    def test_another_users_process(self):
        child = self.sleeper()
        wrapper = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
        with tempfile.TemporaryDirectory() as folder:  # nobody may not enter the folder of the build
            os.chmod(folder, 0o755)
            copy = shutil.copy(MIXSTACK, folder)
            done = subprocess.run([*wrapper, copy, "dump", str(child.pid)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(f"belongs to uid 0, and we are uid {NOBODY}", done.stderr)

    @unittest.skipUnless(IS_ROOT, "needs root to give a capability away")
    def test_root_without_the_capability(self):
        child = self.sleeper("setpriv", "--reuid", NOBODY, "--clear-groups")
        status, _, error = run("dump", child.pid, wrapper=["setpriv", "--bounding-set", "-sys_ptrace"])
        self.assertEqual(status, 4, error)
        self.assertIn("without CAP_SYS_PTRACE", error)

    def test_a_stopped_process_stays_stopped(self):
        child = self.sleeper()
        child.send_signal(signal.SIGSTOP)
        wait_until(lambda: state(child.pid) == "T")
        status, out, _ = run("dump", child.pid)
        self.assertEqual(status, 0)
        self.assertIn("stopped by a signal", out)
        self.assertEqual(state(child.pid), "T")

    def test_processes_that_vanish_meanwhile(self):
        for delay in range(20):
            child = subprocess.Popen(["sleep", f"{delay / 1000}"])
            status, _, error = run("dump", child.pid)
            child.wait()
            self.assertIn(status, (0, 3, 6, 7, 8), error)

    def test_a_pipe_that_closes_and_a_full_disk(self):
        child = self.sleeper()
        with open("/dev/full", "w") as full:
            done = subprocess.run([MIXSTACK, "dump", str(child.pid)], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 9)
        self.assertIn("No space left", done.stderr)
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([MIXSTACK, "dump", str(child.pid)], stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        self.assertIn(done.returncode, (9, -signal.SIGPIPE))
        wait_until(lambda: state(child.pid) == "S")

    def test_the_name_of_a_process_cannot_write_to_the_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(shutil.which("sleep"), f"{folder}/\x1b]2;x\x07")
            child = subprocess.Popen([program, "600"])
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            wait_until(lambda: state(child.pid) == "S")
            status, out, _ = run("dump", child.pid)
            self.assertEqual(status, 0)
            self.assertNotIn("\x1b", out)
            self.assertIn("Thread %d \\x1b]2;x\\x07" % child.pid, out)

    @unittest.skipUnless(IS_ROOT, "needs root for chroot")
    def test_one_file_in_an_empty_root_is_enough(self):
        if b"INTERP" in subprocess.run(["readelf", "-lW", MIXSTACK], capture_output=True).stdout:
            self.skipTest("this build is not static")
        with tempfile.TemporaryDirectory() as empty:
            shutil.copy(MIXSTACK, f"{empty}/mixstack")
            done = subprocess.run(["chroot", empty, "/mixstack", "--version"], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout[:9]), (0, "mixstack "))


if __name__ == "__main__":
    unittest.main()
