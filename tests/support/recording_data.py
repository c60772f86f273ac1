"""What a recording says of itself as data: the head of the page that is made of it (src/output/report/page_data.cc)."""
import base64
import json
import pathlib
import re
import struct
import subprocess
import tempfile
import zlib

import mixstack_dump

STOPS = "stops by ptrace"  # the name of that source
BLOCK = re.compile(r'<script type="application/octet-stream" id="data-recording">([^<]*)</script>')


def head_of(page):
    """The head of the text of a page: `facts`, `processes`, `threads`, `modules`, `functions`."""
    data = base64.b64decode(BLOCK.search(page)[1])
    if not data.startswith(b"MXP1"):
        data = zlib.decompress(data)
    size = struct.unpack_from("<I", data, 4)[0]
    return json.loads(data[8:8 + size])


def convert(path, *options):
    return subprocess.run([mixstack_dump.binary(), "convert", path, *options, "-o", "-"], check=True, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120).stdout


def stacks_of(folded):
    """[(functions, outermost first; count)]."""
    return [(names.split(";"), int(count)) for names, count in (line.rsplit(" ", 1) for line in folded.splitlines())]


class Recorded:
    """A raw recording of one run: its exit status, its facts, and its stacks by options of `mixstack convert`."""

    def __init__(self, done, path):
        self.status, self.said = done.returncode, done.stderr
        self.head = head_of(convert(path, "-f", "html")) if path.exists() else None
        self.path = path

    @property
    def facts(self):
        return self.head["facts"]

    @property
    def sources(self):
        """"perf events", "stops by ptrace", ..."""
        return self.facts["source"]

    def stacks(self, *options):
        return stacks_of(convert(self.path, "-f", "folded", *options))


def record(folder, pid, *options, timeout=120, before=None):
    """Records to a file of `folder`; `before` is called in the child."""
    path = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "x.mxr"
    done = subprocess.run([mixstack_dump.binary(), "record", "-p", str(pid), *options, "-o", path],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, preexec_fn=before)
    return Recorded(done, path)
