#!/usr/bin/env python3
"""device_code.py PROGRAM [TARGET...]   counts the device code in a program by target, as cuobjdump --list-elf --list-ptx
does, and exits with 1 when there is none, or a TARGET ("sm_90", "compute_80") has none."""
import collections
import struct
import sys

REGION = struct.pack("<IHH", 0xBA55ED50, 1, 16)  # magic, version, size of the header; then the size of what follows


def entries(program: bytes):
    """(kind, architecture) of every entry of every fat binary; kind 1 is PTX, 2 a cubin."""
    at = program.find(REGION)
    while at >= 0:
        end = at + 16 + struct.unpack_from("<Q", program, at + 8)[0]
        entry = at + 16
        while entry + 64 <= end <= len(program):
            kind, _, header, size = struct.unpack_from("<HHIQ", program, entry)
            if header < 32:
                break
            yield kind, struct.unpack_from("<I", program, entry + 28)[0]
            entry += header + size
        at = program.find(REGION, max(entry, at + 16))


def main() -> int:
    with open(sys.argv[1], "rb") as file:
        found = collections.Counter(
            f"{'compute' if kind == 1 else 'sm'}_{architecture}" for kind, architecture in entries(file.read())
        )
    for target, count in sorted(found.items()):
        print(f"{count:5}  {target}")
    missing = [target for target in sys.argv[2:] if target not in found]
    for target in missing:
        print(f"no code for {target}")
    return bool(missing) or not found


sys.exit(main())
