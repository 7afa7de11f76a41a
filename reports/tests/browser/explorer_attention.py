"""Attention in the explorer: its bits, its pictures, pointer and address; explorer_test.py runs them."""
import ctypes
import json
import random
import struct

from chromium import check

#: Of docs/attention.md, as a plan's words say them.
FIELDS = ("qk", "pv", "block q", "block k", "order", "score", "log2e", "exponential", "p", "offset", "threshold", "row sum", "join",
          "output sum", "division", "lse", "output")
ALL = "explorer.call('attentions').attentions"


def code_of(number, kind):
    """A small number that every type has, as bytes."""
    if kind == "f16":
        return struct.pack("<e", number)
    if kind == "bf16":
        return struct.pack("<f", number)[2:]
    fraction, bias = (3, 7) if kind == "e4m3" else (2, 15)
    if number == 0:
        return b"\0"
    size, e = abs(number), 0
    while size >= 2:
        size, e = size / 2, e + 1
    while size < 1:
        size, e = size * 2, e - 1
    return bytes([(number < 0) << 7 | (e + bias) << fraction | int((size - 1) * 2 ** fraction)])


def library_row(library, answer, scores, values):
    """O and lse by the C interface, from operands whose first column gives the scores: q = 1, k = S."""
    kind, keys, depth = answer["type"], len(scores), answer["depth"]
    empty = code_of(0, kind) * (depth - 1)
    q, k = code_of(1.0, kind) + empty, b"".join(code_of(s, kind) + empty for s in scores)
    v = b"".join(code_of(x, kind) + empty for x in values)
    out, lse = ctypes.create_string_buffer(depth * 2), ctypes.create_string_buffer(4)
    work = library.Attention()
    pointer = lambda data: ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
    parts = [(field, part[len(field) + 1:]) for part in answer["plan"].split(", ") for field in FIELDS if part.startswith(field + " ") and not (field == "output" and part.startswith("output sum"))]
    work.plan = " ".join(f"{field}={value}".replace(" ", "_") for field, value in parts).encode()
    work.arch = b"blackwell" if "tcgen05" in answer["plan"] else b"hopper"
    work.type = kind.encode()
    work.batch = work.heads = work.kv_heads = work.queries = 1
    work.keys, work.depth = keys, depth
    work.q, work.k, work.v = (library.In(pointer(data), len(data)) for data in (q, k, v))
    work.o, work.lse = (library.Out(ctypes.cast(data, ctypes.c_void_p), len(data)) for data in (out, lse))
    library.check(library.lib.mmaudit_attention_predict(ctypes.byref(work), None))
    return int.from_bytes(out.raw[:2], "little"), struct.unpack("<f", lse.raw)[0]


def same_rows(page, library):
    """O and lse of rows of every family and recipe, of few keys and many, of whole blocks and not."""
    draw, wrong, count = random.Random(5), [], 0
    names = {one["name"] for one in page.run(ALL)}
    offered = {"torch-flash", "fa4-e4m3"} < names and not [name for name in names if name.startswith(("sage2", "nvfp4"))]
    check("no plan is offered whose scales need Q and K", sorted(names), offered)
    for one in page.run(ALL):
        for keys in (1, 7, 97, 128, 300, 513, 1000):
            depth = draw.choice((16, 64, 128, 256))
            few = [draw.choice((-8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12)) * draw.choice((1, 2)) for _ in range(min(keys, 200))]
            v = [draw.choice((-4, -1.5, -1, -0.5, 0, 0.25, 1, 1.5, 3)) for _ in few]
            text = [",".join(map(str, each)) for each in (few, v)]
            answer = page.run(f"explorer.call('attention', '{one['name']}', {keys}, {depth}, '{text[0]}', '{text[1]}')")
            spread = lambda typed: [typed[i * len(typed) // keys] for i in range(keys)]
            if answer["scores"] != spread(few):
                wrong.append((one["name"], keys, "scores"))
            found = int(answer["o"], 16), answer["lse"]
            there = library_row(library, {**answer, "depth": depth}, spread(few), spread(v))
            count += 1
            if found[0] != there[0] or abs(found[1] - there[1]) > 0:
                wrong.append((one["name"], keys, depth, found, there))
    check(f"{count} rows of attention: the library's bits", wrong[:1], not wrong and count > 80)


def attention_by_hand(browser, page):
    """What the view shows, the pointer, bad input."""
    page.run("explorer.show({view: 'attention', like: 'fa4-e4m3', keys: '512', depth: '128', "
             "s: '0,0,0,0,0,0,20,0,0,0,31,0,0,0,0,0', v: '1'})")
    cells = page.run("[...document.querySelectorAll('#row-blocks tr')].map((row) => [...row.cells].map((x) => x.textContent))")
    check("the blocks run from the last one on", cells, [row[1] for row in cells] == ["384–511", "256–383", "128–255", "0–127"])
    # 31 / sqrt(128) * log2(e) = 3.95 is within the threshold 4: the maximum stays, P = 2^(8 + 3.95) is above 448.
    check("the maximum stays, P saturates", cells[1][3:8], cells[1][3:5] == ["0", "1"] and cells[1][6:8] == ["3965", "32"])
    page.run("[...document.querySelectorAll('#row-examples button')][1].click()")
    most = page.run("[...document.querySelectorAll('#row-blocks tr')].map((row) => row.cells[7].textContent)")
    check("mended nothing saturates", most, set(most) == {"0"})
    box = page.run("(({left, top, width}) => [left, top, width])(document.getElementById('row').getBoundingClientRect())")
    at = {"x": box[0] + 52 + (box[2] - 64) * 0.5 / 16, "y": box[1] + 60, "button": "left", "clickCount": 1}
    for kind in ("mousePressed", "mouseReleased"):
        browser.send("Input.dispatchMouseEvent", page.session, type=kind, **at)
    drawn = page.run("explorer.state.s").split(",")
    check("the pointer draws the first score", drawn, float(drawn[0]) > 10 and drawn[1:] == "0,0,0,0,0,20,0,0,0,31,0,0,0,0,0".split(","))
    for change, words in {"keys: '0'": 'keys: found "0", allowed: 1 to 4096', "keys: '9999999'": "keys: found",
                          "keys: '512', s: 'many'": 'scores: found "many"', "s: ''": "scores: found 0 numbers", "s: '1', v: '1,2,3', keys: '2'": "V: found 3",
                          "keys: '16', v: '1', like: 'nothing'": "like: found nothing", "like: 'torch-flash', depth: '257'": "depth: found"}.items():
        page.run("explorer.show({%s})" % change)
        said = page.run("document.getElementById('row-error').textContent")
        check(f"attention, {change}: refused", said, said.startswith(words))
    page.run("explorer.show({keys: '16', s: 'nan,inf,1', v: 'inf', depth: '16', like: 'bf16'})")
    said = page.run("document.getElementById('row-about').textContent")
    check("what is no number is shown", said, "not finite" in said)
    page.run("explorer.show(%s)" % json.dumps({"like": "fa4-e4m3", "keys": "512", "depth": "128", "s": "1", "v": "1"}))
