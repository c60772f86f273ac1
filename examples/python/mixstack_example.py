#!/usr/bin/env python3
"""The C interface by ctypes: the stacks of a process, whether it is stuck, what it did for a second, and its
busiest threads.

  mixstack_example.py PID          MIXSTACK_LIBRARY names the library; default: libmixstack.so.0 as the loader finds it
"""
import ctypes
import json
import os
import sys
import time


class Error(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32), ("os_error", ctypes.c_int32),
                ("value", ctypes.c_uint64)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.POINTER(ctypes.c_uint32)), ("thread_count", ctypes.c_size_t),
                ("max_frames", ctypes.c_uint32), ("stop_timeout_ms", ctypes.c_uint32),
                ("explicit_frames", ctypes.c_int32), ("late_timeout_ms", ctypes.c_uint32)]


class Thread(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("tid", ctypes.c_uint32), ("managed_id", ctypes.c_uint32),
                ("name", ctypes.c_char_p), ("exception", ctypes.c_char_p), ("frame_count", ctypes.c_size_t),
                ("captured", ctypes.c_int32), ("is_complete", ctypes.c_int32), ("stop_reason", ctypes.c_char_p)]


class RecordProgress(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("elapsed_ns", ctypes.c_uint64), ("samples", ctypes.c_uint64),
                ("lost", ctypes.c_uint64), ("step", ctypes.c_int32), ("reserved", ctypes.c_int32)]


PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(RecordProgress))
PIECE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class RecordOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("duration_ms", ctypes.c_uint32), ("hertz", ctypes.c_uint32),
                ("mode", ctypes.c_int32), ("no_stop", ctypes.c_int32), ("kernel", ctypes.c_int32),
                ("async_callers", ctypes.c_int32), ("piece_ms", ctypes.c_uint32), ("reserved", ctypes.c_int32),
                ("progress", PROGRESS), ("piece", PIECE), ("context", ctypes.c_void_p)]


class Function(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("raw_name", ctypes.c_char_p),
                ("module", ctypes.c_char_p), ("self_ns", ctypes.c_uint64), ("total_ns", ctypes.c_uint64),
                ("kind", ctypes.c_int32), ("is_user", ctypes.c_int32)]


class TopQuestion(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("list", ctypes.c_int32), ("states", ctypes.c_int32),
                ("whole", ctypes.c_int32), ("most_rows", ctypes.c_uint32)]


class TopRow(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("module", ctypes.c_char_p),
                ("self_ns", ctypes.c_uint64), ("total_ns", ctypes.c_uint64), ("tid", ctypes.c_uint32),
                ("kind", ctypes.c_int32)]


THREADS, ALL_STATES = 1, 1


def library():
    lib = ctypes.CDLL(os.environ.get("MIXSTACK_LIBRARY", "libmixstack.so.0"))
    # Without these ctypes would cut pointers to an int.
    for name, result, arguments in (
            ("mixstack_open_process", ctypes.c_void_p, [ctypes.c_uint32, ctypes.POINTER(Error)]),
            ("mixstack_close", None, [ctypes.c_void_p]),
            ("mixstack_take_dump", ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(Options), ctypes.POINTER(Error)]),
            ("mixstack_free_dump", None, [ctypes.c_void_p]),
            ("mixstack_why", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Error)]),
            ("mixstack_free_answer", None, [ctypes.c_void_p]),
            ("mixstack_answer_verdict", ctypes.c_int, [ctypes.c_void_p]),
            ("mixstack_answer_json", ctypes.c_char_p, [ctypes.c_void_p]),
            ("mixstack_record", ctypes.c_void_p,
             [ctypes.c_void_p, ctypes.POINTER(RecordOptions), ctypes.POINTER(Error)]),
            ("mixstack_free_recording", None, [ctypes.c_void_p]),
            ("mixstack_recording_samples", ctypes.c_uint64, [ctypes.c_void_p]),
            ("mixstack_function_count", ctypes.c_size_t, [ctypes.c_void_p]),
            ("mixstack_get_function", ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Function)]),
            ("mixstack_recording_file", ctypes.c_void_p,
             [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)]),
            ("mixstack_open_top", ctypes.c_void_p, [ctypes.c_uint32, ctypes.c_void_p, ctypes.POINTER(Error)]),
            ("mixstack_close_top", None, [ctypes.c_void_p]),
            ("mixstack_next_top", ctypes.c_int, [ctypes.c_void_p]),
            ("mixstack_top_rows", ctypes.c_size_t, [ctypes.c_void_p, ctypes.POINTER(TopQuestion)]),
            ("mixstack_get_top_row", ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(TopRow)]),
            ("mixstack_thread_count", ctypes.c_size_t, [ctypes.c_void_p]),
            ("mixstack_get_thread", ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Thread)]),
            ("mixstack_json", ctypes.c_char_p, [ctypes.c_void_p]),
            ("mixstack_frame_text", ctypes.c_size_t,
             [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
            ("mixstack_describe_error", ctypes.c_size_t, [ctypes.POINTER(Error), ctypes.c_char_p, ctypes.c_size_t])):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def stacks(lib, dump):
    """[(thread name, [frame name, ...]), ...]; texts are copied, they end with the dump."""
    for i in range(lib.mixstack_thread_count(dump)):
        thread = Thread(size=ctypes.sizeof(Thread))
        lib.mixstack_get_thread(dump, i, thread)
        names = []
        for j in range(thread.frame_count):
            text = ctypes.create_string_buffer(1024)
            lib.mixstack_frame_text(dump, i, j, text, len(text))
            names.append(text.value.decode(errors="replace"))
        yield f"{thread.tid} {thread.name.decode()}", names


def record(lib, session, error):
    """A second of wall time: (samples, [(function, own time in ms), ...], the bytes of a file for speedscope)."""
    def on_progress(_, now):
        print(f"  {now.contents.elapsed_ns / 1e9:.1f} s, {now.contents.samples} samples", file=sys.stderr)
        return 1  # 0 ends it, with what was recorded until then

    options = RecordOptions(size=ctypes.sizeof(RecordOptions), duration_ms=1000, progress=PROGRESS(on_progress))
    recording = lib.mixstack_record(session, options, error)
    if not recording:
        return None
    functions = []
    for i in range(lib.mixstack_function_count(recording)):
        function = Function(size=ctypes.sizeof(Function))
        lib.mixstack_get_function(recording, i, function)
        functions.append((function.name.decode(errors="replace"), function.self_ns / 1e6))
    size = ctypes.c_size_t()
    file = ctypes.string_at(lib.mixstack_recording_file(recording, b"speedscope", size), size.value)
    samples = lib.mixstack_recording_samples(recording)
    lib.mixstack_free_recording(recording)
    return samples, functions, file


def busiest_threads(lib, pid, error):
    """Of a second: [(thread, ms), ...]; None: they cannot be sampled."""
    top = lib.mixstack_open_top(pid, None, error)
    if not top:
        return None
    time.sleep(1)
    lib.mixstack_next_top(top)
    question = TopQuestion(size=ctypes.sizeof(TopQuestion), list=THREADS, states=ALL_STATES, most_rows=3)
    rows = []
    for i in range(lib.mixstack_top_rows(top, question)):
        row = TopRow(size=ctypes.sizeof(TopRow))
        lib.mixstack_get_top_row(top, i, row)
        rows.append((row.name.decode(errors="replace"), row.self_ns / 1e6))
    lib.mixstack_close_top(top)
    return rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lib, error = library(), Error(size=ctypes.sizeof(Error))
    session = lib.mixstack_open_process(int(sys.argv[1]), error)
    # On a machine with much to do a thread may need longer than the usual 20 ms to stop.
    options = Options(size=ctypes.sizeof(Options), stop_timeout_ms=5000)
    dump = lib.mixstack_take_dump(session, options, error) if session else None
    answer = lib.mixstack_why(session, None, error) if dump else None
    recorded = record(lib, session, error) if answer else None
    lib.mixstack_close(session)
    if not recorded:
        words = ctypes.create_string_buffer(256)
        lib.mixstack_describe_error(error, words, len(words))
        sys.exit(f"{sys.argv[1]}: {words.value.decode()}")
    for thread, names in stacks(lib, dump):
        print(f"thread {thread}")
        for number, name in enumerate(names):
            print(f"  #{number:<2} {name}")
    # The same and all the rest, as the command's --json has it.
    whole = json.loads(lib.mixstack_json(dump))
    print(f"{len(whole['threads'])} threads")
    lib.mixstack_free_dump(dump)
    # The same session again: what it waits for, as `mixstack why --json` has it.
    verdicts = [verdict["kind"] for verdict in json.loads(lib.mixstack_answer_json(answer))["verdicts"]]
    print(f"why: {', '.join(verdicts) or 'nothing is stuck'} ({lib.mixstack_answer_verdict(answer)})")
    lib.mixstack_free_answer(answer)
    samples, functions, file = recorded
    print(f"recorded: {samples} samples, {len(json.loads(file)['profiles'])} profiles")
    for name, milliseconds in functions[:5]:
        print(f"  {milliseconds:6.0f} ms {name}")
    rows = busiest_threads(lib, int(sys.argv[1]), error) or []
    print(f"top: {len(rows)} threads")
    for name, milliseconds in rows:
        print(f"  {milliseconds:6.0f} ms {name}")


if __name__ == "__main__":
    main()
