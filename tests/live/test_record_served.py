"""mixstack record --serve: the page while it is recorded."""
import http.client
import pathlib
import resource
import signal
import socket
import subprocess
import tempfile
import urllib.parse
import zlib

import mixstack_dump
import processes
from harness import LiveCase


class Served(LiveCase):
    """`record --serve`: the page while it is recorded, for who has its address."""

    def start(self, pid, *options, before=None):
        recording = subprocess.Popen([mixstack_dump.binary(), "record", "-p", str(pid), "--serve", *options],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                     preexec_fn=before)
        self.addCleanup(recording.stderr.close)
        self.addCleanup(recording.wait)
        self.addCleanup(recording.kill)
        [(code, address)] = mixstack_dump.told(recording.stderr.readline())
        self.assertEqual(code, "serves")
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$")
        return recording, urllib.parse.urlsplit(address)

    @staticmethod
    def fetch(address, path=None, host=None, method="GET"):
        """(status, fields, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        try:
            connection.putrequest(method, address.path if path is None else path, skip_host=True)
            connection.putheader("Host", address.netloc if host is None else host)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def newer(self, address, version):
        """The first data that is younger than a version: its version, and what it holds."""
        found = []

        def has_come():
            status, fields, body = self.fetch(address, f"{address.path}data?after={version}")
            self.assertIn(status, (200, 204))
            if status == 200:
                found[:] = int(fields["X-Version"]), zlib.decompress(body), fields["X-Ended"]
            return status == 200

        self.wait_until(has_come, f"data after version {version}")
        return found

    def test_it_refreshes_and_a_signal_writes_it(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            for number in (signal.SIGTERM, signal.SIGINT):
                out = pathlib.Path(folder) / "x.mxr"
                recording, address = self.start(debuggee.pid, "-o", out)
                status, fields, page = self.fetch(address)
                self.assertEqual((status, fields["Content-Type"]), (200, "text/html; charset=utf-8"))
                self.assertIn(b"<html", page)
                self.assertIn("default-src 'none'", fields["Content-Security-Policy"])
                version, data, ended = self.newer(address, 0)
                while b"Scenarios.Split.Sixty()" not in data:  # the first ones may be of no sample
                    version, data, ended = self.newer(address, version)
                younger, _, ended = self.newer(address, version)
                self.assertGreater(younger, version)
                self.assertEqual(ended, "0")
                recording.send_signal(number)
                said = recording.communicate(timeout=60)[1]
                self.assertEqual(recording.returncode, 0, said)
                self.assertIn(("wrote", str(out)), mixstack_dump.told(said))
                with self.assertRaises(ConnectionRefusedError):
                    self.fetch(address)
                done = subprocess.run([mixstack_dump.binary(), "convert", out, "-f", "folded", "-o", "-"], check=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60)
                self.assertIn("Scenarios.Split.Sixty()", done.stdout)
                out.unlink()

    def test_who_does_not_have_the_address_gets_nothing(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            _, address = self.start(debuggee.pid, "-o", pathlib.Path(folder) / "x.html")
            other = address.path[1:-1]
            other = other[:-1] + ("0" if other[-1] != "0" else "1")
            for status, path, host, method in (
                    (404, "/", None, "GET"), (404, f"/{other}/", None, "GET"), (404, f"/{other}/data", None, "GET"),
                    (404, address.path[:-1], None, "GET"), (404, f"{address.path}../etc/passwd", None, "GET"),
                    (403, None, f"example.com:{address.port}", "GET"), (403, None, "127.0.0.1:1", "GET"),
                    (403, None, "", "GET"), (405, None, None, "POST"), (200, None, f"localhost:{address.port}", "GET")):
                with self.subTest(path=path, host=host, method=method):
                    found, _, body = self.fetch(address, path, host, method)
                    self.assertEqual(found, status)
                    self.assertTrue(status == 200 or b"<html" not in body, body)

    def test_the_page_stays_after_the_time_is_up(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            out = pathlib.Path(folder) / "x.html"
            recording, address = self.start(debuggee.pid, "-d", "2", "-o", out)
            version, ended = 0, "0"
            while ended == "0":
                version, data, ended = self.newer(address, version)
            self.assertIn(b"Scenarios.Split.Sixty()", data)
            self.assertTrue(out.exists())
            self.assertIsNone(recording.poll())
            recording.send_signal(signal.SIGINT)
            said = recording.communicate(timeout=60)[1]
            self.assertEqual(recording.returncode, 0, said)
            self.assertIn("page_stays", mixstack_dump.codes(said))

    def test_idle_clients_leave_files_for_the_recording(self):
        with tempfile.TemporaryDirectory() as folder, processes.scenario("split") as debuggee:
            out = pathlib.Path(folder) / "x.folded"
            # Without a client it has 37 files open: images of the process, its threads, and what it reads at the moment.
            recording, address = self.start(debuggee.pid, "-d", "4", "-o", out,
                                            before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (52, 52)))
            idle = []
            try:
                for _ in range(60):
                    idle.append(socket.create_connection(("127.0.0.1", address.port), timeout=60))
                self.wait_until(out.exists, "the file to be written")
                self.assertEqual(self.fetch(address)[0], 200)
            finally:
                for connection in idle:
                    connection.close()
            recording.send_signal(signal.SIGINT)
            said = recording.communicate(timeout=60)[1]
            self.assertEqual(recording.returncode, 0, said)
            self.assertIn(("wrote", str(out)), mixstack_dump.told(said))
            self.assertIn("Scenarios.Split.Sixty()", out.read_text())


if __name__ == "__main__":
    unittest.main()
