"""Small x86-64 cores that ask for a lot: made by hand, as no kernel writes them."""
import struct

CODE, STACK = 0x400000, 0x7F0000000000
_READ, _WRITE, _EXECUTE = 4, 2, 1
_PT_LOAD, _PT_NOTE = 1, 4
_NT_PRSTATUS = 1
# struct elf_prstatus: registers from byte 112 on, in the order of user_regs_struct.
_STATUS_SIZE, _REGISTERS, _RBP, _RIP, _RSP = 336, 112, 4, 16, 19
_CALL = b"\xe8\x00\x00\x00\x00"
_RETURN = CODE + 64 + len(_CALL)


def _status(tid, rbp, rsp):
    status = bytearray(_STATUS_SIZE)
    struct.pack_into("<I", status, 32, tid)
    for number, value in ((_RBP, rbp), (_RIP, _RETURN), (_RSP, rsp)):
        struct.pack_into("<Q", status, _REGISTERS + 8 * number, value)
    return bytes(status)


def _note(kind, content):
    return struct.pack("<III", 5, len(content), kind) + b"CORE\0\0\0\0" + content


def _core(notes, segments):
    """`segments`: (address, flags, bytes)."""
    count = 1 + len(segments)
    at = 64 + 56 * count
    headers, body = [struct.pack("<IIQQQQQQ", _PT_NOTE, 0, at, 0, 0, len(notes), 0, 4)], [notes]
    at += len(notes)
    for address, flags, content in segments:
        headers.append(struct.pack("<IIQQQQQQ", _PT_LOAD, flags, at, address, 0, len(content), len(content), 4096))
        body.append(content)
        at += len(content)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0)
    return b"".join([head, *headers, *body])


def _chain(base, frames):
    """A chain of `frames` frame pointers from `base` on, each with the same return address."""
    return b"".join(struct.pack("<QQ", base + 16 * (i + 1), _RETURN) for i in range(frames - 1)) + bytes(64)


def shared_stack(path, threads, frames):
    """All threads stand on one stack of `frames` frames."""
    code = bytes(64) + _CALL + bytes(4096 - 64 - len(_CALL))
    notes = b"".join(_note(_NT_PRSTATUS, _status(100 + i, STACK, STACK - 32)) for i in range(threads))
    stack = bytes(64) + _chain(STACK, frames)
    path.write_bytes(_core(notes, [(CODE, _READ | _EXECUTE, code), (STACK - 64, _READ | _WRITE, stack)]))


def many_threads(path, threads, frames, spacing=4096):
    """Each thread has a stack and a mapping of its own, the later the lower, as the kernel places them."""
    code = bytes(64) + _CALL + bytes(4096 - 64 - len(_CALL))
    notes, segments = [], [(CODE, _READ | _EXECUTE, code)]
    for i in range(threads):
        base = STACK - 2 * spacing * i
        notes.append(_note(_NT_PRSTATUS, _status(100 + i, base + 64, base + 32)))
        stack = bytes(64) + _chain(base + 64, frames)
        segments.append((base, _READ | _WRITE, stack))
    segments.sort()
    headers_in_section = len(segments) + 1
    if headers_in_section >= 0xFFFF:
        raise ValueError("too many program headers")
    path.write_bytes(_core(b"".join(notes), segments))
