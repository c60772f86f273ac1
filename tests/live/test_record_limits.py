"""mixstack record where something is lacking: files, rights, a reader."""
import errno
import fcntl
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import mixstack_dump
import processes
import recording_data
import refusals
from harness import LiveCase, alone

NOBODY = 65534
THREADS = """
import sys, threading, time
threading.stack_size(65536)
for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("READY", flush=True)
time.sleep(600)
"""


class RecordLimits(LiveCase):
    def of_threads(self, count):
        """A process of so many threads."""
        process = subprocess.Popen([sys.executable, "-c", THREADS, str(count)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "READY\n")
        return process

    def record(self, *words, before=None, prefix=()):
        return subprocess.run([*prefix, mixstack_dump.binary(), "record", *map(str, words)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240, preexec_fn=before)

    def recorded(self, pid, *options, before=None):
        """A raw recording, whose facts are data."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return recording_data.record(folder.name, pid, *options, timeout=240, before=before)

    @staticmethod
    def few_files(soft, hard=None):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft if hard is None else hard))

    def test_samples_of_a_program_that_has_ended_have_names(self):
        """Its last samples are walked when it has no mappings any more. It loads libraries to its end, and reads files."""
        with processes.scenario("sleepers", "20", "5", "0") as debuggee, tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "x.folded"
            for _ in range(3):
                done = self.record("-m", "cpu", "-F", "4999", "-o", out, "--", mixstack_dump.binary(), "why", debuggee.pid)
                self.assertEqual(done.returncode, 0, done.stderr)
                counts = {stack: int(n) for stack, _, n in (line.rpartition(" ") for line in out.read_text().splitlines())}
                lost = sum(n for stack, n in counts.items() if stack.endswith("[unknown]"))
                self.assertGreater(sum(counts.values()), 30)
                self.assertLess(lost, sum(counts.values()) / 10, counts)

    @alone("a busy machine is told late what was mapped")
    @unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
    def test_code_that_takes_the_place_of_other_code_never_has_its_name(self):
        """Two libraries in turn, each at the address where the other one was."""
        burn = "static volatile long n; void entry(double s) {{ {0}_code(s); }}"
        library = ("#include <time.h>\n__attribute__((noinline)) void {0}_code(double s) {{ struct timespec a, b; "
                   "clock_gettime(1, &a); do clock_gettime(1, &b); while (b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < s); }}\n"
                   + burn)
        program = """#include <dlfcn.h>
volatile int z;
__attribute__((noinline)) void run_a(void (*f)(double)) { f(0.05); z++; }
__attribute__((noinline)) void run_b(void (*f)(double)) { f(0.05); z++; }
int main() { for (;;) {
  void* h = dlopen("./liba.so", RTLD_NOW); run_a((void (*)(double))dlsym(h, "entry")); dlclose(h);
  h = dlopen("./libb.so", RTLD_NOW); run_b((void (*)(double))dlsym(h, "entry")); dlclose(h); } }
"""
        with tempfile.TemporaryDirectory() as folder:
            for name, text, options in (("liba.so", library.format("a"), ["-shared", "-fPIC"]), ("libb.so", library.format("b"), ["-shared", "-fPIC"]),
                                        ("turns", program, [])):
                subprocess.run(["cc", "-x", "c", "-O1", "-g", "-", "-o", f"{folder}/{name}", *options, "-ldl"], input=text, text=True, check=True)
            process = subprocess.Popen([f"{folder}/turns"], cwd=folder, stdin=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            for options in ((), ("--mode", "cpu")):
                done = self.record("-p", process.pid, "-d", "4", "-i", "-f", "folded", "-o", "-", *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                right = 0
                for line in done.stdout.splitlines():
                    names, count = line.rsplit(" ", 1)
                    for own, other in (("a", "b"), ("b", "a")):
                        self.assertFalse(f";run_{own};" in names and f"{other}_code" in names, line)
                        right += int(count) if f";run_{own};" in names and f"{own}_code" in names else 0
                self.assertGreater(right, 50, f"{options}: {done.stdout}\n{done.stderr}")

    @alone("chooses the next pid of the machine")
    @unittest.skipUnless(os.geteuid() == 0, "needs the right to choose the next pid")
    def test_a_process_that_gets_the_number_of_one_that_ended(self):
        """It is another one: nothing of it is recorded. The first one ends in code that nobody describes."""
        wild = ("import ctypes, mmap\ncode = mmap.mmap(-1, 4096, prot=7)\ncode.write(b'\\xeb\\xfe')\nctypes.CFUNCTYPE(None)"
                "(ctypes.addressof(ctypes.c_char.from_buffer(code)))()")
        if os.uname().machine != "x86_64":
            wild = "while True: pass"
        for options in ((), ("--mode", "cpu")):
            target = subprocess.Popen([sys.executable, "-c", wild], stdin=subprocess.DEVNULL)
            with tempfile.TemporaryDirectory() as folder:
                recorder = subprocess.Popen([mixstack_dump.binary(), "record", "-p", str(target.pid), "-d", "4", "-r", "1000", "-i", "-o",
                                             f"{folder}/x.folded", *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                time.sleep(1.5)
                target.kill()
                target.wait()
                other = self.other_of_number(target.pid)
                try:
                    said = recorder.communicate(timeout=120)[1]
                finally:
                    if other is not None:
                        os.kill(other, signal.SIGKILL)
                        os.waitpid(other, 0)
                if other is None:
                    self.skipTest("the number was not to be had again")
                self.assertEqual(recorder.returncode, 8, said)
                with open(f"{folder}/x.folded", encoding="utf-8") as file:
                    self.assertNotIn("sleep", file.read())

    @staticmethod
    def other_of_number(pid):
        """A process that runs another program and has the number; None: somebody else was faster."""
        for _ in range(50):
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as last:
                last.write(str(pid - 1))
            child = os.fork()
            if child == 0:
                if os.getpid() == pid:
                    os.execvp("sleep", ["sleep", "600"])
                os._exit(0)
            if child == pid:
                return child
            os.waitpid(child, 0)
        return None

    def test_time_of_threads_that_live_for_a_moment_is_said_to_be_missing(self):
        code = ("import threading\ndef work(): sum(range(20000))\n"
                "while True:\n    t = threading.Thread(target=work); t.start(); t.join()")
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        done = self.record("-p", process.pid, "-d", "2", "-f", "folded", "-o", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        # On a busy machine they live long enough for a round to find them, which is lost when they end before a sample.
        self.assertRegex(done.stderr, r"[\d.]+ s of [\d.]+ s of processor time are in no sample|\d+ of threads that could not be stopped or had gone")

    def test_many_threads_and_few_files(self):
        process = self.of_threads(1001)
        for most in (64, 256, 1024):
            for options in ((), ("-m", "cpu")):
                done = self.recorded(process.pid, "-d", "1", "-r", "10", *options, before=self.few_files(most))
                self.assertEqual(done.status, 0, f"{most} {options}: {done.said}")
                self.assertEqual(done.sources, recording_data.STOPS)
                said = [re.findall(r"\d+", note.split("ulimit -n")[1])[:2] for note in done.facts["notes"] if "ulimit -n" in note]
                self.assertEqual({int(limit) for limit, _ in said}, {most}, done.facts["notes"])
        enough = max(int(number) for _, number in said)
        done = self.recorded(process.pid, "-d", "1", "-r", "10", before=self.few_files(enough))
        self.assertEqual(done.status, 0, done.said)
        self.assertFalse([note for note in done.facts["notes"] if "ulimit -n" in note])

    def test_the_limit_is_raised_for_us_and_not_for_what_we_start(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < 4104:
            self.skipTest("the hard limit is too low")
        process = self.of_threads(1001)
        done = self.recorded(process.pid, "-d", "1", before=self.few_files(64, hard))
        self.assertEqual(done.status, 0, done.said)
        self.assertFalse([note for note in done.facts["notes"] if "ulimit -n" in note])
        with tempfile.TemporaryDirectory() as folder:
            told = f"{folder}/told"
            done = self.record("-d", "2", "-o", f"{folder}/x.folded", "--", "/bin/sh", "-c",
                               f"(ulimit -Sn; ulimit -Hn) > {told}; sleep 1", before=self.few_files(300, 4000))
            with open(told) as file:
                self.assertEqual(file.read().split(), ["300", "4000"], done.stderr)

    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_without_stops_what_is_refused_is_said(self):
        process = self.of_threads(2)
        done = self.record("-p", process.pid, "-d", "1", "--no-stop", "-f", "folded", "-o", "-",
                           before=lambda: refusals.refuse("perf_event_open", "bpf"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, r"perf events: .*(CAP_PERFMON|--cap-add=PERFMON)")
        self.assertRegex(done.stderr, r" BPF: ")
        self.assertEqual(mixstack_dump.reasons(done.stderr), [("permission", "nothing_without_stop")])
        self.assertNotIn("ptrace", done.stderr.replace("cap_sys_ptrace", "").replace("SYS_PTRACE", ""))

    @alone("changes kernel.perf_event_paranoid")
    @unittest.skipUnless(os.geteuid() == 0, "needs to be root, to be nobody")
    def test_without_stops_which_rights_are_missing(self):
        path = "/proc/sys/kernel/perf_event_paranoid"
        if not os.path.exists(path):
            self.skipTest("no perf events in this kernel")
        with open(path) as file:
            before = file.read()
        process = subprocess.Popen(["/bin/sleep", "300"], user=NOBODY, group=NOBODY, extra_groups=[])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        try:
            with open(path, "w") as file:
                file.write("3")
            done = self.record("-p", process.pid, "-d", "1", "--no-stop", "-f", "folded", "-o", "-",
                               prefix=("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"))
        finally:
            with open(path, "w") as file:
                file.write(before)
        if done.returncode == 0:
            self.skipTest("this kernel has no level 3: Debian's and Android's alone have")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("without CAP_PERFMON (kernel.perf_event_paranoid = 3)", done.stderr)
        self.assertRegex(done.stderr, r" BPF: .*CAP_BPF and CAP_PERFMON")
        self.assertEqual(mixstack_dump.reasons(done.stderr), [("permission", "nothing_without_stop")])

    @unittest.skipUnless(os.geteuid() == 0, "needs to be root, to be nobody")
    def test_a_folder_of_others(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            done = self.record("-p", os.getpid(), "-d", "1", "-o", f"{folder}/x.folded",
                               prefix=("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"))
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn(os.strerror(errno.EACCES), done.stderr)

    def test_a_pipe_that_is_not_read(self):
        """A signal ends the wait for its reader; how much was written is said, and the recording is kept."""
        process = self.of_threads(50)
        with tempfile.TemporaryDirectory() as folder:
            pipe = f"{folder}/pipe"
            os.mkfifo(pipe)
            for out in (pipe, "-"):
                reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
                writer = os.open(pipe, os.O_WRONLY)
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
                recording = subprocess.Popen([mixstack_dump.binary(), "record", "-p", str(process.pid), "-d", "1", "-i", "-t",
                                              "-f", "folded", "-o", out], stdin=subprocess.DEVNULL, stdout=writer,
                                             stderr=subprocess.PIPE, text=True)

                def is_full():
                    return struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4))[0] == 4096
                try:
                    self.wait_until(is_full, "the pipe to fill")
                    time.sleep(0.5)
                    recording.send_signal(signal.SIGINT)
                    said = recording.communicate(timeout=60)[1]
                    self.assertEqual(recording.returncode, 9, said)
                    self.assertIn("4096", re.findall(r"\d+", said), "what was written")
                    [kept] = [subject for code, subject in mixstack_dump.told(said) if code == "kept"]
                    os.unlink(kept)
                finally:
                    recording.kill()
                    recording.wait()
                    os.close(writer)
                    os.close(reader)

    def test_a_pipe_that_is_read_late(self):
        """A signal that ended the recording does not cut what a slow reader reads."""
        process = self.of_threads(50)
        recording = subprocess.Popen([mixstack_dump.binary(), "record", "-p", str(process.pid), "-i", "-t", "-f", "folded", "-o",
                                      "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        fcntl.fcntl(recording.stdout, fcntl.F_SETPIPE_SZ, 4096)
        time.sleep(2)
        recording.send_signal(signal.SIGINT)
        time.sleep(2)
        text = recording.communicate(timeout=60)[0].decode()
        self.assertEqual(recording.returncode, 0)
        self.assertTrue(text.endswith("\n"))
        self.assertGreaterEqual(len(text.splitlines()), 50)

    def raw_recording(self, process, folder):
        done = self.record("-p", process.pid, "-d", "1", "-i", "-o", f"{folder}/raw.mxr")
        self.assertEqual(done.returncode, 0, done.stderr)
        return f"{folder}/raw.mxr"

    def test_who_owns_the_folder_leads_us_to_no_other_file(self):
        """A pipe that nobody reads, and that is replaced by a link while its reader is waited for."""
        process = self.of_threads(2)
        with tempfile.TemporaryDirectory() as folder:
            raw = self.raw_recording(process, folder)
            started = []
            for name, command in (("convert", ("convert", raw)), ("diff", ("diff", raw, raw)),
                                  ("record", ("record", "-p", str(process.pid), "-d", "1", "-i"))):
                pipe, victim = f"{folder}/{name}.pipe", f"{folder}/{name}.victim"
                os.mkfifo(pipe)
                with open(victim, "w") as file:
                    file.write("old")
                started.append((pipe, victim, subprocess.Popen(
                    [mixstack_dump.binary(), *command, "-f", "folded", "-o", pipe], stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)))
            try:
                for pipe, victim, running in started:
                    def has_found():
                        for fd in os.listdir(f"/proc/{running.pid}/fd"):
                            try:
                                if os.readlink(f"/proc/{running.pid}/fd/{fd}") == pipe:
                                    return True
                            except OSError:
                                pass  # closed meanwhile
                        return False
                    self.wait_until(has_found, f"{pipe} to be found")
                    os.unlink(pipe)
                    os.symlink(victim, pipe)
                for pipe, victim, running in started:
                    said = running.communicate(timeout=60)[1]
                    self.assertEqual(running.returncode, 9, said)
                    kept = [subject for code, subject in mixstack_dump.told(said) if code == "kept"]
                    self.assertEqual(len(kept), "record" in pipe, said)
                    for path in kept:
                        os.unlink(path)
                    with open(victim) as file:
                        self.assertEqual(file.read(), "old", said)
            finally:
                for _, _, running in started:
                    running.kill()
                    running.wait()
                    running.stderr.close()

    def test_links_are_not_followed(self):
        process = self.of_threads(2)
        with tempfile.TemporaryDirectory() as folder:
            raw = self.raw_recording(process, folder)
            with open(f"{folder}/victim", "w") as file:
                file.write("old")
            for target in ("victim", "nothing"):
                link = f"{folder}/{target}.folded"
                os.symlink(target, link)
                for command in (("convert", raw), ("diff", raw, raw), ("record", "-p", process.pid, "-d", "1")):
                    done = subprocess.run([mixstack_dump.binary(), *map(str, command), "-f", "folded", "-o", link],
                                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 9, done.stderr)
                    [said] = [m for m in mixstack_dump.messages(done.stderr) if m["exit_code"] != 0]
                    self.assertEqual((said["code"], said["os_error"]), ("no_output" if command[0] == "record" else "not_written", errno.ELOOP))
                    self.assertIn(link, said["text"])
            with open(f"{folder}/victim") as file:
                self.assertEqual(file.read(), "old")
            self.assertFalse(os.path.exists(f"{folder}/nothing"))
            for out in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
                done = subprocess.run([mixstack_dump.binary(), "convert", raw, "-i", "-f", "folded", "-o", out],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r" \d+\n$", out)

    def test_names_that_nobody_chose_replace_nothing(self):
        process = self.of_threads(2)
        with tempfile.TemporaryDirectory() as folder:
            started = [subprocess.Popen([mixstack_dump.binary(), "record", "-p", str(process.pid), "-d", "1"], cwd=folder,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
            names = []
            for running in started:
                said = running.communicate(timeout=60)[1]
                self.assertEqual(running.returncode, 0, said)
                names += [subject for code, subject in mixstack_dump.told(said) if code == "wrote"]
            self.assertEqual(sorted(names), sorted(os.listdir(folder)))
            self.assertEqual(len(names), 3)

    def test_a_file_that_is_replaced_hands_its_mode_on(self):
        process = self.of_threads(2)
        with tempfile.TemporaryDirectory() as folder:
            for mode in (0o600, 0o640):
                out = f"{folder}/x.folded"
                with open(out, "w") as file:
                    file.write("old")
                os.chmod(out, mode)
                done = self.record("-p", process.pid, "-d", "1", "-i", "-o", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(os.stat(out).st_mode & 0o7777, mode)
                with open(out) as file:
                    self.assertNotEqual(file.read(), "old")


if __name__ == "__main__":
    unittest.main()
