"""A core of another CPU: .NET 10 on ARM64, walked wherever this test runs; nothing of that machine is installed."""
import bisect
import json
import pathlib
import re
import shutil
import subprocess

from harness import LiveCase
import cores
import debuggee_build
import mixstack_dump
import stack_compare

DATA = debuggee_build.REPOSITORY / "tests" / "data" / "arm64_core"
# P/Invokes that the JIT compiled into their callers: no frame of theirs exists, the runtime prints its records of them.
INLINED_PINVOKES = re.compile(r"Program\.qsort|.*g____PInvoke\|2_0")
CPU_BOUND = "spin"  # moves on between the other walker's look and the core


def unpacked(name):
    return subprocess.run(["zstd", "-dcq", DATA / name], check=True, capture_output=True, text=True).stdout


def plain(name):
    """Namespace, types and method; no parameters, arities and instantiations."""
    return re.sub(r"`\d+|\[\[?[^\]]*\]\]?", "", name.partition("(")[0].replace("+", ".").replace("::", "."))


def printed_stacks():
    """(thread name, tid, method names) of each stack that the program printed, without the two frames that printed."""
    for block in (DATA / "app.out").read_text().split("ORACLE ")[1:]:
        name, tid = re.match(r"(\S+) tid=(\d+)", block).groups()
        yield name, int(tid), [plain(line[6:]) for line in block.splitlines() if line.startswith("   at ")][2:]


def frame_pointer_walk():
    """tid -> (comm, return addresses) as another walker found them."""
    stacks, current = {}, None
    for line in unpacked("walk.txt.zst").splitlines():
        if header := re.match(r'THREAD (\d+) "(.*?)"', line):
            current = stacks[int(header[1])] = (header[2], [])
        elif frame := re.match(r"\s+#\d+\s+[A-Z?] ([0-9a-f]{16}) ", line):
            current[1].append(int(frame[1], 16))
    return stacks


class Arm64Core(LiveCase):
    needs_dotnet = False

    @classmethod
    def setUpClass(cls):
        cls.dump = None
        if not shutil.which("zstd") or mixstack_dump.binary() is None:
            return
        with cores.folder() as folder:
            subprocess.run(["tar", "-I", "zstd --long=27", "-C", folder, "-xf", DATA / "mods.tar.zst"], check=True)
            files = ["--only-sysroot", "--sysroot", folder]
            cls.dump = mixstack_dump.dump_core(DATA / "core.zst", *files)
            cls.types = cls.memory("--types", *files)
            cls.held = {name: cls.memory("--holders", name, *files)
                        for name in ("System.Object", "Shape<string>", "System.InvalidOperationException")}
        cls.threads = {thread["tid"]: thread for thread in cls.dump["threads"]}

    @staticmethod
    def memory(*options):
        """The exit status and the heap of `mixstack memory CORE`."""
        status, out, _, _ = mixstack_dump.run("memory", DATA / "core.zst", "--json", *options)
        answer = json.loads(out)
        return status, (answer["heaps"] or answer["holders"])[0]

    def setUp(self):
        super().setUp()
        if self.dump is None:
            self.skipTest("no zstd on PATH")

    def managed(self, tid):
        return [plain(f["raw_name"]) for f in self.threads[tid]["frames"] if f["kind"] == "managed"]

    def test_every_thread_to_its_start(self):
        self.assertEqual(self.dump["process"]["arch"], "aarch64")
        self.assertEqual([r["version"] for r in self.dump["process"]["runtimes"]], ["10.0.9"])
        self.assertEqual(self.dump["diagnoses"], [])
        self.assertEqual(len(self.threads), 14)
        for thread in self.threads.values():
            self.assertEqual(stack_compare.reason(thread), stack_compare.COMPLETE, thread["tid"])
            self.assertEqual({f["trust"] for f in thread["frames"]}, {"certain"}, thread["tid"])

    def test_what_the_program_printed(self):
        stacks = list(printed_stacks())
        self.assertEqual(sorted(name for name, _, _ in stacks),
                         ["deep", "filter", "finally", "generic", "main", "monitor", "qsort", "spin"])
        for name, tid, printed in stacks:
            expected = [method for method in printed if not INLINED_PINVOKES.fullmatch(method)]
            self.assertLessEqual(len(printed) - len(expected), 2)
            ours, position = self.managed(tid), 0
            for method in expected:
                self.assertIn(method, ours[position:], f"{name}: {ours}")
                position = ours.index(method, position) + 1
            # Nothing of the program's own besides.
            own = [method for method in ours if method.startswith("Program.")]
            wanted = [method for method in expected if method.startswith("Program.")]
            if name == "finally":  # the second pass has left these behind; they still lie there, and are shown
                wanted[2:2] = ["Program.Thrower"] * 3 + ["Program.InFinally"]
            if name == "spin":
                self.assertIn(own, (wanted, ["Program.Churn", *wanted]))
            else:
                self.assertEqual(own, wanted, name)

    def test_the_runtimes_own_perf_map(self):
        entries = []
        for line in unpacked("perf.map.zst").splitlines():
            start, size, text = line.split(" ", 2)
            entries.append((int(start, 16), int(size, 16), text))
        entries.sort()
        starts, seen = [start for start, _, _ in entries], 0
        for thread in self.threads.values():
            for frame in thread["frames"]:
                if frame["kind"] != "managed":
                    continue
                ip = int(frame["ip"], 16)
                start, size, text = entries[bisect.bisect_right(starts, ip) - 1]
                self.assertLess(ip, start + size, text)
                self.assertEqual(int(frame["method_start"], 16), start, text)
                method = re.match(r"(?:.*?\] )(.*?)\(", text)[1]
                self.assertEqual(plain(frame["raw_name"]), plain(method))
                seen += 1
        self.assertGreater(seen, 80)

    def test_another_walkers_return_addresses(self):
        """Frame pointers lose what funclets hide, but each address on their chain is a frame of ours, in order."""
        compared = 0
        for tid, (name, addresses) in frame_pointer_walk().items():
            if tid not in self.threads or name == CPU_BOUND:
                continue
            ours, position = [int(f["ip"], 16) for f in self.threads[tid]["frames"]], 0
            for address in addresses:
                self.assertIn(address, ours[position:], f"thread {tid} {name}")
                position = ours.index(address, position) + 1
                compared += 1
        self.assertGreater(compared, 200)

    def test_types_are_what_the_program_has_made(self):
        status, heap = self.types
        self.assertEqual((status, heap["is_exact"], heap["stops"]), (0, True, 0), heap["why_not"])
        counts = {t["type"]: t["objects"] for t in heap["types"]}
        printed = {name for name, _, _ in printed_stacks()}
        made = len(printed) - 1  # all but the first thread; the finalizer's has an object, too
        # Two of them have thrown: one stands in a filter, one in a finally.
        expected = {"System.Threading.Thread": made + 2, "System.Threading.ThreadStart": made, "Program.Shape<string>": 1,
                    "System.InvalidOperationException": len(printed & {"filter", "finally"})}
        self.assertEqual({name: counts.get(name) for name in expected}, expected)
        self.assertEqual([t for t in heap["types"] if not t["is_free"] and not t["type"]], [])

    def test_who_holds_them(self):
        for name, (status, heap) in self.held.items():
            self.assertEqual((status, heap["is_exact"], heap["dangling"]), (0, True, 0), (name, heap["why_not"]))
        roots = {path["steps"][0]["name"] for path in self.held["System.Object"][1]["paths"]}
        self.assertTrue({"Program.Gate", "Program.Held"} <= roots, roots)
        [thrown] = self.held["System.InvalidOperationException"][1]["paths"]
        self.assertEqual((thrown["steps"][0]["root"], thrown["count"]), ("strong_handle", 2))
        # Only a variable of one thread has it.
        [path] = self.held["Shape<string>"][1]["paths"]
        place = path["steps"][-1]["place"]
        self.assertEqual((place["method"], place["variable"]), ("Program.Shapes(Program.IShape)", "s"))
        self.assertEqual(place["thread"], {name: tid for name, tid, _ in printed_stacks()}["generic"])

    def test_without_the_binaries(self):
        with cores.folder() as empty:
            dump = mixstack_dump.dump_core(DATA / "core.zst", "--only-sysroot", "--sysroot", empty)
        missing = {d["subject"]: d for d in dump["diagnoses"]}["/shared/tgt-jit"]
        self.assertEqual(missing["error"]["code"], "not_found")
        self.assertRegex(missing["text"], r"\b[0-9a-f]{40}\b.*--sysroot")
        self.assertEqual(len(dump["threads"]), 14)
        for thread in dump["threads"]:
            first = thread["frames"][0]
            if first["kind"] == "native" and first["module"]:
                self.assertEqual(first["name"], f"{first['module']}+{first['module_offset']}")
            self.assertNotEqual(stack_compare.reason(thread), stack_compare.COMPLETE)


if __name__ == "__main__":
    raise SystemExit(f"run {pathlib.Path(__file__).with_name('run.py')}")
