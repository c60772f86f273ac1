"""Chromium without a window, driven through the DevTools protocol over pipes: no packages, no port.

    with Browser() as browser:
        page = browser.open("file:///tmp/flame.html")
        page.wait("document.documentElement.dataset.ready")
        page.evaluate("1 + 1")

Everything the page asked of the network and everything it complained of is in `page.requests` and `page.complaints`.
"""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
KEYS = {"Escape": 27, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}


def find():
    """The browser's path; None: there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Failure(Exception):
    """The browser said no, or nothing in time."""


def high(descriptor):
    """The same, out of the way of 3 and 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Pipe:
    """Messages of the protocol: JSON, ended by a zero byte. The browser reads its descriptor 3 and writes 4."""

    def __init__(self, arguments, log):
        to_browser, self.outgoing = map(high, os.pipe())
        self.incoming, from_browser = map(high, os.pipe())
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *arguments], pass_fds=(to_browser, from_browser),
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = bytearray()
        self.searched = 0

    def send(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.outgoing, data):]

    def receive(self, deadline):
        while (end := self.buffer.find(b"\0", self.searched)) < 0:
            self.searched = len(self.buffer)
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.incoming], [], [], left)[0]:
                raise Failure("the browser said nothing in time")
            piece = os.read(self.incoming, 1 << 20)
            if not piece:
                raise Failure("the browser ended")
            self.buffer += piece
        message = json.loads(self.buffer[:end])
        del self.buffer[:end + 1]
        self.searched = 0
        return message

    def close(self):
        os.close(self.outgoing)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.incoming)


class Browser:
    def __init__(self, *arguments, timeout=30):
        self.timeout = timeout
        self.profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        self.log = open(pathlib.Path(self.profile.name) / "log", "w+b")
        command = [find(), "--headless", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "--no-first-run",
                   "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--no-default-browser-check", *arguments]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # its sandbox does not start as root
        self.pipe = Pipe(command, self.log)
        self.number = 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.pipe.send({"id": 0, "method": "Browser.close"})
        except OSError:
            pass
        self.pipe.close()
        self.log.close()
        self.profile.cleanup()

    def call(self, method, parameters=None, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        self.pipe.send(message)
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self.pipe.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        page = self.pages.get(event.get("sessionId"))
        if page:
            page.note(event["method"], event["params"])

    def open(self, address, **options):
        page = Page(self, **options)
        page.go(address)
        return page


class Page:
    def __init__(self, browser, width=1280, height=800, dark=False, scale=1):
        self.browser = browser
        self.requests = []
        self.complaints = []
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.size(width, height, scale)
        self.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def call(self, method, parameters=None):
        return self.browser.call(method, parameters, self.session)

    def note(self, method, parameters):
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def go(self, address):
        answer = self.call("Page.navigate", {"url": address})
        if "errorText" in answer:
            raise Failure(f"{address}: {answer['errorText']}")

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, expression, seconds=20):
        """Until it is true in the page; answers its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.evaluate(f"(() => {{ try {{ return {expression} }} catch {{ return null }} }})()")
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failure(f"never true: {expression}; {self.complaints}")
            time.sleep(0.02)

    def press(self, key, modifiers=0):
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
        fields = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper())), "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", "text": text, **fields} if text else {"type": "rawKeyDown", **fields})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **fields})

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def mouse(self, kind, x, y, buttons=0):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left" if kind != "mouseMoved" or buttons else "none",
                                               "buttons": buttons, "clickCount": 1})

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y)

    def click_on(self, selector):
        x, y = self.evaluate(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                             " return [r.x + r.width / 2, r.y + r.height / 2] })()")
        self.click(x, y)

    def drag(self, x, y, to_x):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * step / 5, y, 1)
        self.mouse("mouseReleased", to_x, y)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})
        self.browser.pages.pop(self.session, None)
