"""Damages full cores by types, many times, and looks at what the command makes of them: scripts/fuzz_cores --typed."""
import collections
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import debuggee_build
import typed_checks
from typed_damage import Anatomy, Damage

# As it would be looked at where it was made, on a machine that has none of its files, and by a person. Some hundred
# frames of a thread tell as much as thousands.
WAYS = (("--json", "--explain"), ("--json", "--explain", "--only-sysroot"), ("--explain", "--registers", "--frames"))
CUT = ("--max-frames", "200")
KEPT = 20  # failures that are written down


class Subject:
    """A core, undamaged: its structures, and what the command says of it."""

    def __init__(self, core, tool, mixstack, is_sanitized):
        self.core = pathlib.Path(core)
        self.anatomy = Anatomy(core, tool)
        self.whole, self.texts = [], []
        with tempfile.TemporaryFile() as errors:
            for way in WAYS:
                uncut = typed_checks.dump(mixstack, core, way, is_sanitized, errors)
                report = json.loads(uncut.text) if "--json" in way else None
                outcome = typed_checks.dump(mixstack, core, way + CUT, is_sanitized, errors)
                found = typed_checks.faults(outcome, report, set())
                if found:
                    raise RuntimeError(f"{core} before any damage: {found}")
                self.whole.append(report)
                self.texts.append(hash(outcome.text))
        self.anatomy.add_names(set().union(*(typed_checks.names_of(w) for w in self.whole if w)))

    def describe(self):
        words = {k: len(v) for k, v in sorted(self.anatomy.words.items())}
        frames = [len(typed_checks.frames_of(w)) for w in self.whole if w]
        return f"{self.core.name}: {self.core.stat().st_size >> 20} MB, frames {frames}, words {words}"


class Worker:
    """Has one copy of each core, which it damages and mends."""

    def __init__(self, subjects, settings, folder):
        self.subjects, self.settings = subjects, settings
        self.copies = []
        for subject in subjects:
            copy = pathlib.Path(folder) / f"{subject.core.name}.{os.getpid()}"
            subprocess.run(["cp", "--sparse=always", str(subject.core), str(copy)], check=True)
            self.copies.append(os.open(copy, os.O_RDWR))
            copy.unlink()
        self.errors = tempfile.TemporaryFile()

    def run(self, number):
        """(number, core, structures, what it ended with and cost, whether the report is another, faults, story)."""
        seed = f"{self.settings.seed}/{number}"
        which = number % len(self.subjects)
        subject, copy = self.subjects[which], self.copies[which]
        damage = Damage(subject.anatomy, seed)
        way = damage.random.randrange(len(WAYS))
        for offset, data in damage.patches:
            os.pwrite(copy, data, offset)
        try:
            outcome = typed_checks.dump(self.settings.mixstack, f"/proc/{os.getpid()}/fd/{copy}",
                                        WAYS[way] + CUT, self.settings.is_sanitized, self.errors)
        finally:
            for offset, data in damage.patches:
                os.pwrite(copy, subject.anatomy.read(offset, len(data)), offset)
        whole = subject.whole[way]
        moved = typed_checks.stack_words(damage.ranges, whole) if whole else set()
        found = typed_checks.faults(outcome, whole, damage.structures | moved)
        return (number, subject.core.name, sorted(damage.structures), outcome.status, outcome.seconds, outcome.megabytes,
                hash(outcome.text) != subject.texts[way], found, damage.story if found else [])


_worker = None


def _start(subjects, settings, folder):
    global _worker  # pylint: disable=global-statement
    _worker = Worker(subjects, settings, folder)


def _run(number):
    return _worker.run(number)


class Totals:
    def __init__(self):
        self.count = self.changed = self.longest = self.largest = 0
        self.kinds = collections.Counter()
        self.statuses = collections.Counter()
        self.structures, self.telling = collections.Counter(), collections.Counter()
        self.slowest = None

    def add(self, result, log):
        number, core, structures, status, seconds, megabytes, is_changed, found, story = result
        self.count += 1
        self.statuses[status] += 1
        self.structures.update(structures)
        self.changed += is_changed
        self.telling.update(structures if is_changed else ())
        self.largest = max(self.largest, megabytes)
        if seconds > self.longest:
            self.longest, self.slowest = seconds, number
        for fault in found[:1]:
            kind = fault.split(":")[0].split(",")[0]
            self.kinds[kind] += 1
            if sum(self.kinds.values()) <= KEPT or kind in ("crash", "hang"):
                log.write(f"damage {number} of {core} ({', '.join(structures)}): {fault}\n")
                log.writelines(f"    {line}\n" for line in story)
                log.flush()

    def failed(self):
        return sum(self.kinds.values())


def scratch_folder():
    """Memory where there is enough of it: every damage is written to the copies."""
    memory = pathlib.Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30
    return tempfile.TemporaryDirectory(prefix="mixstack-typed-", dir=memory if roomy else None)


def run(cores, settings):
    """Damages `settings.count` times, from `settings.first` on; prints figures. True when nothing was wrong."""
    subjects = [Subject(core, settings.tool, settings.mixstack, settings.is_sanitized) for core in cores]
    for subject in subjects:
        print(subject.describe())
    totals, start = Totals(), time.monotonic()
    log_path = debuggee_build.BUILD / "fuzz" / f"typed-{settings.seed}-{settings.first}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder() as folder, open(log_path, "w", encoding="utf-8") as log:
        numbers = range(settings.first, settings.first + settings.count)
        with multiprocessing.Pool(settings.jobs, _start, (subjects, settings, folder)) as pool:
            for result in pool.imap_unordered(_run, numbers, chunksize=4):
                totals.add(result, log)
                if totals.count % 1000 == 0:
                    print(f"{totals.count} damaged, {totals.failed()} faults, {time.monotonic() - start:.0f} s", flush=True)
                if settings.most_seconds and time.monotonic() - start > settings.most_seconds:
                    break
            pool.terminate()
    shares = {name: f"{totals.telling[name]}/{count}" for name, count in sorted(totals.structures.items())}
    print(f"by structure, another report of all: {shares}")
    print(f"exit codes: {dict(sorted(totals.statuses.items()))}; {totals.changed} other reports")
    print(f"{totals.count} damaged cores in {time.monotonic() - start:.0f} s, longest {totals.longest:.2f} s of CPU "
          f"(damage {totals.slowest}), largest {totals.largest} MB; faults: {dict(totals.kinds) or 'none'}")
    if totals.failed():
        print(f"FAIL typed damages, seed {settings.seed}: {log_path}")
        print("".join(log_path.read_text(encoding="utf-8").splitlines(keepends=True)[:40]))
    return totals.failed() == 0 and totals.count > 0
