"""Packs: one file to mail that tells what the process did, on a machine that has none of its files."""
import errno
import io
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tarfile

from harness import LiveCase
import core_compare
import cores
import debuggee_build
import mixstack_dump
import processes
import test_core_arm64
from mixstack_dump import codes, messages

SCENARIOS = ("async", "lambdas", "mixtures", "funclets", "native_between", "exception_details", "dynamic_methods", "generics")
IN_ENVIRONMENT, IN_ARGUMENTS, IN_HEAP = "canary-of-the-environment-4711", "canary-of-the-arguments-0815", "canary-of-the-heap"
# Of the moment, not of the stacks: of a stopped process the kernel tells the system call only sometimes.
MOMENTARY = ("cpu_ns", "queued_ns", "off_cpu_ns", "wait_channel")


def told(dump):
    """tid -> what is said of the thread, without times."""
    return {t["tid"]: {**{k: v for k, v in t.items() if k not in MOMENTARY},
                       "syscall": t["syscall"] and t["syscall"]["number"]} for t in dump["threads"]}


def unpacked(pack, folder):
    """The pack as people open it, without us."""
    subprocess.run(["tar", "-I", "zstd", "-xf", pack, "-C", folder], check=True, capture_output=True)
    return folder / "mixstack-pack"


def holds(folder, text):
    """Files that have a text in them, as bytes or as UTF-16."""
    forms = (text.encode(), text.encode("utf-16-le"))
    return [str(p) for p in folder.rglob("*") if p.is_file() and any(form in p.read_bytes() for form in forms)]


def tar_of(opened):
    """A plain archive of an unpacked pack, the core first, two blocks of zeros last."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", bufsize=512) as tar:
        for path in [opened / "manifest.json", opened / "core", *sorted((opened / "sysroot").rglob("*"))]:
            if path.is_file():
                tar.add(path, f"mixstack-pack/{path.relative_to(opened)}")
    bytes_ = out.getvalue()
    return bytes_.rstrip(b"\0") + bytes(-len(bytes_.rstrip(b"\0")) % 512 + 1024)


class Packs(LiveCase):
    timeout = 300

    def pack(self, what, path, *options, status=0):
        code, out, error, _ = mixstack_dump.run("pack", what, "-o", path, *options, timeout=200)
        self.assertEqual(code, status, out + error)
        return out + error

    def read(self, path, *options):
        return mixstack_dump.dump_core(path, "--only-sysroot", *options)

    def assert_same(self, before, pack, *options):
        one, other = told(before), told(self.read(pack, *options))
        self.assertEqual(one.keys(), other.keys())
        for tid, thread in one.items():
            differences = list(core_compare.differences(thread, other[tid]))
            self.assertEqual(differences, [], f"thread {tid} {thread['name']}")

    def test_a_pack_tells_what_the_process_did(self):
        for scenario in SCENARIOS:
            with self.subTest(scenario), cores.folder() as folder:
                with processes.Debuggee([debuggee_build.SCENARIOS, scenario]) as debuggee:
                    debuggee.stop()
                    before = mixstack_dump.dump(debuggee.pid)
                    frames = mixstack_dump.dump(debuggee.pid, "--frames")
                    said = self.pack(debuggee.pid, folder / "pack")
                    self.assert_stopped(debuggee)
                self.assertIn("Read back: all", said)
                self.assertEqual((folder / "pack").stat().st_mode & 0o777, 0o600)
                self.assert_same(before, folder / "pack")
                self.assert_same(frames, folder / "pack", "--frames")
                self.assertTrue(any(f["line"] for t in before["threads"] for f in t["frames"]))

    def test_a_pack_of_a_core_and_of_a_pack(self):
        with cores.folder() as folder:
            with processes.Debuggee([debuggee_build.SCENARIOS, "mixtures"]) as debuggee:
                cores.createdump(debuggee.pid, folder / "core")
            before = mixstack_dump.dump_core(folder / "core")
            self.pack(folder / "core", folder / "pack")
            self.assert_same(before, folder / "pack")
            self.assertLess((folder / "pack").stat().st_size, (folder / "core").stat().st_size)
            self.pack(folder / "pack", folder / "again", "--only-sysroot")
            self.assert_same(before, folder / "again")

    def test_cores_that_lack_what_files_have(self):
        """The small form of what gdb writes; of a mini core, which proves few files, all that it holds."""
        with cores.folder() as folder:
            with processes.Debuggee([debuggee_build.SCENARIOS, "funclets"]) as debuggee:
                cores.gcore(debuggee.pid, folder / "gcore")
                cores.createdump(debuggee.pid, folder / "mini", "n")
            for name, form in (("gcore", "a small core"), ("mini", "core of")):
                with self.subTest(name):
                    said = self.pack(folder / name, folder / f"{name}.pack")
                    self.assertIn(form, said)
                    self.assertIn("Read back: all", said)
                    self.assert_same(mixstack_dump.dump_core(folder / name), folder / f"{name}.pack")

    def test_a_core_of_another_cpu(self):
        with cores.folder() as folder:
            subprocess.run(["tar", "-I", "zstd --long=27", "-C", folder, "-xf", test_core_arm64.DATA / "mods.tar.zst"], check=True)
            core = test_core_arm64.DATA / "core.zst"
            before = mixstack_dump.dump_core(core, "--only-sysroot", "--sysroot", folder)
            self.pack(core, folder / "pack", "--only-sysroot", "--sysroot", folder)
            self.assert_same(before, folder / "pack")

    def test_secrets_stay_where_they_are(self):
        with cores.folder() as folder:
            with processes.Debuggee([debuggee_build.SCENARIOS, "lambdas", "5", IN_ARGUMENTS, f"--password={IN_ARGUMENTS}"],
                                    {"MIXSTACK_CANARY": IN_ENVIRONMENT}) as debuggee:
                self.assertIn(IN_ENVIRONMENT, pathlib.Path(f"/proc/{debuggee.pid}/environ").read_text())
                debuggee.ask(f"{IN_HEAP}\ncollections")
                for form, options in (("small", ()), ("full", ("--full",))):
                    self.pack(debuggee.pid, folder / form, *options)
                self.pack(debuggee.pid, folder / "told", "--with-environment", "--with-command-line")
            for form in ("small", "full", "told"):
                (folder / f"{form}.d").mkdir()
                opened = unpacked(folder / form, folder / f"{form}.d")
                found = holds(opened, IN_ENVIRONMENT) + holds(opened, IN_ARGUMENTS)
                if form == "told":
                    self.assertEqual(set(found), {str(opened / "manifest.json"), str(opened / "core")} & set(found))
                    manifest = json.loads((opened / "manifest.json").read_text())
                    self.assertIn(f"MIXSTACK_CANARY={IN_ENVIRONMENT}", manifest["environment"])
                    self.assertIn(IN_ARGUMENTS, manifest["command_line"])
                else:
                    self.assertEqual(found, [], form)
                self.assertEqual(bool(holds(opened, IN_HEAP)), form == "full", form)

    def test_who_overwrote_its_environment_is_said(self):
        """As setproctitle does: what was there cannot be known, so copies elsewhere cannot be taken out."""
        program = ("import ctypes, os, sys, time\n"
                   "begin, end = [int(f) for f in open('/proc/self/stat').read().rsplit(')', 1)[1].split()[47:49]]\n"
                   "keep = os.environb[b'MIXSTACK_CANARY']\n"
                   "if len(sys.argv) > 1: ctypes.memset(begin, 0, end - begin)\n"
                   "print('READY', flush=True); time.sleep(100)\n")
        for words, is_lost in ((["overwrite"], True), ([], False)):
            with self.subTest(is_lost=is_lost), cores.folder() as folder:
                child = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE,
                                         env={**os.environ, "MIXSTACK_CANARY": IN_ENVIRONMENT})
                try:
                    child.stdout.readline()
                    said = self.pack(child.pid, folder / "pack")
                finally:
                    child.kill()
                    child.wait()
                    child.stdout.close()
                self.assertEqual("setproctitle" in said, is_lost, said)
                manifest = json.loads((unpacked(folder / "pack", folder) / "manifest.json").read_text())
                self.assertEqual("unknown_environment" in manifest["left_out_codes"], is_lost, manifest["left_out"])

    def test_what_is_in_it_and_what_is_not(self):
        with cores.folder() as folder:
            with processes.Debuggee([debuggee_build.SCENARIOS, "mixtures"]) as debuggee:
                said = self.pack(debuggee.pid, folder / "pack")
            opened = unpacked(folder / "pack", folder)
            manifest = json.loads((opened / "manifest.json").read_text())
            self.assertEqual((manifest["format"], manifest["form"], manifest["source"]), ("mixstack-pack", "small", "process"))
            self.assertEqual((manifest["runtimes"][0]["kind"], manifest["name"]), ("CoreCLR", "Scenarios"))
            self.assertEqual(manifest["left_out_codes"], ["unread_memory", "environment", "command_line", "files_of_no_stack"])
            for text in manifest["left_out"]:
                self.assertIn(text, said)
            names = {p.name for p in (opened / "sysroot").rglob("*") if p.is_file()}
            self.assertLessEqual({"libcoreclr.so", "libc.so.6", "Scenarios.pdb"}, names)
            header = subprocess.run(["readelf", "-hnW", opened / "core"], check=True, capture_output=True, text=True).stdout
            self.assertIn("CORE (Core file)", header)
            self.assertIn("NT_PRSTATUS", header)
            self.assertLess((folder / "pack").stat().st_size, 40 << 20)

    def test_what_threads_wait_for(self):
        with cores.folder() as folder, processes.Debuggee([debuggee_build.SCENARIOS, "mixtures"]) as debuggee:
            self.pack(debuggee.pid, folder / "pack")
            main = next(t for t in self.read(folder / "pack")["threads"] if t["tid"] == debuggee.pid)
        self.assertEqual((main["syscall"]["name"], main["syscall"]["object"]), ("read", "pipe"))
        self.assertGreater(main["cpu_ns"], 0)

    def test_gdb_opens_it(self):
        if not shutil.which("gdb"):
            self.skipTest("no gdb")
        with cores.folder() as folder:
            with processes.Debuggee([debuggee_build.SCENARIOS, "native_between"]) as debuggee:
                debuggee.stop()
                before = mixstack_dump.dump(debuggee.pid)
                self.pack(debuggee.pid, folder / "pack", "--full")
            opened = unpacked(folder / "pack", folder)
            out = subprocess.run(["gdb", "-nx", "-batch", "-ex", f"set sysroot {opened}/sysroot", "-ex", f"core {opened}/core",
                                  "-ex", "info threads"], capture_output=True, text=True, timeout=120).stdout
            tids = set(map(int, re.findall(r"LWP (\d+)", out)))
            self.assertEqual(tids, {t["tid"] for t in before["threads"]}, out[-2000:])

    def test_a_file_that_is_there_stays(self):
        with cores.folder() as folder, processes.Debuggee([debuggee_build.NATIVE / "plain"]) as debuggee:
            (folder / "pack").write_text("mine")
            said = self.pack(debuggee.pid, folder / "pack", status=9)
            self.assertEqual([(m["code"], m["os_error"]) for m in messages(said)], [("not_written", errno.EEXIST)])
            self.assertEqual((folder / "pack").read_text(), "mine")
            self.pack(debuggee.pid, folder / "pack", "--force")
            self.assertEqual(os.listdir(folder), ["pack"])
            self.assertEqual(len(self.read(folder / "pack")["threads"]), len(mixstack_dump.dump(debuggee.pid)["threads"]))

    def test_no_room_leaves_nothing(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # noqa: E731
        with cores.folder() as folder, processes.Debuggee([debuggee_build.SCENARIOS, "mixtures"]) as debuggee:
            done = subprocess.run([mixstack_dump.binary(), "pack", str(debuggee.pid), "-o", folder / "pack"],
                                  capture_output=True, text=True, preexec_fn=limit, timeout=100)
            self.assertEqual((done.returncode, os.listdir(folder)), (9, []), done.stderr)
            self.assertEqual([(m["code"], m["os_error"]) for m in messages(done.stderr)], [("not_written", errno.EFBIG)])
            with open("/dev/full", "wb") as full:
                done = subprocess.run([mixstack_dump.binary(), "pack", str(debuggee.pid), "-o", "-"], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=100)
            self.assertEqual(done.returncode, 9)
            self.assertEqual([(m["code"], m["os_error"]) for m in messages(done.stderr)], [("not_written", errno.ENOSPC)])
            self.assertTrue(debuggee.is_alive())

    def test_through_a_pipe_and_under_any_name(self):
        with cores.folder() as folder, processes.Debuggee([debuggee_build.SCENARIOS, "lambdas"]) as debuggee:
            debuggee.stop()
            before = mixstack_dump.dump(debuggee.pid)
            with open(folder / "letter.txt", "wb") as out:
                subprocess.run([mixstack_dump.binary(), "pack", str(debuggee.pid), "-o", "-"], stdout=out,
                               stderr=subprocess.DEVNULL, check=True, timeout=100)
            self.assert_same(before, folder / "letter.txt")
            plain = folder / "plain"
            subprocess.run(["zstd", "-dqf", folder / "letter.txt", "-o", plain], check=True)
            self.assert_same(before, plain)
            opened = unpacked(folder / "letter.txt", folder)
            self.assert_same(before, opened / "core", "--sysroot", opened / "sysroot")

    def test_damaged_and_hostile_packs(self):
        with cores.folder() as folder, processes.Debuggee([debuggee_build.NATIVE / "plain"]) as debuggee:
            self.pack(debuggee.pid, folder / "pack")
            opened = unpacked(folder / "pack", folder)
            whole = (folder / "pack").read_bytes()
            for size in (100, len(whole) // 2, len(whole) - 10):
                (folder / "short").write_bytes(whole[:size])
                code, out, error, _ = mixstack_dump.run("dump", "--core", folder / "short", "--only-sysroot", "--json")
                self.assertIn(code, (6, 7, 1), out + error)
                self.assertEqual(self.is_cut(out), bool(out), out + error)
            plain = tar_of(opened)
            for size, status in ((len(plain), 0), (len(plain) - 1024, 7), (len(plain) - 5000, 7), (700, 6)):
                (folder / "short").write_bytes(plain[:size])
                code, out, error, _ = mixstack_dump.run("dump", "--core", folder / "short", "--only-sysroot", "--json")
                self.assertEqual(code, status, f"{size} of {len(plain)}: {out}{error}")
                self.assertEqual(self.is_cut(out), status == 7, out)
            for members, why in (({"../escaped": "0"}, "pack_with_unsafe_path"), ({"/escaped": "0"}, "pack_with_unsafe_path"),
                                 ({"mixstack-pack/l": "2"}, "pack_with_no_file"), ({"mixstack-pack/core": "0"}, "pack_with_two_cores")):
                self.assertEqual(self.hostile(folder, opened, members), [why])
            self.assertEqual(self.hostile(folder, opened, {}, manifest=b"{"), ["pack_without_manifest"])
            newer = b'{"format":"mixstack-pack","format_version":9}'
            self.assertEqual(self.hostile(folder, opened, {}, manifest=newer), ["newer_pack"])
            self.assertFalse((folder.parent / "escaped").exists())

    @staticmethod
    def is_cut(out):
        """Whether a dump says that the file that it was made of is not whole."""
        return out != "" and any(d["error"]["code"] == "truncated" for d in json.loads(out)["diagnoses"])

    def hostile(self, folder, opened, members, manifest=None):
        """The codes of what is said of a pack with other members in it."""
        path = folder / "hostile"
        with tarfile.open(path, "w") as tar:
            (folder / "manifest").write_bytes(manifest or (opened / "manifest.json").read_bytes())
            tar.add(folder / "manifest", "mixstack-pack/manifest.json")
            tar.add(opened / "core", "mixstack-pack/core")
            for name, kind in members.items():
                info = tarfile.TarInfo(name)
                info.type = kind.encode()
                info.linkname = "/etc/passwd" if kind == "2" else ""
                tar.addfile(info)
        code, out, error, _ = mixstack_dump.run("dump", "--core", path, "--only-sysroot")
        self.assertEqual((code, out), (6, ""), error)
        return codes(error)
