#!/usr/bin/env python3
"""usage: elf.py OUT CLASS MACHINE [INTERPRETER [NEEDED...]]

The head of a program for any machine, as far as evsmp reads it: no code is in it. CLASS is 32 or 64; MACHINE is the
number of <elf.h>, such as 3 for i386 and 62 for amd64. INTERPRETER "": none.
"""
import os
import struct
import sys

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_NEEDED, DT_STRTAB = 0, 1, 5


def program_header(is_64, kind, at, size):
    if is_64:
        return struct.pack("<IIQQQQQQ", kind, 4, at, at, at, size, size, 8)
    return struct.pack("<IIIIIIII", kind, at, at, at, size, size, 4, 4)


def main(out, width, machine, interpreter="", *needed):
    is_64 = width == "64"
    head, entry = (64, 56) if is_64 else (52, 32)
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    text = interpreter.encode() + b"\0"
    at_text = head + 3 * entry
    at_strings = at_text + len(text)
    at_dynamic = (at_strings + len(strings) + 7) // 8 * 8
    entries, offset = [(DT_STRTAB, at_strings)], 1
    for name in needed:
        entries.append((DT_NEEDED, offset))
        offset += len(name) + 1
    dynamic = b"".join(struct.pack("<QQ" if is_64 else "<II", *pair) for pair in entries + [(DT_NULL, 0)])
    ident = b"\x7fELF" + bytes([2 if is_64 else 1, 1, 1]) + bytes(9)
    fields = (3, int(machine), 1, 0, head, 0, 0, head, entry, 3 if interpreter or needed else 0, 0, 0, 0)
    data = ident + struct.pack("<HHIQQQIHHHHHH" if is_64 else "<HHIIIIIHHHHHH", *fields)
    data += program_header(is_64, PT_LOAD, 0, at_dynamic + len(dynamic))
    data += program_header(is_64, PT_DYNAMIC if needed else 0, at_dynamic, len(dynamic))
    data += program_header(is_64, PT_INTERP if interpreter else 0, at_text, len(text))
    data += (text + strings).ljust(at_dynamic - at_text, b"\0") + dynamic
    with open(out, "wb") as f:
        f.write(data)
    os.chmod(out, 0o755)


main(*sys.argv[1:])
