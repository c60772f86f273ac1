"""The runtime's own DAC as the provider: names and frames equal ClrMD's on .NET 8, 9 and 10; a DAC that is missing, of
another runtime, crashes, hangs or lies is told, and the native walk goes on."""
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import cores
import debuggee_build
import harness
import mixstack_dump
import processes
import stack_compare
from harness import LiveCase, alone
from method_names import canonical

VERSION_MARK = re.compile(rb"@\(#\)Version [0-9.]+ @Commit: [0-9a-f]+\0")


def tool(name):
    """A program that is built beside mixstack."""
    path = mixstack_dump.binary().parent / name
    return path if path.exists() else None


def probe(pid, *arguments, timeout=60):
    done = subprocess.run([tool("dac_probe"), str(pid), *map(str, arguments)], capture_output=True, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"dac_probe ended with {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def orphans():
    """Helpers of this worker's tests whose parent is no program of ours (any more)."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if not processes.is_ours(int(folder.name)) or (folder / "comm").read_text().strip() != "mixstack-helper":
                continue
            parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            if pathlib.Path(f"/proc/{parent}/comm").read_text().strip() not in ("mixstack", "dac_probe"):
                found.append(folder.name)
    return found

# What is there and cannot be: of a description of a runtime.
DAMAGED = ("malformed", "mismatch", "truncated", "limit_exceeded")


class DacCase(LiveCase):
    timeout = 300

    def setUp(self):
        super().setUp()
        for name in ("mixstack-helper", "dac_probe"):
            if tool(name) is None:
                self.skipTest(f"{name} is not built beside mixstack")

    @contextlib.contextmanager
    def stopped(self, version, scenario):
        """A stopped process of the scenario on .NET 8, 9 or 10."""
        try:
            program = debuggee_build.scenarios_on(version)
        except RuntimeError as error:
            self.skipTest(f"no .NET {version} runtime pack: {str(error)[-200:]}")
        with processes.Debuggee([program, scenario]) as debuggee:
            debuggee.stop()
            yield debuggee

    def assert_no_helper(self):
        deadline = time.monotonic() + 2
        while orphans() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(orphans(), [], "a helper outlived its parent")


class EqualToClrMd(DacCase):
    """Same DAC, two hosts: ClrMD's and ours."""

    def compare_own_walk(self, version, scenario):
        with self.stopped(version, scenario) as debuggee:
            ours = probe(debuggee.pid)
            self.assertEqual(ours["diagnoses"], [])
            theirs = harness._oracle.look(debuggee.pid)
            mine = {t["osId"]: t for t in ours["threads"]}
            compared = 0
            for thread in theirs["threads"]:
                if not thread["isAlive"] or thread["osId"] == 0:
                    continue
                expected = [(f["kind"], int(f["ip"], 16), int(f["sp"], 16), canonical(f["method"] or ""))
                            for f in thread["frames"] if f["kind"] == "managed"]
                seen = [(f["kind"], int(f["ip"], 16), int(f["sp"], 16), canonical(f["method"]))
                        for f in mine[thread["osId"]]["frames"] if f["kind"] == "managed"]
                if not seen and expected and not thread["frames"][0]["frameName"]:
                    continue  # ClrMD repeats the previous thread's frame on a thread without one
                self.assertEqual(seen, expected, f"thread {thread['osId']}")
                compared += len(expected)
            self.assertGreater(compared, 5)
        self.assert_no_helper()

    def test_own_walk_8(self):
        self.compare_own_walk(8, "exception_through_native")
        self.compare_own_walk(8, "generics")

    def test_own_walk_9(self):
        self.compare_own_walk(9, "exception_through_native")
        self.compare_own_walk(9, "generics")

    def test_own_walk_10(self):
        self.compare_own_walk(10, "exception_through_native")
        self.compare_own_walk(10, "generics")

    def compare_mixed(self, version, scenario):
        """`mixstack dump --provider dac` against ClrMD and gdb by all the rules of the other live tests."""
        with self.stopped(version, scenario) as debuggee:
            for _ in range(3):  # the DAC has ten seconds, which on a machine with much else to do is one of its own
                dump = mixstack_dump.dump(debuggee.pid, "--provider", "dac", "--registers")
                if not any(d["subject"].endswith("libmscordaccore.so") for d in dump["diagnoses"]):
                    break
            [runtime] = dump["process"]["runtimes"]
            self.assertTrue(runtime["walkable"], runtime["missing"])
            self.assertEqual(runtime["provider"], "dac")
            oracle = harness._oracle.look(debuggee.pid)
            gdb = harness.witnesses.gdb_stacks(debuggee.pid)
            mappings = harness.processes.mappings(debuggee.pid)
            faults = [d for d in stack_compare.compare_process(dump, oracle, gdb, mappings) if not d.known]
            # .NET 8 and 9 do not say where a suspension keeps the true return address: a stack that is cut says why, and
            # frame pointers lead past it, to callers that ClrMD does not list.
            hijacked = {d["subject"] for d in dump["diagnoses"] if "has replaced a return address" in d["text"]}
            wrong = [f for f in faults if f.rule not in ("end", "missing", "extra") or f"thread {f.tid}" not in hijacked]
            self.assertEqual([str(f) for f in wrong], [], dump["diagnoses"])
            registers = 0
            for thread in oracle["threads"]:
                ours = next((t for t in dump["threads"] if t["tid"] == thread["osId"]), None)
                if ours and thread["isAlive"]:
                    differences, compared = stack_compare.compare_registers(thread["osId"], thread["frames"],
                                                                            ours["frames"])
                    self.assertEqual([str(d) for d in differences], [])
                    registers += compared
            self.assertGreater(registers, 10)
        self.assert_no_helper()

    def test_mixed_8(self):
        for scenario in ("funclets", "reverse_pinvoke", "hardware_exceptions", "gc_wait", "marshalling", "spin"):
            with self.subTest(scenario):
                self.compare_mixed(8, scenario)

    def test_mixed_9(self):
        for scenario in ("funclets", "reverse_pinvoke", "hardware_exceptions", "gc_wait", "marshalling", "spin"):
            with self.subTest(scenario):
                self.compare_mixed(9, scenario)

    def test_mixed_10(self):
        for scenario in ("funclets", "reverse_pinvoke", "hardware_exceptions", "signal_handler", "tiers", "osr"):
            with self.subTest(scenario):
                self.compare_mixed(10, scenario)

    def compare_frames(self, version):
        """Every explicit Frame under its own type, as ClrMD names it: several types on threads with one method each."""
        compared, kinds = 0, set()
        for scenario in ("exception_through_native", "hardware_exceptions", "funclets", "reverse_pinvoke", "marshalling"):
            with self.stopped(version, scenario) as debuggee:
                dump = mixstack_dump.dump(debuggee.pid, "--provider", "dac", "--frames")
                oracle = harness._oracle.look(debuggee.pid)
                ours = {t["tid"]: t for t in dump["threads"]}
                names = {int(f["frame_address"], 16): f["name"] for t in dump["threads"] for f in t["frames"]
                         if f.get("code_kind") == "runtime_frame"}
                for thread in oracle["threads"]:
                    if not thread["isAlive"] or thread["osId"] not in ours:
                        continue
                    for frame in thread["frames"]:
                        if frame["kind"] != "runtime" or not frame["frameName"]:
                            continue
                        place = int(frame["sp"], 16)
                        if place not in names:
                            continue  # which are shown is for the other tests
                        self.assertTrue(names[place].startswith(f"[{frame['frameName']}]"),
                                        f"{scenario} {place:#x}: {names[place]}, ClrMD says {frame['frameName']}")
                        compared += 1
                        kinds.add(frame["frameName"])
        self.assertGreater(compared, 10)
        self.assertGreater(len(kinds), 3, kinds)

    def test_frames_8(self):
        self.compare_frames(8)

    def test_frames_9(self):
        self.compare_frames(9)

    def test_frames_10(self):
        self.compare_frames(10)

    def test_name_of_an_address(self):
        """The article's question, GetRuntimeNameByAddress."""
        with self.stopped(8, "sleep") as debuggee:
            frames = [f for t in probe(debuggee.pid)["threads"] for f in t["frames"] if f["kind"] == "managed"]
            place = next(f for f in frames if "Thread.Sleep" in f["method"])
            names = probe(debuggee.pid, "--name", place["ip"], "--name", "0x10")["names"]
            self.assertEqual(names[place["ip"]], "System.Threading.Thread.Sleep(Int32)")
            self.assertEqual(names["0x10"], "")


class Cores(DacCase):
    """The runtime's own createdump, three sizes: the same frames and names as of the process."""

    @staticmethod
    def stuck_in_a_stub(dump):
        """Threads that were stopped in one and end there. Small cores have what the DAC touched when it walked each thread,
        and it walks none from there: of the caller the core knows nothing."""
        return {t["tid"] for t in dump["threads"] if len(t["frames"]) == 1 and t["frames"][0]["kind"] == "runtime_stub"
                and t["stop_reason"] == "no_unwind_info"}

    @staticmethod
    def at_the_first_method(dump):
        """Threads that end where .NET 11 enters managed code: the DAC's walk ends there, and leaves what leads on untouched."""
        return {t["tid"] for t in dump["threads"] if ".Environment.CallEntryPoint(" in t["frames"][-1]["name"]
                and t["stop_reason"] == "no_unwind_info"}

    def compare(self, version):
        with self.stopped(version, "funclets") as debuggee, cores.folder() as folder:
            oracle = harness._oracle.look(debuggee.pid)
            gdb = harness.witnesses.gdb_stacks(debuggee.pid)
            for kind in ("u", "h", "n"):
                core = cores.createdump(debuggee.pid, folder / "core", kind)
                dump = mixstack_dump.dump_core(core, "--provider", "dac")
                [runtime] = dump["process"]["runtimes"]
                self.assertEqual((runtime["walkable"], runtime["provider"]), (True, "dac"), runtime["missing"])
                mappings = harness.processes.mappings(debuggee.pid)
                faults = [d for d in stack_compare.compare_process(dump, oracle, gdb, mappings) if not d.known]
                unknown = self.stuck_in_a_stub(dump) if kind == "n" else set()
                if kind != "u" and debuggee_build.RUNTIME:  # .NET 10 has no such method
                    unknown |= self.at_the_first_method(dump)
                self.assertEqual([str(f) for f in faults if f.rule != "end" or f.tid not in unknown], [], kind)
                core.unlink()
        self.assert_no_helper()

    def test_core_8(self):
        self.compare(8)

    def test_core_9(self):
        self.compare(9)

    def test_core_10(self):
        self.compare(10)


class DamagedDescriptor(DacCase):
    """Of .NET 10 only a core can have one. It is said; the DAC helps out, but not for longer than it may."""

    MAGIC = b"DNCCDAC\0"  # docs/design/datacontracts/contract-descriptor.md in dotnet/runtime

    @contextlib.contextmanager
    def damaged(self, edit):
        """A full core whose descriptor two bytes were changed in; `edit` gives their places behind its start."""
        with self.stopped(10, "sleep") as debuggee, cores.folder() as folder:
            core = cores.createdump(debuggee.pid, folder / "core", "u")
            self.damage(core, edit)
            yield core

    def damage(self, core, edit):
        content = core.read_bytes()
        at = content.find(self.MAGIC)
        self.assertGreater(at, 0)
        with core.open("r+b") as file:
            for place in edit:
                file.seek(at + place)
                file.write(bytes([content[at + place] ^ 0x55]))

    def test_it_is_said(self):
        for edit in ((0, 1), (12, 15)):  # the magic, the size of the JSON
            with self.damaged(edit) as core:
                dump = mixstack_dump.dump_core(core)
                [runtime] = dump["process"]["runtimes"]
                self.assertEqual((runtime["walkable"], runtime["provider"]), (True, "dac"))
                damage = runtime["missing"][0]
                self.assertIn(damage["error"]["code"], DAMAGED, damage)
                # It is told, too, where the DAC helped out.
                self.assertTrue(any(d["error"] == damage["error"] and d["subject"].startswith(runtime["module_path"])
                                    for d in dump["diagnoses"]), dump["diagnoses"])

    def test_precompiled_code_is_unwound_by_its_own_image(self):
        """No runtime tells of it, no DAC is asked: the image's function table leads on, and nothing is made up."""
        def frames(dump):
            return {(t["tid"], f["sp"], f["ip"]): f for t in dump["threads"] for f in t["frames"]}
        with self.damaged(()) as core:
            whole = mixstack_dump.dump_core(core, "--provider", "cdac")
            self.damage(core, (0, 1))
            bare = mixstack_dump.dump_core(core, "--provider", "cdac")
        self.assertFalse(bare["process"]["runtimes"][0]["walkable"])
        precompiled = {key: f["module"] + ".dll" for key, f in frames(whole).items()
                       if f["kind"] == "managed" and (f["module"] or "").startswith("System.")}
        self.assertGreater(len(precompiled), 1, "those of a thread that sleeps")  # the first one may be anywhere yet
        seen = {key: f for key, f in frames(bare).items() if (f["module"] or "").endswith(".dll")}
        self.assertEqual({key: f["module"] for key, f in seen.items() if f["kind"] == "native" and key in precompiled},
                         precompiled)
        self.assertEqual([f for key, f in seen.items() if f["trust"] == "certain" and key not in frames(whole)], [])

    @alone("the time that a dump takes")
    def test_the_budget_holds(self):
        """A DAC that asks for memory without end, in the place of the one that helps out."""
        hostile = mixstack_dump.binary().parent.parent / "fake_dac" / "libhostile_dac.so"
        if not hostile.exists():
            self.skipTest("the hostile DAC is not built beside mixstack")
        with self.damaged((0, 1)) as core, tempfile.TemporaryDirectory() as folder:
            process = mixstack_dump.dump_core(core)
            runtime = pathlib.Path(process["process"]["runtimes"][0]["module_path"])
            thread = process["threads"][0]["tid"]
            # More frames than were asked for are nonsense at once; whether a second walk is asked for, and uses up what
            # is left, depends on the threads that the runtime has started by then.
            ends = {"questions": ("it may use for a dump",), "threads": ("it may use for a dump",),
                    "frames": ("it may use for a dump", "talks nonsense and was ended"), "slow": ()}
            for way, words in ends.items():
                dac = pathlib.Path(folder) / "libmscordaccore.so"
                plain = hostile.read_bytes().replace(b"@(#)Version \0", b"@(#)version \0")  # a word of ours, linked in
                dac.write_bytes(plain + VERSION_MARK.search(runtime.read_bytes()).group(0)
                                + f"\n@hostile {way} {thread} -\n".encode())
                start = time.monotonic()
                dump = mixstack_dump.dump_core(core, "--dac", dac)
                self.assertLess(time.monotonic() - start, 9, way)
                self.assertTrue(all(t["frames"] for t in dump["threads"]), way)
                said = dump["diagnoses"] + dump["process"]["runtimes"][0]["missing"]
                self.assertTrue(any(d["error"]["code"] in DAMAGED for d in said), (way, said))
                if words:
                    self.assertTrue(any(w in d["text"] for d in said for w in words), (way, said))


class AnswersOfAuto(DacCase):
    def test_the_descriptor_is_preferred(self):
        with self.stopped(10, "sleep") as debuggee:
            [runtime] = mixstack_dump.dump(debuggee.pid)["process"]["runtimes"]
            self.assertEqual((runtime["walkable"], runtime["provider"]), (True, "cdac"))

    def test_a_running_process(self):
        """Thread objects are copied in the stop: stacks and Frames belong together although the process runs on."""
        crashed = 0
        with processes.Debuggee([debuggee_build.scenarios_on(8), "exception_storm"]) as debuggee:
            for _ in range(10):
                dump = mixstack_dump.dump(debuggee.pid)
                [runtime] = dump["process"]["runtimes"]
                self.assertEqual((runtime["walkable"], runtime["provider"]), (True, "dac"))
                # What the DAC reads of the running process may be torn, and then it crashes; twice in a row is said.
                if dump["diagnoses"] and all("the DAC crashed" in d["text"] for d in dump["diagnoses"]):
                    crashed += 1
                    continue
                self.assertEqual(dump["diagnoses"], [])
                for thread in dump["threads"]:
                    self.assertEqual(stack_compare.compare_end(thread), [], thread["name"])
        self.assertLessEqual(crashed, 2)


class BadDac(DacCase):
    """Each says what is wrong, in time, and leaves the native walk alone."""

    def dump(self, debuggee, *options):
        start = time.monotonic()
        dump = mixstack_dump.dump(debuggee.pid, "--provider", "dac", *options)
        self.assertLess(time.monotonic() - start, 20)
        [runtime] = dump["process"]["runtimes"]
        self.assertFalse(runtime["walkable"])
        for thread in dump["threads"]:
            self.assertTrue(thread["frames"] and thread["stop_reason"], thread["name"])
            self.assertTrue(any(f["kind"] == "native" for f in thread["frames"]) or thread["name"] == "spin")
        self.assert_no_helper()
        return runtime["missing"][-1]

    def fake(self, folder, way):
        """A misbehaving library that says it is of the runtime's version."""
        source = mixstack_dump.binary().parent.parent / "fake_dac" / f"libfake_dac_{way}.so"
        runtime = debuggee_build.scenarios_on(8).parent / "libcoreclr.so"
        path = pathlib.Path(folder) / "libmscordaccore.so"
        path.write_bytes(source.read_bytes() + VERSION_MARK.search(runtime.read_bytes()).group(0))
        return path

    def check(self, way, *words, options=()):
        with self.stopped(8, "sleep") as debuggee, tempfile.TemporaryDirectory() as folder:
            said = self.dump(debuggee, "--dac", self.fake(folder, way), *options)
            for word in words:
                self.assertIn(word, said["text"], said)
            self.assertIn("libmscordaccore.so", said["subject"])

    def test_missing(self):
        with self.stopped(8, "sleep") as debuggee:
            said = self.dump(debuggee, "--dac", "/nowhere/libmscordaccore.so")
            self.assertEqual(said["error"]["code"], "not_found", said)

    def test_of_another_runtime(self):
        with self.stopped(10, "sleep") as debuggee:
            other = debuggee_build.scenarios_on(8).parent / "libmscordaccore.so"
            said = self.dump(debuggee, "--dac", other)
            self.assertEqual(said["error"]["code"], "mismatch", said)
            self.assertRegex(said["text"], r"\b8\.0\..*\b1[01]\.0\.")

    def test_no_library(self):
        with self.stopped(8, "sleep") as debuggee, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "libmscordaccore.so"
            mark = VERSION_MARK.search((debuggee_build.scenarios_on(8).parent / "libcoreclr.so").read_bytes()).group(0)
            path.write_bytes(b"no ELF file " * 1000 + mark)
            self.assertEqual(self.dump(debuggee, "--dac", path)["error"]["code"], "unsupported")

    def test_crash(self):
        self.check("crash", "crashed", "signal 11")

    def test_crash_on_load(self):
        self.check("crash_on_load", "crashed", "signal 11")

    def test_exit(self):
        self.check("exit", "crashed", "exited with 0")

    def test_hang(self):
        self.check("hang", "did not answer in time")

    def test_endless_loop(self):
        self.check("spin", "did not answer in time")

    def test_nonsense(self):
        self.check("nonsense", "nonsense")

    def test_refusal(self):
        self.check("refuse", "does not accept the runtime", "0x80004005")

    def test_no_way_out(self):
        """Not root, no fork, no exec, no descriptors, no signals to the parent."""
        self.check("escape", "does not accept the runtime", "0x80004005")

    def test_no_helper(self):
        with self.stopped(8, "sleep") as debuggee, tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(folder) / "mixstack"
            shutil.copy2(mixstack_dump.binary(), alone)
            done = subprocess.run([alone, "dump", str(debuggee.pid), "--json"], capture_output=True, timeout=60)
            [runtime] = json.loads(done.stdout)["process"]["runtimes"]
            self.assertFalse(runtime["walkable"])
            self.assertIn("mixstack-helper", [d["subject"] for d in runtime["missing"]])


if __name__ == "__main__":
    unittest.main()
