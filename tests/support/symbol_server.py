"""A symbol server of the tests' own: right files, and every way of being a bad server."""
import http.server
import socket
import threading
import time


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` (path without the slash in front -> bytes); `behaviour(handler)` answers in their place."""

    daemon_threads = True

    def __init__(self, files=None, behaviour=None):
        self.files, self.behaviour, self.asked = files or {}, behaviour, []
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass  # a client that had enough


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path.lstrip("/"))
        if self.server.behaviour:
            return self.server.behaviour(self)
        body = self.server.files.get(self.path.lstrip("/"))
        self.answer(200 if body is not None else 404, body or b"nothing of that name")

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def hangs(handler):
    """Takes the question and says nothing."""
    handler.server.closing.wait(120)


def drips(handler):
    """A byte now and then."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        if handler.server.closing.wait(0.2):
            return


def redirects_in_a_loop(handler):
    handler.answer(302, b"", Location=f"/again/{time.monotonic_ns()}")


def redirects_to_a_file(handler):
    handler.answer(302, b"", Location="file:///etc/passwd")


def fails(handler):
    handler.answer(500, b"broken")


def sends_less_than_it_says(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    handler.wfile.write(b"x" * 1000)


def says_it_sends_too_much(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 44))
    handler.end_headers()
    handler.wfile.write(b"x" * 1000)


def sends_without_end(handler):
    """Megabytes, and no word of how many."""
    handler.send_response(200)
    handler.end_headers()
    piece = b"\x7fELF" * (1 << 18)
    while not handler.server.closing.is_set():
        handler.wfile.write(piece)


def talks_nonsense(handler):
    handler.wfile.write(b"\0\1\2 this is no HTTP\r\n\r\n")


def serves(body):
    """The same bytes, whatever is asked for."""
    return lambda handler: handler.answer(200, body)


def closed_port():
    """URL of a server that is not there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
