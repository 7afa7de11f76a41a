#!/usr/bin/env python3
"""cuobjdump -sass PROGRAM | listing.py SYMBOL... > sm_90a.listing

Shortens a disassembly to what the timing model reads: per function a line `kernel NAME`, then per instruction the 21
bits of its control word (bits 105 to 125 of the encoding) in hexadecimal, and its text. Instruction i stands at address
16 * i. Functions whose name holds none of the SYMBOLs are left out; so is what follows the last EXIT.
"""
import re
import sys

functions, name, text = {}, None, None
for line in sys.stdin:
    if found := re.search(r"Function : (\S+)", line):
        name = found.group(1)
        functions[name] = []
    elif found := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s*(.*?)\s*;?\s*/\* 0x[0-9a-f]{16} \*/", line):
        text = found.group(2).rstrip(" ;")
    elif name and text is not None and (found := re.match(r"\s*/\* 0x([0-9a-f]{16}) \*/", line)):
        functions[name].append((int(found.group(1), 16) >> 41 & 0x1FFFFF, text))
        text = None
print("# control word and text of each instruction; written by docs/experiments/whole/listing.py")
for name, lines in functions.items():
    if not any(symbol in name for symbol in sys.argv[1:]):
        continue
    while lines and "EXIT" not in lines[-1][1]:
        lines.pop()
    print("kernel", name)
    for control, text in lines:
        print(f"{control:06x} {text}")
