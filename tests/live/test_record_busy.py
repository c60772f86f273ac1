"""mixstack record on a machine that is busy: shares are the kernel's own, and no thread is left out."""
import collections
import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time
import unittest

import mixstack_dump
import processes
import refusals
from harness import LiveCase, alone
from test_record import record


class BusyMachine(LiveCase):
    @alone("loads the machine")
    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_stops_on_a_busy_machine_miss_no_thread(self):
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4 * len(os.sched_getaffinity(0)))]
        try:
            with processes.scenario("split") as debuggee:
                status, stacks, said = record(debuggee.pid, "-d", "4", "-r", "100", "-i", "-t", "-f", "folded", "-o", "-",
                                              refused=("bpf",))
        finally:
            for one in busy:
                one.kill()
                one.wait()
        self.assertEqual(status, 0, said)
        counts = collections.Counter()
        for names, count in stacks:
            counts[names[0].split(" [")[0]] += count
        left_out = re.search(r"(\d+) rounds? left out", said)
        rounds = 400 - (int(left_out[1]) if left_out else 0)
        # One that has to wait for a processor has as many samples as one that waits for a lock.
        for thread in ("split", "waits", "Scenarios"):
            self.assertAlmostEqual(counts[thread], rounds, delta=4 + rounds // 20, msg=f"{thread} of {dict(counts)}: {said}")
        self.assertGreater(rounds, 20, said)

    @alone("loads the machine, and measures shares")
    @unittest.skipUnless(refusals.NUMBERS, "numbers of system calls are not known here")
    def test_a_busy_machine_makes_no_thread_wait_more_than_it_does(self):
        """Who looks needs a processor, too: shares of running and ready are those of the kernel's own count, of the same seconds."""
        def times(programs):
            """When; time on a processor and waiting for one, of all."""
            counts = [pathlib.Path(f"/proc/{p.pid}/schedstat").read_text().split() for p in programs]
            return time.time(), *(sum(int(c[i]) for c in counts) for i in (0, 1))
        for refused in ((), ("bpf",)):
            programs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
            clock, ended = [times(programs)], threading.Event()
            def watch(programs, clock, ended):
                while not ended.wait(0.02):
                    clock.append(times(programs))
            watching = threading.Thread(target=watch, args=(programs, clock, ended))
            watching.start()
            try:
                with tempfile.TemporaryDirectory() as folder:
                    status, _, said = record(",".join(str(p.pid) for p in programs), "-d", "6", "-o", f"{folder}/x.mxr", refused=refused)
                    counts = [self.converted(f"{folder}/x.mxr", state) for state in ("running", "runnable")]
                    begin, end = self.moments(f"{folder}/x.mxr")
            finally:
                ended.set()
                watching.join()
                for program in programs:
                    program.kill()
                    program.wait()
            self.assertEqual(status, 0, said)
            self.assertGreater(counts[0], 100, said)
            before, after = (min(clock, key=lambda at, moment=moment: abs(at[0] - moment)) for moment in (begin, end))
            ran, queued = (now - then for then, now in zip(before[1:], after[1:]))
            self.assertAlmostEqual(counts[0] / sum(counts), ran / (ran + queued), delta=0.05, msg=said)

    @staticmethod
    def moments(path):
        """When its first sample was taken, and its last; seconds."""
        converted = f"{path}.profile.json.gz"
        subprocess.run([mixstack_dump.binary(), "convert", "-q", path, "-i", "-f", "firefox", "-o", converted], check=True)
        profile = json.loads(gzip.decompress(pathlib.Path(converted).read_bytes()))
        at = [moment for thread in profile["threads"] for moment in thread["samples"]["time"]]
        return [(profile["meta"]["startTime"] + moment) / 1000 for moment in (min(at), max(at))]

    @staticmethod
    def converted(path, state):
        """How many samples of the state a recording has."""
        done = subprocess.run([mixstack_dump.binary(), "convert", path, "--state", state, "-f", "folded", "-o", "-"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        return sum(int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines())
