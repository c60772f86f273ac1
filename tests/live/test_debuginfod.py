"""Symbols that a debuginfod server has and this machine has not, for live processes and cores."""
import http.server
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from harness import LiveCase
import cores
import debuggee_build
import mixstack_dump
import processes


class Server(http.server.ThreadingHTTPServer):
    """Serves one file as the debug file of whatever build id is asked for."""

    daemon_threads = True

    def __init__(self, file, silent=False):
        self.file, self.asked, self.silent = file, [], threading.Event()
        if not silent:
            self.silent.set()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.silent.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.server.silent.wait(120)
        is_known = self.server.file is not None and self.path.endswith("/debuginfo")
        body = self.server.file.read_bytes() if is_known else b""
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Debuginfod(LiveCase):
    needs_dotnet = False

    def setUp(self):
        super().setUp()
        if shutil.which("debuginfod-find") is None:
            self.skipTest("debuginfod-find is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program, self.debug = self.folder / "plain", self.folder / "elsewhere.debug"
        built = debuggee_build.NATIVE / "plain"
        subprocess.run(["objcopy", "--only-keep-debug", built, self.debug], check=True)
        subprocess.run(["strip", "-o", self.program, built], check=True)

    def environment(self, server):
        return dict(os.environ, DEBUGINFOD_URLS=f"http://127.0.0.1:{server.server_port}",
                    DEBUGINFOD_CACHE_PATH=str(self.folder / "cache"))

    def names(self, server, *options):
        command = [str(mixstack_dump.binary()), "dump", *map(str, options), "--json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              env=self.environment(server))
        dump = mixstack_dump._parsed((done.returncode, done.stdout.decode(), done.stderr.decode(), 0))
        return [frame["name"] for thread in dump["threads"] for frame in thread["frames"]
                if frame["module"] == "plain"], dump

    def test_a_live_process(self):
        with processes.Debuggee([str(self.program), "2"]) as target:
            with Server(None) as server:
                without, _ = self.names(server, target.pid)
            self.assertTrue(server.asked)
            shutil.rmtree(self.folder / "cache")  # where it is kept that there is none
            with Server(self.debug) as server:
                names, dump = self.names(server, target.pid)
            self.assertEqual(len(names), len(without))
            self.assertTrue(all(name.startswith("plain+") for name in without), without)
            self.assertEqual(names.count("plain::run(int)"), 3, names)
            self.assertFalse(any(name.startswith("plain+") for name in names), names)
            self.assertEqual(dump["diagnoses"], [])
            self.assertEqual({path.rsplit("/", 1)[1] for path in server.asked}, {"debuginfo"})

    def test_a_core(self):
        with processes.Debuggee([str(self.program), "2"]) as target:
            core = cores.gcore(target.pid, self.folder / "core")
            with Server(self.debug) as server:
                names, _ = self.names(server, "--core", core)
        self.assertEqual(names.count("plain::run(int)"), 3, names)

    def test_a_server_with_another_file(self):
        other = self.folder / "other.debug"
        subprocess.run(["objcopy", "--only-keep-debug", debuggee_build.NATIVE / "handler", other], check=True)
        with processes.Debuggee([str(self.program), "2"]) as target, Server(other) as server:
            names, _ = self.names(server, target.pid)
        self.assertTrue(names and all(name.startswith("plain+") for name in names), names)

    def test_a_server_that_does_not_answer(self):
        """The target runs meanwhile, and a signal ends the command."""
        with processes.Debuggee([str(self.program), "2"]) as target, Server(self.debug, silent=True) as server:
            command = subprocess.Popen([str(mixstack_dump.binary()), "dump", str(target.pid)],
                                       stdout=subprocess.DEVNULL, env=self.environment(server))
            self.wait_until(lambda: server.asked, "a question")
            self.assertNotIn("t", processes.thread_states(target.pid).values())
            status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
            self.assertIn("TracerPid:\t0\n", status)
            command.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            command.wait(timeout=10)
            self.assertLess(time.monotonic() - begin, 1)
