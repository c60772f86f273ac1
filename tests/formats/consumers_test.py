"""The files of `mixstack convert`, read by the programs they are for: Debian's pprof of Go, npm pprof-format, speedscope's
published schema, schemas of Chrome's and Firefox's formats, and a parser of folded stacks as flamegraph.pl has it. What
must come out is what tests/support/sample_recording.h put in. MIXSTACK, MAKE_RECORDING: programs; BUILD: a build folder."""
import collections
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from npm_packages import node_modules  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MIXSTACK, MAKE_RECORDING = os.environ["MIXSTACK"], os.environ["MAKE_RECORDING"]

MAIN, WORK, HELPER = "App.Main(string[])", "App.Work()", "App.Helper()"
STACKS = {("start", MAIN, WORK): 60, ("start", MAIN, WORK, HELPER): 30, ("start", MAIN, "memcpy"): 10,
          ("start", "futex;wait"): 50, ("start", MAIN, WORK, "sys_read"): 5,
          ("[cut: no_unwind_info]", "memcpy"): 50}
SECOND = 1_000_000_000


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        cls.recording = cls.root / "made.mxr"
        subprocess.run([MAKE_RECORDING, cls.recording], check=True, timeout=30)

    def convert(self, name, *options, source=None):
        out = self.root / name
        done = subprocess.run([MIXSTACK, "convert", source or self.recording, "-o", out, *options], capture_output=True,
                              text=True, timeout=30, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out

    def test_folded_as_flamegraph_reads_it(self):
        stacks = collections.Counter()
        for line in self.convert("a.folded", "--clock", "wall", "-i").read_text().splitlines():
            stack, count = re.fullmatch(r"(.*)\s+(\d+)", line).groups()
            stacks[tuple(stack.split(";"))] += int(count)
        self.assertEqual(stacks, {tuple(f.replace(";", ":") for f in s): n for s, n in STACKS.items()})

    def test_speedscope_by_its_schema(self):
        modules, why = node_modules()
        if not modules:
            self.skipTest(why)
        schema = json.loads((modules / "speedscope/dist/release/file-format-schema.json").read_text())
        for options in ((), ("-t",), ("--inverted",)):
            document = json.loads(self.convert("a.speedscope.json", "--clock", "wall", "-i", *options).read_text())
            jsonschema.validate(document, schema)
            sums = collections.Counter()
            for profile in document["profiles"]:
                self.assertEqual(profile["type"], "sampled")
                self.assertEqual(sum(profile["weights"]), profile["endValue"] - profile["startValue"])
                for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
                    names = [document["shared"]["frames"][i]["name"] for i in stack]
                    sums[tuple(reversed(names)) if "--inverted" in options else tuple(names)] += weight
            self.assertEqual(sums, {s: n * SECOND // 100 for s, n in STACKS.items()})

    def check_columns(self, table, where):
        for name, column in table.items():
            if isinstance(column, list):
                self.assertEqual(len(column), table["length"], f"{where}.{name}")

    def test_firefox(self):
        document = json.loads(gzip.decompress(self.convert("a.profile.json.gz", "--clock", "wall", "-i").read_bytes()))
        jsonschema.validate(document, json.loads((HERE / "firefox.schema.json").read_text()))
        sums = collections.Counter()
        for thread in document["threads"]:
            for name in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable"):
                self.check_columns(thread[name], name)
            samples, stacks, frames = thread["samples"], thread["stackTable"], thread["frameTable"]
            names = [thread["stringArray"][i] for i in thread["funcTable"]["name"]]
            for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
                way = []
                while stack is not None:
                    way.append(names[frames["func"][stacks["frame"][stack]]])
                    stack = stacks["prefix"][stack]
                sums[tuple(reversed(way))] += weight
        self.assertEqual(sums, STACKS)

    def test_chrome_trace(self):
        document = json.loads(self.convert("a.trace.json", "--clock", "wall", "-i").read_text())
        jsonschema.validate(document, json.loads((HERE / "chrome_trace.schema.json").read_text()))
        sums = collections.Counter()
        for sample in document["samples"]:
            way, at = [], sample["sf"]
            while at is not None:
                way.append(document["stackFrames"][at]["name"])
                at = document["stackFrames"][at].get("parent")
            sums[tuple(reversed(way))] += sample["weight"]
        self.assertEqual(sums, STACKS)
        spans = [(e["tid"], e["ts"], e["ts"] + e["dur"]) for e in document["traceEvents"] if e["ph"] == "X"]
        for tid, begin, end in spans:  # events of one thread lie in each other or apart
            for other, first, last in spans:
                if tid == other:
                    self.assertTrue(end <= first or last <= begin or (begin >= first and end <= last) or
                                    (first >= begin and last <= end))

    def test_pprof_by_an_independent_decoder(self):
        modules, why = node_modules()
        if not modules:
            self.skipTest(why)
        done = subprocess.run(["node", HERE / "read_pprof.mjs", modules, self.convert("a.pb.gz", "-i")],
                              capture_output=True, text=True, timeout=60, check=True)
        profile = json.loads(done.stdout)
        self.assertEqual(profile["types"], [["samples", "count"], ["cpu", "nanoseconds"], ["wall", "nanoseconds"]])
        self.assertEqual((profile["time"], profile["duration"]), ("1764000000000000000", 2 * SECOND))
        self.assertIn('a <note> with "marks"', profile["comments"])
        self.assertIn({"file": "/lib/libc.so.6", "buildId": "0123456789abcdef0123456789abcdef01234567"},
                      profile["mappings"])
        wall, cpu = collections.Counter(), 0
        for sample in profile["samples"]:
            cpu += sample["values"][1]
            if sample["values"][2]:
                wall[tuple(sample["stack"])] += sample["values"][2]
            if HELPER in sample["stack"]:  # Helper and Work are one place
                self.assertEqual(sample["places"], 3)
                self.assertEqual(sample["labels"], {"thread": "app", "state": "running", "kind": "managed",
                                                    "thread_id": 4711})
        self.assertEqual(cpu, 7 * SECOND // 1000)
        self.assertEqual(wall, {s: n * SECOND // 100 for s, n in STACKS.items()})

    def test_pprof_by_go(self):
        if not shutil.which("go"):
            self.skipTest("no go")
        profile = self.convert("b.pb.gz", "--clock", "wall", "-i")
        environment = {**os.environ, "HOME": str(self.root), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}

        def pprof(*options):
            done = subprocess.run(["go", "tool", "pprof", *options, profile], capture_output=True, text=True, timeout=60,
                                  env=environment, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        top = pprof("-top", "-nodecount=0", "-nodefraction=0", "-sample_index=samples")
        rows = {m[2]: int(m[1]) for m in re.finditer(r"(?m)^ +(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+%  (.+?)(?: \(inline\))?$", top)}
        self.assertEqual({n: c for n, c in rows.items() if c},
                         {WORK: 60, HELPER: 30, "memcpy": 60, "futex;wait": 50, "sys_read": 5}, top)
        raw = pprof("-raw")
        self.assertIn("samples/count wall/nanoseconds", raw)
        self.assertRegex(raw, r"/lib/libc\.so\.6 0123456789abcdef0123456789abcdef01234567 \[FN\]")
        self.assertIn("0x600 M=", raw)

    def test_what_was_folded_is_counted_by_go(self):
        if not shutil.which("go"):
            self.skipTest("no go")
        folded = self.root / "few.folded"
        folded.write_text("main;a 3\nmain;b 7\n")
        done = subprocess.run(["go", "tool", "pprof", "-top", self.convert("few.pb.gz", source=folded)], capture_output=True,
                              text=True, timeout=60, env={**os.environ, "HOME": str(self.root)}, stdin=subprocess.DEVNULL)
        self.assertIn("accounting for 10, 100% of 10 total", done.stdout, done.stderr)

    def test_what_was_folded_can_be_shown(self):
        folded = self.root / "others.folded"
        folded.write_text("main;a 3\nmain;b;c_[k] 7\n")
        text = self.convert("others.txt", source=folded).read_text()
        self.assertIn("  70.0%   70.0%  kernel   c\n", text)

    def test_a_difference(self):
        for name, text in (("before", "main;a 60\nmain;b 40\n"), ("after", "main;a 20\nmain;b 80\n")):
            (self.root / f"{name}.folded").write_text(text)
        done = subprocess.run([MIXSTACK, "diff", self.root / "before.folded", self.root / "after.folded"],
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("   60.0%    20.0%    -40.0  a\n", done.stdout)

    def test_what_is_wrong_is_said(self):
        bad = self.root / "bad.mxr"
        whole = self.recording.read_bytes()
        for content, code, words in ((b"\x7fELF\0", 6, "is no recording"), (whole[:30], 6, "cut right at its begin"),
                                     (whole[:-20], 7, "the file is cut"), (b"", 6, "no recording")):
            bad.write_bytes(content)
            done = subprocess.run([MIXSTACK, "convert", bad], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
        done = subprocess.run([MIXSTACK, "convert", self.root / "none"], capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, "No such file" in done.stderr), (3, True))


if __name__ == "__main__":
    unittest.main()
