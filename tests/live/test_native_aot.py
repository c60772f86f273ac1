"""A program compiled ahead of time, without its symbol file: methods are named by the metadata in the binary. The truth:
what is written by hand, and the linker's symbols in the file that was left behind. Its threads: what gdb finds, by the
program's debug information, in each thread's own storage, where the runtime notes that it has attached the thread."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import cores
import dump_schema
import hostings
import jsonschema
import mixstack_dump
import processes
import stack_compare
from harness import LiveCase

NEST = ["System.Threading.Thread.Sleep(int)",
        "Hosted.Holder<T>.Hold(T, T[])",  # which T, the metadata does not keep
        "Hosted.Square.Draw(int[])",
        "Hosted.Nest.Middle<T>(T)",
        "Hosted.Nest.Outer(string, int)",
        "Hosted.Program.Main.lambda()"]


def linker_symbols(program):
    """{start: symbol} of the code in the separate symbol file."""
    listed = subprocess.run(["nm", "--defined-only", f"{program}.dbg"], capture_output=True, text=True, check=True)
    rows = (line.split(" ", 2) for line in listed.stdout.splitlines())
    return {int(address, 16): name for address, kind, name in rows if kind in "tTwW"}


def attached_threads(pid):
    """The ids of threads that the runtime has attached, as gdb reads them one by one."""
    answer = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-ex",
                             "thread apply all -q printf \"[%lu %u]\\n\", "
                             "tls_CurrentThread.m_threadId, tls_CurrentThread.m_ThreadStateFlags"],
                            capture_output=True, text=True, timeout=120, check=True).stdout
    told = [(int(tid), int(state)) for tid, state in re.findall(r"\[(\d+) (\d+)\]", answer)]
    return len(told), {tid for tid, state in told if state & 1}  # TSF_Attached


class NativeAot(LiveCase):
    timeout = 600

    def setUp(self):
        super().setUp()
        try:
            self.program = hostings.build("native-aot") / "Hosted"
        except RuntimeError as error:
            self.skipTest(f"cannot be built here: {str(error)[-300:]}")

    def dump(self, *options):
        """Of the program alone, in a folder without the symbol file."""
        with tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(folder) / "Hosted"
            shutil.copy(self.program, alone)
            with processes.Debuggee([alone]) as debuggee:
                return mixstack_dump.dump(debuggee.pid, *options)

    def test_names(self):
        dump = self.dump()
        self.assertEqual([(r["kind"], r["walkable"]) for r in dump["process"]["runtimes"]], [("NativeAOT", True)])
        self.assertEqual(dump["diagnoses"], [])
        threads = {t["name"]: t for t in dump["threads"]}
        names = [f["name"] for f in threads["nest"]["frames"]]
        start = names.index(NEST[0])
        self.assertEqual(names[start:start + len(NEST)], NEST)
        self.assertEqual(threads["spin"]["frames"][0]["name"], "Hosted.Program.Spin()")
        for name in ("nest", "spin"):
            self.assertEqual(stack_compare.reason(threads[name]), stack_compare.COMPLETE)

    def test_names_are_the_linkers_methods(self):
        """Every name starts at a symbol, and the symbol is made of the same words."""
        symbols, compared = linker_symbols(self.program), 0
        for thread in self.dump()["threads"]:
            for frame in thread["frames"]:
                if frame["module"] != "Hosted" or not frame["named"] or "(" not in frame["name"]:
                    continue
                start = int(frame["module_offset"], 16) - frame["symbol_offset"]
                words = re.findall(r"\w+", re.sub(r"`\d+|\[.*?\]|<[\w, ]+>$", "", frame["raw_name"].split("(")[0]))
                symbol = symbols[start]
                for word in words[-2:]:
                    self.assertIn(word.strip("_"), symbol, frame["raw_name"])
                compared += 1
        self.assertGreater(compared, 12)

    def test_threads(self):
        """Those that the runtime knows, and no other: a thread of the process it has not attached is native."""
        with tempfile.TemporaryDirectory() as folder, processes.Debuggee([self.program]) as debuggee:
            dump = mixstack_dump.dump(debuggee.pid)
            text = mixstack_dump.run("dump", debuggee.pid, "--stop-timeout", 5000)[1]
            asked, attached = attached_threads(debuggee.pid)
            whole = cores.gcore(debuggee.pid, pathlib.Path(folder) / "core")
            packed = pathlib.Path(folder) / "pack"
            core = mixstack_dump.dump_core(whole)
            self.assertEqual(mixstack_dump.run("pack", whole, "-o", packed)[0], 0)
            pack = mixstack_dump.dump_core(packed, "--only-sysroot")
        self.assertLess(len(attached), asked)
        self.assertEqual({t["name"] for t in dump["threads"] if t["tid"] in attached},
                         {"Hosted", "nest", "spin", ".NET Finalizer"})
        for seen in (dump, core, pack):
            self.assertEqual(seen["diagnoses"], [])
            jsonschema.validate(seen, dump_schema.strict())
            managed = {t["tid"]: t["managed"] for t in seen["threads"] if t["managed"] is not None}
            self.assertEqual(set(managed), attached)
            self.assertEqual(len(seen["threads"]), asked)
            for told in managed.values():
                self.assertEqual([told[k] for k in ("id", "name", "gc_mode", "state")], [None] * 4)
        self.assertRegex(text, r"Thread \d+ nest, managed, ")
        self.assertNotRegex(text, r"managed \d")
        self.assertRegex(text, r"Code of the program, innermost:\n +1 thread +Hosted\.Holder<T>\.Hold\(")
