"""Special functions in the explorer: their bits, their errors, keys and pointer; explorer_test.py runs them."""
import ctypes
import json
import random
import struct

from chromium import check
from explorer_looks import GONE_THROUGH

ROWS = "explorer.call('functions').functions"


def results_of(library, row, x, y):
    """The library's, as integers."""
    words = [(ctypes.c_uint32 * len(each))(*each) for each in (x, y, [0] * len(x))]
    library.check(library.lib.mmaudit_function(row["name"].encode(), words[0], words[1] if row["operands"] == 2 else None,
                                               len(x), words[2]))
    return list(words[2])


def same_functions(page, library):
    """Every special function on random bits, and a binade's errors by Python's numbers."""
    draw, wrong, count = random.Random(4), [], 0
    for row in page.run(ROWS):
        bits = 32 if row["format"] == "f32" else 16
        x, y = ([draw.getrandbits(bits) for _ in range(40)] for _ in range(2))
        found = page.run("(%s).map(([x, y]) => explorer.call('function', '%s', x, y).result)"
                         % (json.dumps([[f"0x{a:0{bits // 4}x}", f"0x{b:0{bits // 4}x}"] for a, b in zip(x, y)]), row["name"]))
        for a, b, here, there in zip(x, y, found, results_of(library, row, x, y)):
            count += 1
            if int(here, 16) != there:
                wrong.append((row["name"], hex(a), hex(b), here, hex(there)))
    check(f"{count} special functions: the library's bits", wrong[:1], not wrong and count > 1500)
    row, first = {"name": "ex2.approx.f16", "operands": 1}, 0x3800  # [0.5, 1): a column per operand
    half = lambda word: struct.unpack("<e", word.to_bytes(2, "little"))[0]
    x = list(range(first, first + 1024))
    errors = [(half(result) - 2.0 ** half(a)) * 1024 for a, result in zip(x, results_of(library, row, x, x))]
    found = page.run(f"explorer.call('binade', '{row['name']}', '{first + 77:x}', '0', 0, 5000)")
    far = max(abs(here - there) for columns, there in zip(found["errors"], errors) for here in columns)
    check("a binade's errors are Python's", far, far < 1e-9 and len(found["errors"]) == len(errors) == found["judged"])
    worst = sorted(map(abs, errors), reverse=True)[:5]
    far = max(abs(abs(one["error"]) - there) for one, there in zip(found["worst"], worst, strict=True))
    check("so are the worst", far, far < 1e-9)


def functions_by_hand(page):
    """What the view shows, keys and pointer."""
    shown = lambda: page.run("document.querySelector('#function-about code').textContent")
    page.run("explorer.show({ view: 'functions', fn: 'ex2.approx.f32', x: '0.3', y: '' })")
    page.run(GONE_THROUGH)
    check("ex2(0.3) is shown", shown(), shown() == "0x3F9D9624")  # as docs/functions.md's command prints it
    text = page.run("document.getElementById('binade-text').textContent")
    check("its binade was gone through", text, "8388608 of 8388608 operands" in text)
    steps = page.run("[...document.querySelectorAll('#function-steps th')].map((x) => x.textContent)")
    check("its steps", steps, steps == ["x", "instructions", "unit", "segment", "constant", "linear", "square", "offset",
                                        "sum", "exact value", "vendor's bound", "known"])
    page.run("document.getElementById('fx').focus()")
    page.key("ArrowUp", 38)
    x = page.run("explorer.state.x")
    check("the arrow key takes the next number", x, x == "0.30000004172325134")
    page.run("document.querySelector('#worst button').click()")
    error = page.run("document.getElementById('function-about').textContent")
    worst = page.run("document.querySelector('#worst button').textContent").split(": ")[1]
    check("the worst input is chosen", (error, worst), worst + " from the exact value" in error)
    page.run("document.getElementById('binade-up').click()")
    x = page.run("Number(explorer.state.x)")
    check("the binade above", x, 0.5 <= x < 1)
    page.run("explorer.show({ fn: 'divide', x: '1', y: '3' })")
    check("1 / 3", shown(), shown() == "0x3EAAAAAB" and not page.run("document.getElementById('fy-label').hidden"))
    page.run("explorer.show({ x: 'nothing' })")
    said = page.run("document.getElementById('function-error').textContent")
    check("what is no number is refused", said, said.startswith('x: found "nothing"'))
