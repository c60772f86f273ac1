"""What a thread is blocked on, and its times, against what the program itself and /proc say."""
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import mixstack_dump
import processes
from harness import LiveCase, alone

# Threads that block in different calls, and what each of them is blocked on: a line of JSON, by the thread's name.
BLOCKED = r"""
import ctypes, fcntl, json, os, select, socket, sys, tempfile, threading, time

said = {}

def start(name, work):
    def run():
        ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
        work()
    threading.Thread(target=run, daemon=True).start()

listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
said["socket"] = [client.fileno(), "tcp %s:%d -> %s:%d" % (*client.getsockname(), *client.getpeername())]
start("socket", lambda: client.recv(1))
said["accept"] = [listener.fileno(), "tcp listening on %s:%d" % listener.getsockname()]
start("accept", listener.accept)
six = socket.create_server(("::1", 0), family=socket.AF_INET6)
said["accept6"] = [six.fileno(), "tcp listening on [::1]:%d" % six.getsockname()[1]]
start("accept6", six.accept)
folder = tempfile.mkdtemp()
local = socket.socket(socket.AF_UNIX)
local.bind(folder + "/a b.sock")
local.listen()
said["unix"] = [local.fileno(), "unix socket " + folder + "/a"]
start("unix", local.accept)
r, w = os.pipe()
said["pipe"] = [r, "pipe"]
start("pipe", lambda: os.read(r, 1))
poll = select.epoll()
poll.register(r, select.EPOLLIN)
r2, w2 = os.pipe()
poll.register(r2, select.EPOLLPRI)
said["epoll"] = [poll.fileno(), "epoll of 2 files"]
start("epoll", poll.poll)
os.mkfifo(folder + "/fifo")
said["open"] = [None, folder + "/fifo"]
start("open", lambda: os.open(folder + "/fifo", os.O_RDONLY))
first, second = open(folder + "/lock", "w"), open(folder + "/lock", "w")
fcntl.flock(first, fcntl.LOCK_EX)
said["flock"] = [second.fileno(), folder + "/lock"]
start("flock", lambda: fcntl.flock(second, fcntl.LOCK_EX))
start("sleep", lambda: time.sleep(1000))

def burn():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
    burned.set()
    time.sleep(1000)
burned = threading.Event()
start("burn", burn)
burned.wait()
time.sleep(0.5)
print(json.dumps(said), flush=True)
time.sleep(1000)
"""


class Facts(LiveCase):
    @classmethod
    def setUpClass(cls):
        cls.program = subprocess.Popen([sys.executable, "-c", BLOCKED], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end)
        cls.said = json.loads(cls.program.stdout.readline())

    @classmethod
    def end(cls):
        cls.program.kill()
        cls.program.wait()
        cls.program.stdout.close()

    def threads(self):
        return {t["name"]: t for t in mixstack_dump.dump(self.program.pid)["threads"]}

    def test_what_threads_are_blocked_on(self):
        threads = self.threads()
        for name, (fd, what) in self.said.items():
            with self.subTest(name):
                call = threads[name]["syscall"]
                self.assertEqual((call["fd"], call["object"]), (fd, what), call)
                self.assertEqual(len(call["arguments"]), 6)
        self.assertIsNone(threads["sleep"]["syscall"]["object"])

    def text_of_threads_that_ran(self):
        """Every stop makes threads run; without one for a second it would be said when they did."""
        for _ in range(20):
            self.threads()
            text = subprocess.run([mixstack_dump.binary(), "dump", str(self.program.pid)], capture_output=True, text=True,
                                  timeout=60, check=True).stdout
            if "last ran" not in text:
                break
        return text

    def test_it_is_in_the_text(self):
        text = self.text_of_threads_that_ran()
        fd, what = self.said["socket"]
        end = "(, late by [0-9.]+ ms)?$"  # on a machine with much else to do
        self.assertRegex(text, rf"(?m)^Thread \d+ socket, sleeping in recvfrom\({fd} {what.replace('.', '[.]')}\){end}")
        self.assertRegex(text, rf"(?m)^Thread \d+ open, sleeping in openat\({self.said['open'][1]}\){end}")

    def schedule(self, policy, processors):
        for task in map(int, os.listdir(f"/proc/{self.program.pid}/task")):
            os.sched_setaffinity(task, processors)
            os.sched_setscheduler(task, policy, os.sched_param(0))

    @alone("processors")
    def test_threads_that_find_no_processor_to_wait_again(self):
        """Each stop makes a thread leave its call; behind others of higher priority it is late to be back in it."""
        processor = min(os.sched_getaffinity(0))
        burning = [subprocess.Popen(["taskset", "-c", str(processor), sys.executable, "-c", "while True: pass"]) for _ in range(2)]
        for program in burning:
            self.addCleanup(program.wait)
            self.addCleanup(program.kill)
        self.addCleanup(self.schedule, os.SCHED_OTHER, os.sched_getaffinity(0))
        self.schedule(os.SCHED_IDLE, {processor})
        for _ in range(5):
            threads = self.threads()
            for name in ("socket", "accept", "pipe", "epoll"):
                if threads[name]["captured"]:
                    self.assertEqual(threads[name]["syscall"]["object"], self.said[name][1], threads[name])

    def test_times(self):
        threads = self.threads()
        for name in ("burn", "pipe"):
            cpu, queued, _ = map(int, pathlib.Path(f"/proc/{self.program.pid}/task/{threads[name]['tid']}/schedstat").read_text().split())
            # Each stop costs the thread some microseconds.
            self.assertLessEqual(threads[name]["cpu_ns"], cpu)
            self.assertGreater(threads[name]["cpu_ns"], cpu - 5_000_000)
            self.assertLessEqual(threads[name]["queued_ns"], queued)
            self.assertTrue(threads[name]["wait_channel"] or pathlib.Path("/proc/self/wchan").read_text() == "0")
        self.assertGreater(threads["burn"]["cpu_ns"], 200_000_000)

    @alone("times")
    @unittest.skipUnless(pathlib.Path("/proc/self/sched").exists(), "this kernel does not tell (CONFIG_SCHED_DEBUG)")
    def test_how_long_a_thread_has_not_run(self):
        self.threads()
        begin = time.monotonic()  # every stop makes threads run
        time.sleep(1.5)
        before = time.monotonic()
        waited = self.threads()["pipe"]["off_cpu_ns"] / 1e9
        self.assertGreater(waited, before - begin - 0.1)
        self.assertLess(waited, time.monotonic() - begin + 0.2)

    def test_a_collection_that_cannot_begin(self):
        with processes.scenario("gc_held_up") as debuggee:
            def held_up():
                return mixstack_dump.dump(debuggee.pid)["process"]["runtimes"][0]["suspension"]
            self.assertIsNone(held_up())
            self.wait_until(lambda: held_up() is not None, "the collection", timeout=20)
            dump = mixstack_dump.dump(debuggee.pid)
            tids = {t["name"]: t["tid"] for t in dump["threads"]}
            self.assertEqual(dump["process"]["runtimes"][0]["suspension"],
                             {"by": tids["collector"], "waits_for": [tids["holder"]]})


if __name__ == "__main__":
    unittest.main()
