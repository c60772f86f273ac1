"""Many dumps of one process through libmixstack: what the command answers, without opening the process for each."""
import ctypes
import json
import time

import mixstack_dump


class _Options(ctypes.Structure):  # mixstack_options
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.POINTER(ctypes.c_uint32)), ("thread_count", ctypes.c_size_t),
                ("max_frames", ctypes.c_uint32), ("stop_timeout_ms", ctypes.c_uint32), ("explicit_frames", ctypes.c_int32),
                ("late_timeout_ms", ctypes.c_uint32)]


class _Error(ctypes.Structure):  # mixstack_error
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32), ("os_error", ctypes.c_int32), ("value", ctypes.c_uint64)]


def library():
    """The shared library that was built with the command, or None: emulated, or the command alone."""
    command = mixstack_dump.binary()
    path = command and command.absolute().parent.parent / "lib" / "libmixstack.so"
    return path if path and path.exists() else None


class WarmSession:
    """Of a live process. Use as a context manager; by one thread at a time."""

    def __init__(self, pid):
        self._lib = ctypes.CDLL(str(library()))
        for name, result, arguments in (("open_process", ctypes.c_void_p, (ctypes.c_uint32, ctypes.POINTER(_Error))),
                                        ("close", None, (ctypes.c_void_p,)),
                                        ("take_dump", ctypes.c_void_p,
                                         (ctypes.c_void_p, ctypes.POINTER(_Options), ctypes.POINTER(_Error))),
                                        ("free_dump", None, (ctypes.c_void_p,)), ("json", ctypes.c_char_p, (ctypes.c_void_p,)),
                                        ("error_name", ctypes.c_char_p, (ctypes.c_int32,))):
            function = getattr(self._lib, f"mixstack_{name}")
            function.restype, function.argtypes = result, arguments
        self._error = _Error(ctypes.sizeof(_Error))
        self._session = self._lib.mixstack_open_process(pid, self._error)
        if not self._session:
            raise mixstack_dump.DumpError(f"opening {pid}: {self._said()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._lib.mixstack_close(self._session)

    def _said(self):
        return self._lib.mixstack_error_name(self._error.code).decode()

    def _take(self, options):
        dump = self._lib.mixstack_take_dump(self._session, options, self._error)
        if not dump:
            raise mixstack_dump.DumpError(f"a dump: {self._said()}")
        return dump

    def milliseconds(self):
        """What one dump of all threads takes."""
        begin = time.monotonic()
        dump = self._take(None)
        spent = (time.monotonic() - begin) * 1000
        self._lib.mixstack_free_dump(dump)
        return spent

    def dump(self, tid, stop_timeout=5000):
        """The parsed JSON, of one thread."""
        dump = self._take(_Options(ctypes.sizeof(_Options), (ctypes.c_uint32 * 1)(tid), 1, 0, stop_timeout, 0, 0))
        try:
            return json.loads(self._lib.mixstack_json(dump))
        finally:
            self._lib.mixstack_free_dump(dump)
