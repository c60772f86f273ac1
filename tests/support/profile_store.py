"""A store of profiles of the tests' own: remembers what it was sent, and answers as it is told."""
import http.server
import threading
import urllib.parse


class Received:
    def __init__(self, handler, body):
        url = urllib.parse.urlsplit(handler.path)
        self.path, self.query = url.path, dict(urllib.parse.parse_qsl(url.query, strict_parsing=bool(url.query)))
        self.headers, self.body = handler.headers, body


class Store(http.server.ThreadingHTTPServer):
    """`answers`: a status, (status, headers, body) or a function of the handler for each request in a row, the last of them
    for all that follow. `taken`: requests that were answered with 200."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *answers, port=0):
        self.answers, self.received, self.taken, self.lock = list(answers) or [200], [], [], threading.Lock()
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", port), _Handler)
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
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = Received(self, self.rfile.read(int(self.headers["Content-Length"])))
        store = self.server
        with store.lock:
            answer = store.answers[min(len(store.received), len(store.answers) - 1)]
            store.received.append(request)
        if callable(answer):
            return answer(self)
        status, headers, body = answer if isinstance(answer, tuple) else (answer, {}, b"")
        if status == 200:
            with store.lock:
                store.taken.append(request)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
