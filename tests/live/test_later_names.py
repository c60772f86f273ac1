"""A raw recording of a stripped program, named later and elsewhere: what recording the whole program says, and nothing by
files of another build."""
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import mixstack_dump
import processes
from harness import LiveCase

SOURCE = r"""
#include <unistd.h>
#include <cstdio>
#include <thread>
namespace shop {
struct Cart {
  int n = 0;
  [[gnu::always_inline]] inline int wait(int k) {
    n += k;
    return pause() + n;
  }
};
[[gnu::always_inline]] static inline int outer(Cart& c, int k) {
  c.n++;
  return c.wait(k) + 1;
}
[[gnu::noinline]] static int run(int k) {
  Cart c;
  const int r = outer(c, k);
  return r + c.n;
}
[[gnu::noinline]] static long burn(volatile long* sink) {
  for (;;) *sink = *sink * 3 + 1;
  return *sink;
}
}  // namespace shop
int main(int argc, char**) {
  long sink = 1;
  std::thread busy([&sink] { shop::burn(&sink); });
  puts("READY 0");
  fflush(stdout);
  return shop::run(argc) + 1;
}
"""


def run(*command, status=0):
    """(standard output, standard error)"""
    done = subprocess.run([mixstack_dump.binary(), *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, env={**os.environ, "XDG_CACHE_HOME": "/nonexistent"})
    if done.returncode != status:
        raise AssertionError(f"{command}: {done.returncode} instead of {status}: {done.stderr}")
    return done.stdout, done.stderr


class LaterNames(LiveCase):
    needs_dotnet = False

    @classmethod
    def setUpClass(cls):
        """The program as it was built and recorded; and stripped, recorded, and gone, its debug file in a folder."""
        if mixstack_dump.binary() is None or not shutil.which("objcopy"):
            raise unittest.SkipTest("no mixstack binary, or no binutils")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        source = cls.folder / "shop.cpp"
        source.write_text(SOURCE)
        whole, ran = cls.folder / "whole", cls.folder / "ran"
        for place in (whole, ran):
            place.mkdir()
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-pthread", "-Wl,--build-id=sha1", "-o", whole / "shop", source], check=True)
        subprocess.run(["g++", "-std=c++17", "-O1", "-g", "-pthread", "-Wl,--build-id=sha1", "-o", cls.folder / "other", source], check=True)
        cls.build = cls.build_id(whole / "shop")
        debug = cls.folder / "shop.debug"
        subprocess.run(["objcopy", "--only-keep-debug", whole / "shop", debug], check=True)
        subprocess.run(["strip", "-o", ran / "shop", whole / "shop"], check=True)
        cls.symbols = cls.folder / "symbols"
        cls.at = cls.symbols / ".build-id" / cls.build[:2] / (cls.build[2:] + ".debug")
        cls.at.parent.mkdir(parents=True)
        shutil.move(debug, cls.at)
        cls.whole, cls.stripped = cls.record(whole / "shop"), cls.record(ran / "shop")
        shutil.rmtree(ran)

    @staticmethod
    def build_id(path):
        notes = subprocess.run(["readelf", "-n", path], check=True, stdout=subprocess.PIPE, text=True).stdout
        return notes.split("Build ID: ")[1].split()[0]

    @classmethod
    def record(cls, program):
        out = cls.folder / (program.parent.name + ".mxr")
        with processes.Debuggee([program]) as debuggee:
            run("record", "-p", debuggee.pid, "-d", "1", "-r", "100", "-o", out)
        return out

    def stacks(self, recording, *options, status=0):
        """Names, files and lines of all stacks, outermost first; and what was said."""
        out = self.folder / "x.profile.json.gz"
        _, said = run("convert", recording, "-i", "-o", out, *options, status=status)
        found = set()
        for thread in json.loads(gzip.decompress(out.read_bytes()))["threads"]:
            strings, functions, frames, table = (thread[name] for name in ("stringArray", "funcTable", "frameTable", "stackTable"))

            def frame(index):
                function = frames["func"][index]
                file = functions["fileName"][function]
                return (strings[functions["name"][function]], "" if file is None else pathlib.PurePath(strings[file]).name,
                        frames["line"][index] or 0)

            for stack in set(thread["samples"]["stack"]):
                names = []
                while stack is not None:
                    names.insert(0, frame(table["frame"][stack]))
                    stack = table["prefix"][stack]
                found.add(tuple(names))
        return found, said

    def of_shop(self, stacks):
        """Of each stack the part that is the program's own."""
        return {tuple(f for f in stack if f[1] == "shop.cpp") for stack in stacks}

    def test_names_lines_and_inlined_functions_are_those_of_the_whole_program(self):
        expected, _ = self.stacks(self.whole)
        lines = [1 + SOURCE[:SOURCE.index(text)].count("\n") for text in ("return shop::run", "outer(c, k);", "return c.wait",
                                                                          "return pause")]
        waits = next(stack for stack in self.of_shop(expected) if any("run" in f[0] for f in stack))
        self.assertEqual([f[2] for f in waits], lines)
        self.assertEqual([f[0] for f in waits[:2]], ["main", "shop::run(int)"])
        before, _ = self.stacks(self.stripped)
        self.assertEqual(self.of_shop(before), {()})
        self.assertTrue(any("[shop]" in f[0] for stack in before for f in stack))
        found, said = self.stacks(self.stripped, "--symbol-path", self.symbols)
        self.assertNotIn("shop:", said)
        self.assertIn(waits, self.of_shop(found))
        # Where the other thread is in its loop differs from sample to sample.
        names = [{tuple(f[0] for f in stack) for stack in stacks} for stacks in (expected, found)]
        self.assertEqual(names[0], names[1])
        self.assertTrue(any(name.startswith("shop::burn(") for stack in names[1] for name in stack), names[1])
        self.assertFalse(any("[shop]" in name for stack in names[1] for name in stack))

    def test_a_recording_without_names_gets_all_of_them_later(self):
        out = self.folder / "no_names.mxr"
        with processes.Debuggee([self.folder / "whole" / "shop"]) as debuggee:
            run("record", "-p", debuggee.pid, "-d", "1", "-r", "100", "--no-names", "-o", out)
            text, _ = run("record", "-p", debuggee.pid, "-d", "1", "--no-names", "-i", "-f", "folded", "-o", "-")
        names = {name for line in text.splitlines() for name in line.rsplit(" ", 1)[0].split(";")}
        self.assertTrue(names and all(name.startswith("[") for name in names), names)
        expected, _ = self.stacks(self.whole)
        found, _ = self.stacks(out)
        names = [{tuple(f[0] for f in stack) for stack in stacks} for stacks in (expected, found)]
        self.assertEqual(names[0], names[1])
        self.assertIn(next(stack for stack in self.of_shop(expected) if any("run" in f[0] for f in stack)), self.of_shop(found))

    def test_names_are_kept_in_a_raw_recording(self):
        named = self.folder / "named.mxr"
        run("convert", self.stripped, "--symbol-path", self.symbols, "-o", named)
        self.assertEqual(self.stacks(named)[0], self.stacks(self.stripped, "--symbol-path", self.symbols)[0])

    def test_the_environment_names_folders_too(self):
        done = subprocess.run([mixstack_dump.binary(), "convert", self.stripped, "-f", "folded", "-i", "-o", "-"], check=True,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "MIXSTACK_SYMBOL_PATH": str(self.symbols)})
        self.assertIn("shop::run(int)", done.stdout)

    def test_a_file_of_another_build_is_refused(self):
        other = self.folder / "wrong"
        at = other / ".build-id" / self.build[:2] / (self.build[2:] + ".debug")
        at.parent.mkdir(parents=True)
        shutil.copy(self.folder / "other", at)
        found, said = self.stacks(self.stripped, "--symbol-path", other, status=7)
        self.assertEqual(self.of_shop(found), {()})
        self.assertRegex(said, rf"{re.escape(str(at))}: .*\b{self.build_id(self.folder / 'other')}\b")
        self.assertIn("symbols_failed", mixstack_dump.codes(said))
        self.assertIn("shop: ", said)

    def test_a_program_of_another_build_at_the_same_path_is_refused(self):
        place = self.folder / "ran"
        place.mkdir()
        self.addCleanup(shutil.rmtree, place)
        shutil.copy(self.folder / "other", place / "shop")
        found, said = self.stacks(self.stripped, "--symbol-path", self.folder)
        self.assertEqual(self.of_shop(found), {()})
        self.assertRegex(said, rf"{re.escape(str(place / 'shop'))} .*\b{self.build_id(self.folder / 'other')}\b")

    def test_the_program_at_its_path_needs_no_symbol_path(self):
        place = self.folder / "ran"
        place.mkdir()
        self.addCleanup(shutil.rmtree, place)
        shutil.copy(self.folder / "whole" / "shop", place / "shop")
        found, said = self.stacks(self.stripped)
        self.assertTrue(any("shop::run(int)" in f[0] for stack in found for f in stack), said)

    def test_damaged_debug_files_cost_their_names_alone(self):
        whole = self.at.read_bytes()
        folder = self.folder / "damaged"
        at = folder / ".build-id" / self.build[:2] / (self.build[2:] + ".debug")
        at.parent.mkdir(parents=True)
        for damage in (whole[:len(whole) // 2], whole[:200], b"", whole[:4096] + bytes(len(whole) - 4096),
                       whole[:len(whole) - 3000] + b"\xff" * 3000):
            at.write_bytes(damage)
            out = subprocess.run([mixstack_dump.binary(), "convert", self.stripped, "-f", "folded", "-i", "-o", "-", "--symbol-path",
                                  folder], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertIn(out.returncode, (0, 7), out.stderr)
            self.assertIn("pause", out.stdout)

    def test_status_and_fetch(self):
        document = json.loads(run("symbols", "status", self.stripped, "--json")[0])
        self.assertEqual((document["recording"], document["core"]), (str(self.stripped), None))
        shop = next(m for m in document["modules"] if m["module"] == "shop")
        self.assertTrue(shop["missing"])
        self.assertEqual(shop["id"], self.build)
        self.assertGreater(shop["nameless_frames"], 0)
        text, _ = run("symbols", "status", self.stripped, "--symbol-path", self.symbols)
        self.assertIn(f"N shop  ({shop['frames']} frames)\n    symbols  {self.at}\n", text)
        with self.server() as url, tempfile.TemporaryDirectory() as cache:
            done = subprocess.run([mixstack_dump.binary(), "symbols", "fetch", self.stripped, "--symbol-path", url],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                                  env={**os.environ, "XDG_CACHE_HOME": cache})
            if "mixstack-fetch" in done.stdout + done.stderr and "Fetched" not in done.stdout:
                self.skipTest("mixstack was built without mixstack-fetch")
            self.assertIn("Fetched 1 file", done.stdout, done.stderr)
            kept = pathlib.Path(cache) / "mixstack" / "symbols" / f"{self.build}.debug"
            self.assertEqual(kept.read_bytes(), self.at.read_bytes())
            done = subprocess.run([mixstack_dump.binary(), "convert", self.stripped, "-f", "folded", "-i", "-o", "-"],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "XDG_CACHE_HOME": cache})
            self.assertIn("shop::run(int)", done.stdout, done.stderr)

    def server(self):
        """A debuginfod server that has the one file."""
        wanted, content = f"/buildid/{self.build}/debuginfo", self.at.read_bytes()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == wanted else 404)
                self.end_headers()
                if self.path == wanted:
                    self.wfile.write(content)

            def log_message(self, *_):
                pass

        class Server:
            def __enter__(self):
                self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
                threading.Thread(target=self.server.serve_forever, daemon=True).start()
                return f"http://127.0.0.1:{self.server.server_port}"

            def __exit__(self, *_):
                self.server.shutdown()
                self.server.server_close()

        return Server()

    def test_what_cannot_be(self):
        for words, status, text in ((("symbols", "status", "/nowhere/x.mxr"), 3, "/nowhere/x.mxr"),
                                    (("symbols", "status", self.stripped, "--core", "x"), 2, "one of them"),
                                    (("symbols", "status", "nothing"), 2, "not a pid")):
            self.assertIn(text, run(*words, status=status)[1])
        _, said = run("convert", self.stripped, "-f", "folded", "-o", "-", "--symbol-path", "/nowhere")
        [told] = [m["text"] for m in mixstack_dump.messages(said) if m["code"] == "no_symbol_folder"]
        self.assertIn("/nowhere: ", told)


if __name__ == "__main__":
    unittest.main()
