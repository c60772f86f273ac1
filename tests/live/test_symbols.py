"""Symbols that are neither in an image nor beside it: folders, cache and servers, for live processes and cores."""
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import LiveCase
import cores
import debuggee_build
import mixstack_dump
import processes
import symbol_server
from symbol_server import Server


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)",
                     subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout).group(1)


class SymbolCase(LiveCase):
    """A stripped program whose debug file lies elsewhere, and a cache of the test's own."""

    needs_dotnet = False

    def setUp(self):
        super().setUp()
        if not mixstack_dump.binary().with_name("mixstack-fetch").exists():
            self.skipTest("no mixstack-fetch beside mixstack: is libcurl there?")
        folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache" / "mixstack" / "symbols"
        self.program, self.debug = self.folder / "plain", self.folder / "elsewhere"
        built = debuggee_build.NATIVE / "plain"
        subprocess.run(["objcopy", "--only-keep-debug", built, self.debug], check=True)
        subprocess.run(["strip", "-o", self.program, built], check=True)
        self.build_id = build_id(self.program)
        self.store_key = f"_.debug/elf-buildid-sym-{self.build_id}/_.debug"
        self.other = self.folder / "other"
        subprocess.run(["objcopy", "--only-keep-debug", debuggee_build.NATIVE / "handler", self.other], check=True)

    def run_it(self, *arguments, **variables):
        environment = {k: v for k, v in os.environ.items() if k not in ("DEBUGINFOD_URLS", "MIXSTACK_SYMBOL_PATH")}
        environment.update(XDG_CACHE_HOME=str(self.folder / "cache"), **variables)
        done = subprocess.run([mixstack_dump.binary(), *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, env=environment)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def dump(self, *arguments, **variables):
        """Names of the program's own frames, what failed, exit code."""
        code, out, err = self.run_it("dump", *arguments, "--json", **variables)
        self.assertIn(code, (0, 7), err)
        dump = json.loads(out)
        names = [frame["name"] for thread in dump["threads"] for frame in thread["frames"]
                 if frame["module"] == "plain"]
        self.assertTrue(names)
        self.diagnoses = dump["diagnoses"]
        return names, [f"{d['subject']}: {d['text']}" for d in self.diagnoses], code

    def assert_named(self, names):
        self.assertEqual(names.count("plain::run(int)"), 3, names)
        self.assertFalse(any(name.startswith("plain+") for name in names), names)

    def assert_nameless(self, names):
        self.assertTrue(all(name.startswith("plain+") for name in names), names)

    def target(self):
        return processes.Debuggee([str(self.program), "2"])


class Places(SymbolCase):
    def test_a_symbol_server(self):
        with self.target() as target, Server({self.store_key: self.debug.read_bytes()}) as server:
            self.assert_nameless(self.dump(target.pid)[0])
            names, failed, code = self.dump(target.pid, "--symbol-path", server.url)
            self.assert_named(names)
            self.assertEqual((failed, code), ([], 0))
            asked = len(server.asked)
            self.assertEqual([f.name for f in self.cache.iterdir()], [f"{self.build_id}.debug"])
            self.assertEqual(self.cache.stat().st_mode & 0o777, 0o700)
            self.assert_named(self.dump(target.pid)[0])  # out of the cache
            self.assertEqual(len(server.asked), asked)

    def test_a_debuginfod_server(self):
        files = {f"buildid/{self.build_id}/debuginfo": self.debug.read_bytes()}
        for how in ("environment", "path", "named"):
            with self.subTest(how), self.target() as target, Server(files) as server:
                shutil.rmtree(self.folder / "cache", ignore_errors=True)
                if how == "environment":
                    names, failed, _ = self.dump(target.pid, DEBUGINFOD_URLS=server.url)
                    self.assertEqual({path.split("/")[0] for path in server.asked}, {"buildid"})
                else:
                    path = server.url if how == "path" else "debuginfod*" + server.url
                    names, failed, _ = self.dump(target.pid, MIXSTACK_SYMBOL_PATH=path)
                self.assert_named(names)
                self.assertEqual(failed, [])

    def test_a_core(self):
        with self.target() as target, Server({self.store_key: self.debug.read_bytes()}) as server:
            core = cores.gcore(target.pid, self.folder / "core")
            self.assert_named(self.dump("--core", core, "--symbol-path", server.url)[0])

    def test_the_image_of_a_core(self):
        """The program is gone, and a core lacks its unwind tables; a server has it under the name it had."""
        image = f"plain/elf-buildid-{self.build_id}/plain"
        files = {image: self.program.read_bytes(), self.store_key: self.debug.read_bytes()}
        with self.target() as target:
            core = cores.gcore(target.pid, self.folder / "core")
        whole = self.dump("--core", core)[0]
        self.program.unlink()
        without, failed, _ = self.dump("--core", core)
        self.assertLess(len(without), len(whole))
        self.assertEqual((self.diagnoses[0]["subject"], self.diagnoses[0]["error"]["code"]), (str(self.program), "not_found"), failed)
        with Server(files) as server:
            names, failed, code = self.dump("--core", core, "--symbol-path", "srv*" + server.url)
            self.assert_named(names)
            self.assertEqual((len(names), failed, code), (len(whole), [], 0))
            self.assertIn(image, server.asked)

    def test_folders(self):
        layouts = {"by id": f".build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug", "store": self.store_key,
                   "flat": "plain.debug", "dotnet-symbol": "plain.dbg", "debuginfod's cache": f"{self.build_id}/debuginfo"}
        with self.target() as target:
            for name, path in layouts.items():
                with self.subTest(name):
                    place = self.folder / name.replace(" ", "-") / path
                    place.parent.mkdir(parents=True)
                    shutil.copy(self.debug, place)
                    folder = self.folder / name.replace(" ", "-")
                    self.assert_named(self.dump(target.pid, "--symbol-path", f"/nowhere;{folder}")[0])
        self.assertFalse(self.cache.exists())  # nothing was fetched

    def test_a_folder_with_another_file(self):
        place = self.folder / "store" / self.store_key
        place.parent.mkdir(parents=True)
        shutil.copy(self.other, place)
        with self.target() as target:
            names, failed, _ = self.dump(target.pid, "--symbol-path", self.folder / "store")
        self.assert_nameless(names)
        self.assertEqual([(d["subject"], d["error"]["code"]) for d in self.diagnoses], [(str(place), "mismatch")])
        self.assertIn(build_id(self.other), failed[0])

    def test_what_is_no_place(self):
        with self.target() as target:
            for path, why in {"ftp://x/y": "only http:// and https:// are asked",
                              "http://me:secret@host/x": "a user or password in a URL is not used",
                              "https://": "it names no server"}.items():
                names, failed, code = self.dump(target.pid, "--symbol-path", path)
                self.assert_nameless(names)
                self.assertEqual(code, 7)
                self.assertIn(why, failed[0])
                self.assertNotIn("secret", failed[0])


class Cache(SymbolCase):
    def test_a_damaged_file_is_fetched_again(self):
        self.cache.mkdir(parents=True, mode=0o700)
        kept = self.cache / f"{self.build_id}.debug"
        kept.write_bytes(b"\x7fELF and nothing more")
        with self.target() as target, Server({self.store_key: self.debug.read_bytes()}) as server:
            self.assert_named(self.dump(target.pid, "--symbol-path", server.url)[0])
        self.assertEqual(kept.read_bytes(), self.debug.read_bytes())

    def test_what_others_can_write_to_is_not_used(self):
        self.cache.mkdir(parents=True)
        self.cache.chmod(0o777)
        (self.cache / f"{self.build_id}.debug").write_bytes(self.debug.read_bytes())
        with self.target() as target, Server({self.store_key: self.debug.read_bytes()}) as server:
            self.assert_nameless(self.dump(target.pid)[0])
            names, failed, _ = self.dump(target.pid, "--symbol-path", server.url)
            self.assert_named(names)  # kept in memory
            self.assertEqual([d["subject"] for d in self.diagnoses], [str(self.cache)], failed)

    def test_a_link_in_place_of_the_folder(self):
        self.cache.parent.mkdir(parents=True)
        (self.folder / "elsewhere-folder").mkdir()
        self.cache.symlink_to(self.folder / "elsewhere-folder")
        with self.target() as target, Server({self.store_key: self.debug.read_bytes()}) as server:
            self.assert_named(self.dump(target.pid, "--symbol-path", server.url)[0])
        self.assertEqual(list((self.folder / "elsewhere-folder").iterdir()), [])


class BadServers(SymbolCase):
    def expect(self, server_url, error, os_error=0, value=None, seconds=20):
        """Names of nothing, and this diagnosis of the server. Its words are answered."""
        with self.target() as target:
            begin = time.monotonic()
            names, failed, code = self.dump(target.pid, "--symbol-path", server_url)
            self.assertLess(time.monotonic() - begin, seconds)
        self.assert_nameless(names)
        self.assertEqual(code, 7)
        found = [(d["error"]["code"], d["error"]["os_error"]) for d in self.diagnoses if d["subject"].startswith(server_url)]
        self.assertIn((error, os_error), found, failed)
        if value is not None:
            self.assertIn(value, [int(d["error"]["value"], 16) for d in self.diagnoses], failed)
        if self.cache.exists():
            self.assertEqual(list(self.cache.iterdir()), [])
        return failed

    def test_nobody_there(self):
        url = symbol_server.closed_port()
        self.assertEqual(len(self.expect(url, "io_error", errno.ECONNREFUSED)), 1)  # it is not asked again

    def test_no_such_host(self):
        self.expect("http://no-such-host.invalid", "not_found")

    def test_one_that_hangs(self):
        """It is given up once, not once for each file."""
        with Server(behaviour=symbol_server.hangs) as server:
            self.expect(server.url, "limit_exceeded", errno.ETIMEDOUT)
            self.assertEqual(len(server.asked), 1)

    def test_one_that_drips(self):
        with Server(behaviour=symbol_server.drips) as server:
            self.expect(server.url, "limit_exceeded", errno.ETIMEDOUT, seconds=45)

    def test_redirects_without_end(self):
        with Server(behaviour=symbol_server.redirects_in_a_loop) as server:
            self.expect(server.url, "limit_exceeded", errno.ELOOP)
            self.assertLessEqual(len(server.asked), 7)

    def test_a_redirect_to_a_file_of_this_machine(self):
        with Server(behaviour=symbol_server.redirects_to_a_file) as server:
            self.expect(server.url, "limit_exceeded", errno.ELOOP)

    def test_a_redirect_to_another_server(self):
        with Server({self.store_key: self.debug.read_bytes()}) as other, self.target() as target:
            to = lambda handler: handler.answer(302, b"", Location=other.url + handler.path)
            with Server(behaviour=to) as server:
                self.assert_named(self.dump(target.pid, "--symbol-path", server.url)[0])

    def test_one_that_fails(self):
        with Server(behaviour=symbol_server.fails) as server:
            self.expect(server.url, "io_error", value=500)

    def test_less_than_it_says(self):
        with Server(behaviour=symbol_server.sends_less_than_it_says) as server:
            self.expect(server.url, "io_error", errno.ENODATA)

    def test_more_than_is_taken(self):
        with Server(behaviour=symbol_server.says_it_sends_too_much) as server:
            self.expect(server.url, "limit_exceeded", errno.EFBIG)

    def test_megabytes_without_end(self):
        """Ended by their number or, on a slow machine, by the time."""
        with Server(behaviour=symbol_server.sends_without_end) as server, self.target() as target:
            begin = time.monotonic()
            names, failed, code = self.dump(target.pid, "--symbol-path", "srv*" + server.url)
            self.assertLess(time.monotonic() - begin, 60)
        self.assert_nameless(names)
        self.assertEqual(code, 7)
        self.assertIn(self.diagnoses[0]["error"]["os_error"], (errno.EFBIG, errno.ETIMEDOUT), failed)
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_no_http(self):
        with Server(behaviour=symbol_server.talks_nonsense) as server:
            self.expect(server.url, "io_error", errno.EPROTO)

    def test_another_build_id(self):
        with Server(behaviour=symbol_server.serves(self.other.read_bytes())) as server:
            self.assertIn(build_id(self.other), "".join(self.expect(server.url, "mismatch")))

    def test_rubbish(self):
        with Server(behaviour=symbol_server.serves(os.urandom(100_000))) as server:
            self.expect(server.url, "mismatch")

    def test_the_image_in_place_of_its_symbols(self):
        with Server(behaviour=symbol_server.serves(self.program.read_bytes())) as server:
            self.expect(server.url, "mismatch")

    def test_the_target_runs_meanwhile_and_a_signal_ends_the_command(self):
        with self.target() as target, Server(behaviour=symbol_server.hangs) as server:
            command = subprocess.Popen([mixstack_dump.binary(), "dump", str(target.pid), "--symbol-path", server.url],
                                       stdout=subprocess.DEVNULL)
            self.wait_until(lambda: server.asked, "a question")
            self.assertNotIn("t", processes.thread_states(target.pid).values())
            status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
            self.assertIn("TracerPid:\t0\n", status)
            children = pathlib.Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
            command.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            command.wait(timeout=10)
            self.assertLess(time.monotonic() - begin, 1)
            for child in children:  # the fetcher goes with it
                self.wait_until(lambda child=child: not pathlib.Path(f"/proc/{child}/exe").exists(), "its end")

    def test_the_fetcher_has_no_rights(self):
        with self.target() as target, Server(behaviour=symbol_server.hangs) as server:
            command = subprocess.Popen([mixstack_dump.binary(), "dump", str(target.pid), "--symbol-path", server.url],
                                       stdout=subprocess.DEVNULL)
            self.addCleanup(command.wait)
            self.addCleanup(command.kill)
            self.wait_until(lambda: server.asked, "a question")
            [child] = pathlib.Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
            status = dict(line.split(":\t", 1) for line in
                          pathlib.Path(f"/proc/{child}/status").read_text().splitlines() if ":\t" in line)
            self.assertEqual(status["CapEff"], "0" * 16)
            self.assertEqual(status["CapPrm"], "0" * 16)
            self.assertEqual(status["NoNewPrivs"], "1")
            if os.geteuid() == 0:
                self.assertEqual(set(status["Uid"].split()), {"65534"})
            environment = pathlib.Path(f"/proc/{child}/environ").read_bytes()
            self.assertNotIn(b"HOME=", environment)

    def test_a_name_that_leads_elsewhere(self):
        """What the target calls its image goes into no URL and no path."""
        evil = self.folder / "a b;..%2f"
        shutil.copy(self.program, evil)
        with processes.Debuggee([str(evil), "2"]) as target, Server() as server:
            core = cores.gcore(target.pid, self.folder / "core")
            evil.unlink()
            self.run_it("dump", "--core", core, "--only-sysroot", "--symbol-path", server.url)
        self.assertTrue(server.asked)
        for path in server.asked:
            self.assertRegex(path, r"^(_\.debug/elf-buildid-sym-[0-9a-f]+/_\.debug|buildid/[0-9a-f]+/[a-z]+"
                                   r"|([a-z0-9._+-]|%2B)+/elf-buildid-[0-9a-f]+/([a-z0-9._+-]|%2B)+)$")


class SymbolsCommand(SymbolCase):
    def status(self, *arguments, **variables):
        code, out, err = self.run_it("symbols", *arguments, "--json", **variables)
        document = json.loads(out)
        return {m["module"]: m for m in document["modules"]}, document, code

    def test_status_says_what_is_missing_and_asks_nobody(self):
        with self.target() as target, Server({self.store_key: self.debug.read_bytes()}) as server:
            modules, document, code = self.status("status", target.pid, MIXSTACK_SYMBOL_PATH=server.url)
            self.assertEqual((server.asked, document["diagnoses"], code), ([], [], 0))
            plain = modules["plain"]
            self.assertEqual((plain["id"], plain["missing"], plain["store_key"], plain["wanted_file"]),
                             (self.build_id, True, self.store_key, "plain.debug"))
            self.assertEqual(plain["frames"], plain["nameless_frames"])
            self.assertGreater(plain["frames"], 3)
            code, text, _ = self.run_it("symbols", "status", target.pid)
            self.assertRegex(text, rf"\bplain\.debug\b.*\b{self.build_id}\b")
            self.assertIn(f"mixstack symbols fetch {target.pid}", text)

    def test_a_debian_package(self):
        """By dpkg's own word."""
        with self.target() as target:
            modules, _, _ = self.status("status", target.pid, "--all")
        missing = [m for m in modules.values() if m["missing"] and m["package"]]
        for module in missing:
            real = subprocess.run(["dpkg", "-S", os.path.realpath(module["path"])], capture_output=True, text=True)
            plain = subprocess.run(["dpkg", "-S", os.path.realpath(module["path"]).removeprefix("/usr")],
                                   capture_output=True, text=True)
            owners = {line.split(":")[0] for line in (real.stdout + plain.stdout).splitlines()}
            self.assertIn(module["package"].removesuffix("-dbgsym").replace("libc6-dbg", "libc6"), owners)
            version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n",
                                      module["package"].removesuffix("-dbgsym").replace("libc6-dbg", "libc6")],
                                     check=True, capture_output=True, text=True).stdout.split()
            self.assertIn(module["package_version"], version)
        self.assertTrue(missing, modules)

    def test_fetch_and_then_dump(self):
        with self.target() as target, Server({self.store_key: self.debug.read_bytes()}) as server:
            modules, _, _ = self.status("fetch", target.pid, "--symbol-path", server.url)
            self.assertEqual((modules["plain"]["source"], modules["plain"]["found"], modules["plain"]["nameless_frames"]),
                             ("file", str(self.cache / f"{self.build_id}.debug"), 0))
        with self.target() as target:
            self.assert_named(self.dump(target.pid)[0])

    def test_of_a_core(self):
        with self.target() as target:
            core = cores.gcore(target.pid, self.folder / "core")
        modules, document, code = self.status("status", "--core", core)
        self.assertEqual((modules["plain"]["missing"], document["core"], code), (True, str(core), 0))

    def test_a_fetch_ends_in_time(self):
        with self.target() as target, Server(behaviour=symbol_server.drips) as server:
            begin = time.monotonic()
            _, document, code = self.status("fetch", target.pid, "--symbol-path", server.url, "--timeout", "2s")
            self.assertLess(time.monotonic() - begin, 15)
            self.assertEqual(code, 7)
            self.assertIn(errno.ETIMEDOUT, [d["error"]["os_error"] for d in document["diagnoses"]], document["diagnoses"])

    def test_wrong_lines(self):
        for arguments in (["symbols"], ["symbols", "statsu", "1"], ["symbols", "status"], ["symbols", "status", "x"],
                          ["symbols", "status", "1", "--timeout", "2"]):
            self.assertEqual(self.run_it(*arguments)[0], 2, arguments)


class ManagedSymbols(SymbolCase):
    """PDBs of assemblies."""

    needs_dotnet = True

    def setUp(self):
        super().setUp()
        self.app = self.folder / "Scenarios"
        shutil.copytree(debuggee_build.SCENARIOS.parent, self.app)
        (self.folder / "native").symlink_to(debuggee_build.NATIVE)
        self.pdb = (self.app / "Scenarios.pdb").read_bytes()
        (self.app / "Scenarios.pdb").unlink()

    def scenario(self):
        return processes.Debuggee([str(self.app / "Scenarios"), "async"])

    def lines(self, *arguments, **variables):
        code, out, err = self.run_it("dump", *arguments, "--json", **variables)
        dump = json.loads(out)
        found = [(f["file"].rsplit("/", 1)[-1], f["line"]) for t in dump["threads"] for f in t["frames"] if f["file"]]
        self.diagnoses = dump["diagnoses"]
        return found, [f"{d['subject']}: {d['text']}" for d in self.diagnoses], code

    def key_of(self, target):
        _, out, _ = self.run_it("symbols", "status", target.pid, "--json")
        [module] = [m for m in json.loads(out)["modules"] if m["module"] == "Scenarios" and m["kind"] == "managed"]
        return module

    def test_a_server(self):
        with self.scenario() as target:
            self.assertEqual(self.lines(target.pid)[0], [])
            module = self.key_of(target)
            self.assertEqual((module["missing"], module["wanted_file"]), (True, "Scenarios.pdb"))
            with Server({module["store_key"]: self.pdb}) as server:
                found, failed, code = self.lines(target.pid, "--symbol-path", server.url)
                self.assertIn("Scene.cs", {file for file, _ in found})
                self.assertEqual((failed, code), ([], 0))
            self.assertEqual(self.lines(target.pid)[0], found)  # out of the cache
            core = cores.gcore(target.pid, self.folder / "core")
            self.assertEqual(self.lines("--core", core)[0], found)
            shutil.rmtree(self.cache)
            (self.folder / "pdbs").mkdir()
            (self.folder / "pdbs" / "Scenarios.pdb").write_bytes(self.pdb)
            self.assertEqual(self.lines(target.pid, "--symbol-path", self.folder / "pdbs")[0], found)

    def test_the_pdb_of_another_build(self):
        damaged = bytearray(self.pdb)
        at = damaged.index(b"#Pdb\0\0\0\0") - 8
        begin = int.from_bytes(damaged[at:at + 4], "little")
        damaged[begin] ^= 1
        (self.app / "Scenarios.pdb").write_bytes(damaged)
        with self.scenario() as target:
            found, said, code = self.lines(target.pid)
            self.assertEqual((found, code), ([], 0))
            module = self.key_of(target)
            self.assertEqual(len(said), 1)
            for part in ("Scenarios: ", f"{self.app}/Scenarios.pdb ", module["id"]):
                self.assertIn(part, said[0])
            self.assertIn(f"{self.app}/Scenarios.pdb ", module["remark"])
            with Server(behaviour=symbol_server.serves(bytes(damaged))) as server:
                found, said, code = self.lines(target.pid, "--symbol-path", server.url)
                self.assertEqual((found, code), ([], 7))
                self.assertIn("mismatch", [d["error"]["code"] for d in self.diagnoses if d["subject"].startswith(server.url)], said)

    def test_where_the_runtimes_symbols_are(self):
        with self.scenario() as target:
            _, out, _ = self.run_it("symbols", "status", target.pid, "--json")
        modules = {m["module"]: m for m in json.loads(out)["modules"]}
        runtime = modules["libcoreclr.so"]
        self.assertEqual(runtime["wanted_file"], "libcoreclr.so.dbg")
        self.assertEqual(runtime["id"], build_id(runtime["path"]))
        self.assertEqual(runtime["server"], "https://msdl.microsoft.com/download/symbols")
        self.assertRegex(runtime["package"], r"^Microsoft\.NETCore\.App\.Runtime\.linux-(x64|arm64)$")
        self.assertIn(f"/{runtime['package_version']}/", runtime["path"])
        self.assertTrue(modules["System.Private.CoreLib"]["missing"])
