"""mixstack record --push: what a store is sent against what -o wrote, decoded by others' decoders, and what happens while the
store is not there. MIXSTACK_TEST_PYROSCOPE, MIXSTACK_TEST_OTLP: URLs of real ones, as --push takes them; header lines for
them in a file that MIXSTACK_TEST_PUSH_HEADERS names."""
import collections
import gzip
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import LiveCase
import mixstack_dump
import npm_packages
import otlp_profiles
import processes
from profile_store import Store

READ_PPROF = npm_packages.FORMATS / "read_pprof.mjs"
ALL = re.compile(r"(\d+) profiles? sent(?: \((\d+) out of the spool\))?, (\d+) spooled.*, (\d+) dropped")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def hangs(handler):
    """Takes the profile and says nothing."""
    handler.server.closing.wait(120)


class PushCase(LiveCase):
    def setUp(self):
        super().setUp()
        if not mixstack_dump.binary().with_name("mixstack-fetch").exists():
            self.skipTest("no mixstack-fetch beside mixstack: is libcurl there?")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.spool, self.out = self.folder / "cache/mixstack/push", self.folder / "x.pb.gz"

    def run_it(self, *options, status=0, cwd=None, **variables):
        """What it said, and the counts at the end of it: sent, of those out of the spool, spooled, dropped."""
        environment = {k: v for k, v in os.environ.items() if k != "MIXSTACK_PUSH_TOKEN"}
        environment.update(XDG_CACHE_HOME=str(self.folder / "cache"), **variables)
        done = subprocess.run([mixstack_dump.binary(), "record", *map(str, options)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180, env=environment, cwd=cwd)
        self.assertEqual(done.returncode, status, done.stderr)
        counts = ALL.search(done.stderr)
        return done.stderr, tuple(int(n or 0) for n in counts.groups()) if counts else None

    def record(self, url, *options, status=0, **variables):
        with processes.scenario("split") as debuggee:
            return self.run_it("-p", debuggee.pid, "--mode", "cpu", "--push", url, "--push-interval", "1s", "-o", self.out,
                               *options, status=status, **variables)

    def decoder(self):
        modules, why = npm_packages.node_modules()
        if modules is None:
            self.skipTest(why)
        return modules

    def pprof(self, content):
        """A profile as npm pprof-format reads it."""
        file = self.folder / "decoded.pb.gz"
        file.write_bytes(content)
        done = subprocess.run(["node", READ_PPROF, self.decoder(), file], capture_output=True, text=True, timeout=60,
                              check=True, stdin=subprocess.DEVNULL)
        return json.loads(done.stdout)

    def pprof_sums(self, contents):
        """{(type, unit): {stack: sum}} over profiles."""
        sums = collections.defaultdict(collections.Counter)
        for content in contents:
            profile = self.pprof(content)
            for sample in profile["samples"]:
                for kind, value in zip(profile["types"], sample["values"]):
                    sums[tuple(kind)][tuple(sample["stack"])] += value
        return sums

    def written(self):
        return self.pprof_sums([self.out.read_bytes()])


class Pyroscope(PushCase):
    def assert_all_there(self, store):
        """What was taken is what was written, stack for stack."""
        written, sent = self.written(), self.pprof_sums([request.body for request in store.taken])
        self.assertGreater(sum(written["samples", "count"].values()), 300)
        self.assertEqual(sent, written)

    def test_what_is_sent(self):
        with Store() as store:
            said, counts = self.record(store.url, "-d", "5", "--push-name", "shop/web", "--push-label", "env=a b&c",
                                       "--push-label", "hostname=here")
            self.assert_all_there(store)
        self.assertGreaterEqual(len(store.taken), 3, said)
        self.assertEqual(counts, (len(store.taken), 0, 0, 0), said)
        self.assertIn(("wrote", str(self.out)), mixstack_dump.told(said))
        last = 0
        for request in store.taken:
            self.assertEqual(request.path, "/ingest")
            self.assertEqual({**request.query, "from": "", "until": ""},
                             {"name": "shop/web{env=a b&c,hostname=here}", "from": "", "until": "", "format": "pprof",
                              "sampleRate": "999", "spyName": "mixstack"})
            begin, end = int(request.query["from"]), int(request.query["until"])
            self.assertLess(begin, end)
            self.assertGreaterEqual(begin, last - 1)
            last = end
            self.assertEqual(request.headers["Content-Type"], "application/octet-stream")
            self.assertIsNone(request.headers["Authorization"])
            self.assertIsNone(request.headers["Expect"])
            profile = self.pprof(request.body)
            self.assertLessEqual(begin * 10**9, int(profile["time"]))
            self.assertLessEqual(int(profile["time"]) + profile["duration"], end * 10**9)
        self.assertFalse(self.spool.exists())

    def test_without_a_file(self):
        with Store() as store, processes.scenario("split") as debuggee:
            here = self.folder / "here"
            here.mkdir()
            said, counts = self.run_it("-p", debuggee.pid, "-d", "2", "--push", store.url, cwd=here)
            self.assertEqual(os.listdir(here), [])
        self.assertNotIn("wrote", mixstack_dump.codes(said))
        self.assertEqual(counts, (1, 0, 0, 0), said)
        name = pathlib.Path(f"/proc/{os.getpid()}/comm")  # the debuggee's was
        self.assertTrue(name.exists())
        self.assertRegex(store.taken[0].query["name"], r"^(dotnet|Scenarios)[\w.-]*\{hostname=.+\}$")

    def test_files_in_a_row(self):
        with Store() as store:
            said, counts = self.record(store.url, "-d", "4", "--rotate", "2s")
            parts = sorted(self.folder.glob("x.*.pb.gz"))
            self.assertEqual(len(parts), 2, said)
            sent = self.pprof_sums([request.body for request in store.taken])
            self.assertEqual(sent, self.pprof_sums([part.read_bytes() for part in parts]))
        self.assertEqual(counts[0], len(store.taken))

    def test_a_store_that_breaks_for_a_moment(self):
        with Store(500, (503, {"Retry-After": "1"}, b"not now"), 200) as store:
            said, counts = self.record(store.url, "-d", "8")
            told = mixstack_dump.reasons(said)
            self.assertIn(("push_put_off", "http_status"), told)
            self.assertIn(("push_takes_again", None), told)
            self.assertIn(" 500", said)
            self.assert_all_there(store)
        self.assertEqual(counts[0], len(store.taken), said)
        self.assertGreaterEqual(counts[1], 1, said)
        self.assertEqual(counts[2:], (0, 0), said)
        self.assertEqual(list(self.spool.iterdir()), [])

    def test_a_store_that_comes_later(self):
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        said, counts = self.record(url, "-d", "4")
        self.assertIn(("push_put_off", "no_connection"), mixstack_dump.reasons(said))
        self.assertEqual((counts[0], counts[3]), (0, 0), said)
        self.assertGreaterEqual(counts[2], 3, said)
        files = sorted(self.spool.iterdir())
        self.assertEqual(len(files), counts[2])
        self.assertEqual({file.stat().st_mode & 0o7777 for file in files}, {0o600})
        self.assertEqual(self.spool.stat().st_mode & 0o7777, 0o700)
        written = self.written()
        # Files that are none, and those for another store, go nowhere.
        (self.spool / files[0].name.replace(files[0].name[:20], "0" * 20)).write_bytes(
            files[0].read_bytes().replace(str(port).encode(), b"1"))
        with Store(port=port) as store:
            again, later = self.run_it("-d", "1", "--push", url, "--", sys.executable, "-c", "import time; time.sleep(4)",
                                       status=9)
            sent = self.pprof_sums([request.body for request in store.taken
                                    if not request.query["name"].startswith("python")])
        self.assertEqual(later[1:], (counts[2], 0, 1), again)
        self.assertNotIn("push_refused", mixstack_dump.codes(again))  # it was dropped because it is damaged
        self.assertEqual(sent, written)
        self.assertEqual(list(self.spool.iterdir()), [])

    def test_a_store_that_hangs(self):
        with Store(hangs) as store:
            said, counts = self.record(store.url, "-d", "3")
            # Not "timed_out", in its own time, which is twice as long.
            self.assertIn(("push_put_off", "given_up"), mixstack_dump.reasons(said))
            self.assertEqual((counts[0], counts[3]), (0, 0), said)
            self.assertEqual(counts[2], len(list(self.spool.iterdir())), said)
        self.assertGreater(sum(self.written()["samples", "count"].values()), 300)  # sampling did not wait for it

    def test_a_store_that_wants_none(self):
        with Store((400, {}, b"the name is bad\nand more")) as store:
            said, counts = self.record(store.url, "-d", "3", status=9)
            self.assertEqual(counts, (0, 0, 0, len(store.received)), said)
        [refused] = [m["text"] for m in mixstack_dump.messages(said) if m["code"] == "push_refused"]
        self.assertIn(" 400: the name is bad", refused)  # the server's words, and of them the first line
        self.assertNotIn("more", refused)
        self.assertFalse(self.spool.exists())
        self.assertGreater(sum(self.written()["samples", "count"].values()), 100)

    def test_a_status_whose_words_are_cut_short(self):
        def cut_short(handler):
            handler.send_response(422)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b"no profiles of")
            handler.close_connection = True

        with Store(cut_short) as store:
            said, counts = self.record(store.url, "-d", "3", status=9)
            self.assertEqual(counts, (0, 0, 0, len(store.received)), said)
        self.assertIn(("push_refused", "http_status"), mixstack_dump.reasons(said))
        self.assertIn(" 422: no profiles of;", said)
        self.assertFalse(self.spool.exists())

    def test_a_redirect_is_not_followed(self):
        with Store() as other, Store((307, {"Location": f"{other.url}/ingest"}, b"")) as store:
            said, counts = self.record(store.url, "-d", "2", "--push-header-file", self.headers("X-Secret: me"), status=9)
            self.assertEqual(other.received, [])
            self.assertEqual(counts[3], len(store.received), said)
            self.assertIn(("push_refused", "http_status"), mixstack_dump.reasons(said))
            self.assertIn(" 307", said)

    def test_a_store_that_says_when(self):
        with Store((429, {"Retry-After": "600"}, b"too many")) as store:
            said, counts = self.record(store.url, "-d", "4")
            self.assertEqual(len(store.received), 1, said)
            self.assertEqual((counts[0], counts[3]), (0, 0), said)
            self.assertGreaterEqual(counts[2], 3, said)

    def test_a_store_that_talks_nonsense(self):
        def nonsense(handler):
            handler.wfile.write(b"\0\1\2 this is no HTTP\r\n\r\n")
            handler.close_connection = True

        def endless(handler):
            handler.send_response(400)
            handler.end_headers()
            while not handler.server.closing.is_set():
                handler.wfile.write(b"\x1b[2J" * 4096)

        with Store(nonsense) as store:
            said, counts = self.record(store.url, "-d", "2")
            self.assertGreaterEqual(counts[2], 1, said)
        with Store(endless) as store:
            said, counts = self.record(store.url, "-d", "2", status=9)
            self.assertGreaterEqual(counts[3], 1, said)
            self.assertNotIn("\x1b", said)

    def headers(self, text):
        file = self.folder / "headers"
        file.write_text(text)
        return file

    def test_headers_and_tokens(self):
        program = "import os, time; open(os.environ['SEEN'], 'w').write(str('MIXSTACK_PUSH_TOKEN' in os.environ))\n" \
                  "end = time.process_time() + 1\nwhile time.process_time() < end: pass"
        seen = self.folder / "seen"
        with Store() as store:
            self.run_it("--push", store.url, "--push-header-file", self.headers("# ours\nX-Scope-OrgID: team\n"), "--",
                        sys.executable, "-c", program, MIXSTACK_PUSH_TOKEN="s3cret", SEEN=str(seen))
        self.assertEqual(store.taken[0].headers["Authorization"], "Bearer s3cret")
        self.assertEqual(store.taken[0].headers["X-Scope-OrgID"], "team")
        self.assertEqual(seen.read_text(), "False")

    def test_what_cannot_be(self):
        with processes.scenario("split") as debuggee:
            url = "http://127.0.0.1:1"
            for options, words in (
                    (("--push", "localhost:4040"), "otlp+http"), (("--push", "http://me:pw@h"), "--push-header-file"),
                    (("--push", url, "--push-label", "a-b=c"), "letters"), (("--push", url, "--push-name", "a b"), "letters"),
                    (("--push", url, "--push-label", "a=1", "--push-label", "a=2"), "twice"),
                    (("--push", url, "--push-interval", "1ms"), "a second"), (("--push-name", "x"), "--push URL"),
                    (("--push", url, "--push-spool", "relative"), "begin with /"),
                    (("--push", url, "--push-header-file", "/nowhere"), "/nowhere"),
                    (("--push", url, "--push-header-file", self.headers("s3cret")), "line 1"),
                    (("--push", url, "--push-header-file", "/dev/zero"), "/dev/zero")):
                with self.subTest(options=options):
                    said, _ = self.run_it("-p", debuggee.pid, "-d", "1", *options, status=2)
                    self.assertIn(words, said)
                    self.assertNotIn("s3cret", said)

    @unittest.skipUnless(os.environ.get("MIXSTACK_TEST_PYROSCOPE"), "MIXSTACK_TEST_PYROSCOPE names no server")
    def test_a_real_store(self):
        self.push_to_a_real_one(os.environ["MIXSTACK_TEST_PYROSCOPE"])

    def push_to_a_real_one(self, url):
        headers = os.environ.get("MIXSTACK_TEST_PUSH_HEADERS")
        said, counts = self.record(url, "-d", "5", "--push-name", "mixstack-test", "--push-label", "env=test",
                                   *(["--push-header-file", headers] if headers else []))
        self.assertGreaterEqual(counts[0], 3, said)
        self.assertEqual(counts[1:], (0, 0, 0), said)

    @unittest.skipUnless(os.environ.get("MIXSTACK_TEST_OTLP"), "MIXSTACK_TEST_OTLP names no server")
    def test_a_real_collector(self):
        self.push_to_a_real_one(os.environ["MIXSTACK_TEST_OTLP"])


class Otlp(PushCase):
    def setUp(self):
        super().setUp()
        if otlp_profiles.why_not():
            self.skipTest(otlp_profiles.why_not())

    def sums(self, store):
        sums = collections.defaultdict(collections.Counter)
        for request in store.taken:
            for kind, stacks in otlp_profiles.Profiles(gzip.decompress(request.body)).sums().items():
                sums[kind].update(stacks)
        return sums

    def test_processor_time(self):
        answer = (200, {"Content-Type": "application/x-protobuf"}, otlp_profiles.response())
        with Store(answer) as store:
            said, counts = self.record("otlp+" + store.url, "-d", "4", "--push-name", "shop", "--push-label", "env=test")
            self.assertEqual(counts, (len(store.taken), 0, 0, 0), said)
        self.assertGreaterEqual(len(store.taken), 3)
        self.assertEqual(self.sums(store), {("samples", "count"): self.written()["samples", "count"]})
        ids = set()
        for request in store.taken:
            self.assertEqual((request.path, request.query), ("/v1development/profiles", {}))
            self.assertEqual(request.headers["Content-Type"], "application/x-protobuf")
            self.assertEqual(request.headers["Content-Encoding"], "gzip")
            profiles = otlp_profiles.Profiles(gzip.decompress(request.body))
            for resource, profile in profiles.profiles():
                self.assertEqual((resource["service.name"], resource["env"]), ("shop", "test"))
                self.assertEqual(resource["host.name"], socket.gethostname())
                self.assertGreater(resource["process.pid"], 0)
                self.assertEqual(profile.period, 10**9 // 999)
                self.assertGreater(profile.time_unix_nano, 1.6e18)
                ids.add(profile.profile_id)
                for sample in profile.samples:
                    attributes = profiles.attributes(sample.attribute_indices)
                    self.assertEqual(attributes["mixstack.state"], "running")
                    self.assertGreater(attributes["thread.id"], 0)
        self.assertEqual(len(ids), len(store.taken))
        self.assertEqual({len(profile_id) for profile_id in ids}, {16})

    def test_wall_time_of_two_processes(self):
        with Store() as store, processes.scenario("split") as one, processes.scenario("split") as other:
            said, counts = self.run_it("-p", f"{one.pid},{other.pid}", "-d", "3", "-i", "--push", "otlp+" + store.url,
                                       "--push-interval", "1s", "-o", self.out)
            self.assertEqual(counts, (len(store.taken), 0, 0, 0), said)
        self.assertEqual(self.sums(store), {("wall", "nanoseconds"): self.written()["wall", "nanoseconds"]})
        pids = {resource["process.pid"] for request in store.taken
                for resource, _ in otlp_profiles.Profiles(gzip.decompress(request.body)).profiles()}
        self.assertEqual(pids, {one.pid, other.pid})

    def test_a_collector_that_takes_a_part(self):
        with Store((200, {}, otlp_profiles.response(1, "too many frames"))) as store:
            said, counts = self.record("otlp+" + store.url, "-d", "2", status=9)
            self.assertEqual(counts, (0, 0, 0, len(store.taken)), said)
        self.assertIn(("push_refused", "rejected"), mixstack_dump.reasons(said))
        self.assertIn("too many frames", said)  # the collector's words


if __name__ == "__main__":
    unittest.main()
