"""The explorer in a browser. usage: explorer_test.py CHROMIUM EXPLORER_HTML LIBMMAUDIT [--shots FOLDER]

Its bits are compared with the library's, its policy and hostile input are tried. Exit code 77: skipped, and the last
line says why. --shots writes pictures as PNG. axe_test.py looks at accessibility, explorer_speed.py at speed.
"""
import ctypes
import importlib
import json
import os
import pathlib
import random
import sys
import tempfile
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from chromium import FAILED, READY, Chromium, check  # noqa: E402
from explorer_attention import attention_by_hand, same_rows  # noqa: E402
from explorer_functions import functions_by_hand, same_functions  # noqa: E402
from explorer_hostile import hostile, odd_addresses, policy  # noqa: E402
from explorer_looks import before_the_model, fits, measure, opens, shots  # noqa: E402

CASES, BATCH, FULL, SHOWN = 10000, 500, 20, 150  # every FULL-th trace is compared whole
MOST_BYTES = 2 << 20
SHOWN_D = "document.querySelector('#panel-1 .d code').textContent"


def load_library(path):
    """The declarations of the Python package, without its arrays."""
    os.environ["MMAUDIT_LIBRARY"] = path
    package = types.ModuleType("mmaudit")  # in the place of its __init__.py, which wants numpy
    package.__path__ = [str(HERE.parents[2] / "emulator" / "python" / "mmaudit")]
    sys.modules["mmaudit"] = package
    return importlib.import_module("mmaudit._library")


class Draw:
    """Elements of a format: exponents near one another, so that sums align, cut and cancel; also raw bits."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def elements(self, f, count):
        style, base = self.random.randrange(4), self.random.getrandbits(16)
        return [self.element(f, style, base) for _ in range(count)]

    def element(self, f, style, base):
        raw = self.random.getrandbits(f["storage_bits"])
        if f["integer"] or not f["fraction_bits"]:
            return raw & ((1 << f["value_bits"]) - 1)
        ignored = 32 - f["value_bits"] if f["storage_bits"] == 32 else 0
        if style == 0:
            return raw if ignored else raw & ((1 << f["value_bits"]) - 1)
        if self.random.randrange(4) == 0:
            return 0
        field = (base + self.random.randrange(2 + 4 * style)) % max(1, (1 << f["exponent_bits"]) - 1)
        sign = self.random.getrandbits(1) if f["signed"] else 0
        bits = f["fraction_bits"]
        fraction = self.random.getrandbits(bits) if style != 2 else 1 << self.random.randrange(bits)
        return ((sign << f["exponent_bits"] | field) << f["fraction_bits"] | fraction) << ignored

    def metadata(self, group, kept, stored):
        out = []
        while len(out) < stored:
            if kept == 4:  # pairs of four bits
                out += [2 * p + i for p in sorted(self.random.sample(range(4), 2)) for i in (0, 1)]
            else:
                out += sorted(self.random.sample(range(group), kept))
        return out


def one_case(draw, library, formats, arch, name):
    inst = library.instruction(arch, name)
    f = {key: formats[getattr(inst, key)] for key in "abcd"}
    case = {"gpu": arch, "inst": inst.name, "a": draw.elements(f["a"], inst.stored_k),
            "b": draw.elements(f["b"], inst.k), "c": draw.elements(f["c"], 1), "sa": [], "sb": [], "meta": [], "mod": 0}
    if inst.scale:
        scale = formats[inst.scale]
        for key in ("sa", "sb"):
            case[key] = [draw.random.randrange(256) if draw.random.randrange(3) == 0 else
                         draw.random.randrange(0x30, 0x40) + (0x48 if scale["name"] == "ue8m0" else 0)
                         for _ in range(inst.k // inst.scale_block)]
    if inst.stored_k != inst.k:
        pairs = inst.a in ("s4", "u4") or "kind_mxf4" in inst.name  # not mxf8f6f4
        group, kept = (8, 4) if pairs else {"tf32": (2, 1)}.get(inst.a, (4, 2))
        case["meta"] = draw.metadata(group, kept, inst.stored_k)
    if inst.takes_modifiers:
        case["mod"] = draw.random.randrange(8)
    return case, f


def explained(library, case, f):
    """The library's answer: mmaudit_explain()."""
    kept = []

    def bytes_of(values, size):
        kept.append(b"".join(value.to_bytes(size, "little") for value in values))
        pointer = ctypes.cast(ctypes.c_char_p(kept[-1]), ctypes.c_void_p)
        return library.In(pointer if values else None, len(kept[-1]))

    width = {key: f[key]["storage_bits"] // 8 for key in "abc"}
    dot = library.Dot()
    dot.arch, dot.inst = case["gpu"].encode(), case["inst"].encode()
    dot.a, dot.b, dot.c = (bytes_of(case[key], width[key]) for key in "abc")
    dot.scale_a, dot.scale_b, dot.metadata = (bytes_of(case[key], 1) for key in ("sa", "sb", "meta"))
    dot.modifiers = case["mod"]
    return json.loads(library.text_from(library.lib.mmaudit_explain, ctypes.byref(dot)))


def typed(case):
    """The case as the page's address holds it."""
    hexed = lambda values: ",".join(hex(value) for value in values)
    return {"gpu": case["gpu"], "inst": case["inst"], "meta": ",".join(map(str, case["meta"])), "mod": str(case["mod"]),
            **{key: hexed(case[key]) for key in ("a", "b", "c", "sa", "sb")}}


def same_bits(page, library):
    listed = json.loads(library.text_from(library.lib.mmaudit_list, None))
    formats = {f["name"]: f for f in listed["formats"]}
    pairs = [(arch["name"], row["instruction"]) for arch in listed["architectures"] for row in arch["instructions"]]
    draw = Draw(20261122)
    chosen = (pairs * (CASES // len(pairs) + 1))[:CASES]
    wrong, compared, shown, nans, cut = [], 0, [], 0, 0
    for start in range(0, CASES, BATCH):
        batch = [one_case(draw, library, formats, *pair) for pair in chosen[start:start + BATCH]]
        expected = [explained(library, *each)["trace"] for each in batch]
        inputs = [typed(case) for case, _ in batch]
        found = page.run("(%s).map((x, i) => { const answer = explorer.call('explain', x.gpu, x.inst, x.a, x.b, x.c, "
                         "x.sa, x.sb, x.meta, x.mod); return i %% %d ? answer.error ?? answer.trace.d : answer; })"
                         % (json.dumps(inputs), FULL))
        for i, (want, got) in enumerate(zip(expected, found)):
            whole = isinstance(got, str) or got.get("trace") == want
            bits = got if isinstance(got, str) else got.get("trace", {}).get("d")
            compared += 1
            nans += want["d"].endswith("7fffffff")
            cut += any(x.get("lost", {}).get("significand") for s in want.get("steps", []) for x in s["addends"])
            if bits != want["d"] or not whole:
                wrong.append((inputs[i], want["d"], bits))
        shown += list(zip(inputs, expected))[:SHOWN * BATCH // CASES + 1]
    check(f"{compared} dot products of {len(set(chosen))} instructions and GPUs: the library's bits ({nans} NaN, {cut} "
          "with bits cut)", wrong[:1], not wrong and compared == CASES and nans < CASES // 3 and cut > CASES // 5)
    different = [(x, want["d"]) for x, want in shown
                 if page.run(f"explorer.show({json.dumps({**x, 'view': 'dot', 'vs': ''})}), {SHOWN_D}")
                 != " 0x" + want["d"].upper()]
    check(f"{len(shown)} of them: the page shows these bits", different[:1], not different and len(shown) >= SHOWN)


def same_casts(page, library, formats):
    draw, wrong, compared = random.Random(3), [], 0
    for _ in range(60):
        bits, rounding, saturate = draw.getrandbits(32), draw.choice(["rn", "rz", "rna", "rp"]), draw.getrandbits(1)
        found = page.run(f"explorer.call('cast', '{hex(bits)}', 'f32', '{rounding}', '{saturate}').results")
        for x in found:
            cast, size = library.Cast(), formats[x["format"]]["storage_bits"] // 8
            source = ctypes.create_string_buffer(bits.to_bytes(4, "little"), 4)
            result = ctypes.create_string_buffer(size)
            cast.from_, cast.to = b"f32", x["format"].encode()
            cast.rounding, cast.saturate = rounding.encode(), saturate
            cast.source = library.In(ctypes.cast(source, ctypes.c_void_p), 4)
            cast.result = library.Out(ctypes.cast(result, ctypes.c_void_p), size)
            library.check(library.lib.mmaudit_convert(ctypes.byref(cast)))
            compared += 1
            if int.from_bytes(result.raw, "little") != int(x["bits"], 16):
                wrong.append((hex(bits), rounding, saturate, x))
    check(f"{compared} casts: the library's bits", wrong[:1], not wrong and compared > 1000)


# As people type and paste numbers into fields of f16: the bits, or none where the page refuses.
TYPED = {
    "1.5": "3e00", "+1.5": "3e00", " [1.5] ": "3e00", "2^-12": "0c00", "-2^-12": "8c00", "1.5*2^-3": "3200",
    "0x1.8p-4": "2e00", "0x3c01": "3c01", "inf": "7c00", "-Infinity": "fc00", "NaN": "7fff", "max": "7bff",
    "tiny": "0001", "-0": "8000", ".1": "2e66", "1e-3": "1419", "1e9": "7bff", "5.": "4500", "": "0000", "1e": None,
    "--1": None, "e5": None, "0x": None, "0x1p": None, "1_0": None, "0x12345": None, "1.5 2": None, "infinit": None,
}


def typed_values(page):
    found = page.run("(%s).map((c) => { const answer = explorer.call('explain', 'hopper', "
                     "'mma.m16n8k16.f16.f16.f16.f16', '', '', c); return answer.c?.[0][0] ?? null; })" % json.dumps(list(TYPED)))
    wrong = [(text, want, bits) for (text, want), bits in zip(TYPED.items(), found) if want != bits]
    check(f"{len(TYPED)} ways to type a number", wrong, not wrong)


DECODES = """(() => {
  const bad = [];
  for (const format of document.querySelectorAll("#format option")) {
    explorer.show({ view: "formats", format: format.textContent, code: "0" });
    const { values } = explorer.call("codes", format.textContent);
    const cells = [...document.querySelectorAll("#codes [role=gridcell]")];
    if (cells.length !== values.length) bad.push(format.textContent + ": " + cells.length + " cells");
    cells.forEach((cell, i) => {
      cell.click();
      const shown = document.querySelector("#code-about strong").textContent.replace("−", "-");
      const want = values[i], power = shown.match(/^(-?)(?:(\\d+)·)?2([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/);
      const digits = (text) => text.replace(/./g, (c) => "⁻" === c ? "-" : "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c));
      const number = power ? (power[1] ? -1 : 1) * (power[2] ?? 1) * 2 ** Number(digits(power[3]))
        : Number(shown.replace("inf", "Infinity"));
      if (!Object.is(number, Number(want.replace("inf", "Infinity"))))
        bad.push(format.textContent + " " + i + ": " + shown + ", " + want);
    });
  }
  return bad;
})()"""


def by_hand(browser, url, page):
    """Keys, pointer and address."""
    d = lambda: page.run(SHOWN_D)
    show = lambda **change: page.run(f"explorer.show({json.dumps(change)})")
    show(view="dot", gpu="hopper", inst="mma.m16n8k16.f32.f16.f16.f32", a="1,2", b="1,1", c="", vs="", vinst="")
    check("1 + 2 is shown as 3", d(), d() == " 0x40400000")
    page.run("document.querySelector('#panel-1 .addend:nth-child(3) input').focus()")
    page.key("ArrowUp", 38)
    a = page.run("explorer.state.a")
    check("the arrow key takes the next number of f16", a, a.startswith("1.0009765625,"))
    box = page.run("(() => { const b = document.querySelector('#panel-1 .addend:nth-child(4) svg')"
                   ".getBoundingClientRect(); return [b.x, b.y + b.height / 2]; })()")
    for kind, x in (("mousePressed", 60), ("mouseMoved", 60 - 2.2 * 26), ("mouseReleased", 60 - 2.2 * 26)):
        browser.send("Input.dispatchMouseEvent", page.session, type=kind, x=box[0] + x, y=box[1], button="left",
                     clickCount=1)
    a = page.run("explorer.state.a")
    check("two columns to the left make four times the value", a, a.endswith(",8"))
    page.run("document.getElementById('c').focus()")
    browser.send("Input.insertText", page.session, text="0.5")
    check("typing changes D at once", d(), page.run("explorer.state.c") == "0.5" and d() == " 0x41180400")
    page.run("new Promise((done) => setTimeout(done, 300))")
    again = browser.open(url + page.run("location.hash"))
    again.run(READY)
    check("the address shows the same in another tab", None, again.run(SHOWN_D) == d())
    again.close()
    show(vs="ampere", a="1024,1024,2^-3,0,0,0,0,0,-1024,-1024", b="1024,1024,1,0,0,0,0,0,1024,1024", c="")
    marked = page.run("[...document.querySelectorAll('#panel-2 .differs')].length")
    check("two GPUs: the differing bits are marked", marked, marked == 5)
    show(vs="", a="inf,-inf,1,nan", b="0,2,1,1")
    products = page.run("[...document.querySelectorAll('#panel-1 .addend .out')].map((x) => x.textContent)")
    check("products of infinities and NaN", products, products == ["", "nan", "-inf", "1", "nan"])
    show(a="1,x")
    said = page.run("document.getElementById('error').innerText")
    check("what can't be read is named", said, said.startswith('A 1: found "x", allowed: '))
    show(a="1", b="1")
    page.run("document.getElementById('gpu').value = 'volta', document.getElementById('gpu')"
             ".dispatchEvent(new Event('change'))")
    inst = page.run("explorer.state.inst")
    check("a GPU that lacks the instruction takes the nearest", inst, inst == "mma.m8n8k4.f32.f16.f16.f32")
    count = page.run("document.querySelectorAll('#presets button').length")
    bad = page.run("[...document.querySelectorAll('#presets button')].filter((b) => { b.click(); "
                   "return document.getElementById('error').textContent"
                   " || document.querySelectorAll('#panel-1 .result').length === 0; }).map((b) => b.textContent)")
    check(f"{count} examples work", bad, not bad and count >= 10)


def held(page, library):
    page.run("explorer.show({view: 'fragments', inst: 'mma.m16n8k16.f32.f16.f16.f32'}), "
             "document.getElementById('map-A').focus()")
    for _ in range(3):
        page.key("ArrowRight", 39)
    text = page.run("document.getElementById('held').innerText")
    check("a fragment answers the arrow keys", text, text == "A[0][3] (f16): lane 1, register 0, bits 16 to 31")
    page.run("explorer.show({inst: 'wmma.m16n16k16.f32.f16.f16.f32', gpu: 'hopper'})")
    text = page.run("document.getElementById('layout-known').innerText")
    check("the fragments of wmma say whose they are", text, "hopper, recorded" in text and "H200" in text)
    page.run("document.getElementById('map-A').focus()")
    page.key("ArrowRight", 39)
    text = page.run("document.getElementById('held').innerText")
    check("and answer the arrow keys", text,
          text == "A[0][1] (f16): lane 0, register 0, bits 16 to 31; lane 0, register 4, bits 16 to 31")
    page.run("explorer.show({gpu: 'ampere'})")
    text = page.run("document.getElementById('layout-error').innerText")
    check("of a GPU whose fragments are not known the page names those that are", text, "volta, turing, hopper" in text)
    page.run("explorer.show({inst: 'tcgen05.mMnNk16.kind_f16.f32.f16.f16'})")
    text = page.run("document.getElementById('layout-error').innerText")
    check("tcgen05 has no fragments, and the page says so", text, "tensor memory" in text)
    page.run("explorer.show({inst: 'v_mfma_f32_32x32x8f16'})")
    text = page.run("document.getElementById('layout-error').innerText")
    check("of v_mfma the page says that its lanes are not described", text, "AMD" in text and "tcgen05" not in text)


# What the head says of D, and the last lines: datapaths whose steps are not one alignment.
STAGED = [
    ("cdna1", "v_mfma_f32_32x32x8f16", "1,2", "1,3", "D is the exact sum.", ["1", "6", "40E00000"]),
    ("cdna2", "v_mfma_f32_32x32x8f16", "2^-24,1", "1,2^-24", "exact sum 2⁻²³ minus D: cut and rounded in the steps 2⁻²³",
     ["2⁻²⁴ −2⁻²⁴", "2⁻²⁴ −2⁻²⁴", "00000000"]),
    ("cdna3", "v_mfma_f32_32x32x8f16", "inf,nan,1,3", "0,1,1,1",
     "An input is NaN or infinite, or D overflows: there is no exact sum to compare with.",
     ["nan", "nan", "1", "3", "7FC00000"]),
]


def staged(page):
    for gpu, inst, a, b, about, shown in STAGED:
        given = {"view": "dot", "gpu": gpu, "inst": inst, "a": a, "b": b, "c": "", "vs": "", "mod": "0"}
        page.run(f"explorer.show({json.dumps(given)})")
        said = page.run("document.querySelector('#panel-1 .about').innerText.replaceAll(/\\s+/g, ' ').trim()")
        found = page.run("[...document.querySelectorAll('#panel-1 .line:not(.axis-line) .out')].map((x) => x.textContent)")
        check(f"{gpu}: the head of a sum in stages", said, said == about)
        check(f"{gpu}: its products and D", found, found[1:] == shown)


def main():
    chromium, explorer, library_path = sys.argv[1:4]
    url = pathlib.Path(explorer).resolve().as_uri()
    size = pathlib.Path(explorer).stat().st_size
    check(f"the page is one file of {size} bytes, at most {MOST_BYTES}", size, size <= MOST_BYTES)
    library = load_library(library_path)
    formats = {f["name"]: f for f in json.loads(library.text_from(library.lib.mmaudit_list, None))["formats"]}
    with Chromium(chromium) as browser:
        try:
            browser.send("Browser.getVersion")
        except TimeoutError as error:
            print(f"skipped: the explorer: {chromium} does not start here ({error})")
            return 77
        if sys.argv[4:5] == ["--shots"]:
            return shots(browser, url, pathlib.Path(sys.argv[5]))
        page = browser.open(url, width=1366)
        page.run(READY)
        same_bits(page, library)
        same_casts(page, library, formats)
        same_functions(page, library)
        functions_by_hand(page)
        same_rows(page, library)
        attention_by_hand(browser, page)
        typed_values(page)
        bad = page.run(DECODES)
        check("every code of every narrow format: the page's value is the library's", bad[:3], not bad)
        by_hand(browser, url, page)
        staged(page)
        held(page, library)
        check("nothing said on the console, nothing fetched", *(lambda said: (said, not said))(page.complaints()))
        page.close()
        hostile(browser, url)
        odd_addresses(browser, url)
        policy(browser, url)
        opens(browser, url)
        with tempfile.TemporaryDirectory() as folder:
            before_the_model(browser, pathlib.Path(explorer).read_text(), folder)
        fits(browser, url)
        measure(browser, url)
    print(f"{len(FAILED)} failed")
    return 1 if FAILED else 0


sys.exit(main())
