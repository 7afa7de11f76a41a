"""The pages in a browser. usage: page_test.py CHROMIUM MMAUDIT [LIBMMAUDIT]

Exit code 77: skipped, and the last line says why.
"""
import array
import ctypes
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import FAILED, Chromium, check, check_text  # noqa: E402

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>document.title=`owned`</script>&\u202e"


def save(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % shape
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    data = values.tobytes() if isinstance(values, array.array) else array.array("f", values).tobytes()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def save_named(path, name, shape, values):
    """A safetensors file of one tensor, whatever it is called."""
    data = array.array("f", values).tobytes()
    head = json.dumps({name: {"dtype": "F32", "shape": shape, "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def report_page(library, path):
    """The page of a report that another program made, as Python's are: two plans over layers with long names."""
    layers = [f"model.layers.{i}.self_attn.q_proj" for i in range(30)]
    plans = {"the plan": 1e-3, "all NVFP4": 2e-2, HOSTILE: 0.5}
    curves = [{"name": name, "values": [error * (1 + i) for i in range(30)]} for name, error in plans.items()]
    table = {"columns": [{"header": one} for one in ["Layer", *plans]],
             "rows": [[layer, *(f"{error * (1 + i):.2e}" for error in plans.values())] for i, layer in enumerate(layers)]}
    report = {"schema": "mmaudit.report/1", "title": "A module under several plans", "headline": "Use the plan.",
              "tone": "good", "lead": ["Bits of the GPU architecture blackwell."], "warnings": [HOSTILE],
              "sections": [{"title": "Every layer", "layout": "wide", "tables": [table],
                            "figures": [{"kind": "curves", "title": "Errors", "x_title": "layers", "labels": layers,
                                         "curves": curves}]}],
              "provenance": {"date": "2026-01-02T03:04:05Z", "command": [HOSTILE]}}
    text, lib = ctypes.c_void_p(), ctypes.CDLL(library)
    lib.mmaudit_free.argtypes = [ctypes.c_void_p]
    status = lib.mmaudit_render_report(json.dumps(report).encode(), b"html", ctypes.byref(text))
    if status == 3:
        return None  # a library that was built without what draws
    check("the library draws a report", status, status == 0)
    path.write_bytes(ctypes.string_at(text.value))
    lib.mmaudit_free(text)
    return path


def pages(mmaudit, folder, library=""):
    draw = random.Random(1)
    normal = lambda count: [draw.gauss(0, 1) for _ in range(count)]
    nan = float("nan")
    save(folder / "a.npy", (24, 256), normal(24 * 256))
    save(folder / "b.npy", (256, 16), normal(256 * 16))
    hostile = HOSTILE.replace("/", "\u2215") + ".npy"
    save(folder / hostile, (24, 256), [nan if i % 300 == 0 else x for i, x in enumerate(normal(24 * 256))])
    tensor = HOSTILE + "</td></table></title></style><svg onload=alert(2)>\x1b[31m\n\u2028${x}`y`:.npy"
    save_named(folder / "s.safetensors", tensor, [24, 256], normal(24 * 256))
    save(folder / "nan.npy", (24, 256), [nan] * (24 * 256))
    save(folder / "infinite.npy", (24, 256), [float("-inf")] * (24 * 256))
    save(folder / "empty.npy", (0, 256), [])
    save(folder / "long.npy", (1000000, 8), array.array("f", normal(8000)) * 1000)
    save(folder / "short.npy", (8, 4), normal(32))
    # BF16 with promotion comes out a little worse than without, by less than is printed.
    draw = random.Random(3)
    save(folder / "x.npy", (64, 512), normal(64 * 512))
    save(folder / "w.npy", (48, 512), normal(48 * 512))
    subprocess.run([mmaudit, "-q", "audit", "--a", folder / "x.npy", "--b", folder / "w.npy", "--b-transposed", "--html",
                    folder / "free.html"], check=True, stdout=subprocess.DEVNULL)

    def tensors(a, b, page):
        command = [mmaudit, "-q", "audit", "--a", str(folder / a), "--b", folder / b, "--dtype", "e4m3,e5m2,bf16,f16,tf32",
                   "--scale", "none,tensor,1x128", "--policy", "plain,promote:128", "--max-rel-fro", "1e-2", "--html",
                   folder / page]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        return folder / page

    subprocess.run([mmaudit, "-q", "audit", "--no-gpu", "--no-study", "--out", folder / "whole"], check=True,
                   stdout=subprocess.DEVNULL)
    results = pathlib.Path(__file__).resolve().parents[3] / "docs" / "results" / "h200-sweep"
    subprocess.run([mmaudit, "-q", "sweep", "report", results / "sweep.json.zst", "--gemm", results / "gemm.json", "--html",
                    folder / "sweep.html"], check=True, stdout=subprocess.DEVNULL)
    memory = results.parent / "h200-memory" / "sweep.json.zst"
    subprocess.run([mmaudit, "-q", "sweep", "report", memory, "--ceilings", results / "sweep.json.zst", "--html",
                    folder / "memory.html"], check=True, stdout=subprocess.DEVNULL)
    made = report_page(library, folder / "report.html") if library else None
    return {**({"report": made} if made else {}), "sweep": folder / "sweep.html", "memory": folder / "memory.html", "audit": folder / "whole" / "audit.html",
            "free": folder / "free.html", "tensors": tensors("a.npy", "b.npy", "t.html"),
            "hostile": tensors(hostile, "b.npy", "h.html"), "named": tensors(f"s.safetensors:{tensor}", "b.npy", "s.html"),
            "infinite": tensors("infinite.npy", "b.npy", "i.html"), "nan": tensors("nan.npy", "b.npy", "n.html"),
            "empty": tensors("empty.npy", "b.npy", "e.html"), "million": tensors("long.npy", "short.npy", "m.html")}


SORTED = """(() => {
  const bad = [];
  for (const table of document.querySelectorAll("table")) {
    for (let d = table.parentElement; d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
    const heads = [...table.tHead.rows[0].cells], before = table.tBodies[0].innerText;
    for (const head of heads) {
      const button = head.querySelector("button");
      if (!button) { bad.push("no button: " + head.textContent); continue; }
      for (const order of ["ascending", "descending"]) {
        button.click();
        if (head.getAttribute("aria-sort") !== order) bad.push("aria-sort: " + head.textContent);
        if (heads.filter((h) => h.hasAttribute("aria-sort")).length !== 1) bad.push("two sorted");
        if (!head.classList.contains("n")) continue;
        const found = [...table.tBodies[0].rows].map((r) => r.cells[head.cellIndex].textContent)
          .map((t) => /^(inf|overflow)/.test(t) ? Infinity : parseFloat(t.replaceAll(",", "")));
        const there = found.filter((x) => !Number.isNaN(x));
        const right = [...there].sort((x, y) => x - y);
        if (order === "descending") right.reverse();
        if (there.some((x, i) => x !== right[i])) bad.push(order + ": " + head.textContent + ": " + found);
        if (found.slice(0, there.length).some(Number.isNaN)) bad.push("missing is not last: " + head.textContent);
      }
    }
    if (table.tBodies[0].innerText.length !== before.length) bad.push("a row is gone");
  }
  return bad;
})()"""

FILTERED = """(() => {
  const bad = [], type = (field, text) => { field.value = text; field.dispatchEvent(new Event("input")); };
  let fields = 0;
  for (const region of document.querySelectorAll(".scroll")) {
    const rows = [...region.querySelectorAll("tbody tr")], bar = region.previousElementSibling;
    const field = bar?.classList.contains("filter") ? bar.querySelector("input") : null;
    if ((rows.length > 12) !== (field !== null)) bad.push(`${rows.length} rows, ${field}`);
    if (field === null) continue;
    ++fields;
    const word = rows.at(-1).cells[0].textContent.trim().split(/\\s+/)[0].toUpperCase();
    type(field, word);
    const shown = rows.filter((row) => !row.hidden);
    if (!shown.includes(rows.at(-1)) || shown.some((row) => !row.textContent.toUpperCase().includes(word))) bad.push(word);
    type(field, "no row says this");
    if (rows.some((row) => !row.hidden) || bar.querySelector("output").textContent !== `0 of ${rows.length}`) bad.push("none");
    type(field, "");
    if (rows.some((row) => row.hidden)) bad.push("all");
  }
  return [fields, bad];
})()"""

EMPTY_FIGURES = """[...document.querySelectorAll("svg")].flatMap((svg) => {
  for (let d = svg.parentElement; d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
  const all = svg.getBoundingClientRect(), shapes = [...svg.querySelectorAll("path, rect, circle, line")];
  const drawn = shapes.filter((s) => { const b = s.getBBox(); return b.width > 0 || b.height > 0; });
  return all.width > 0 && all.height > 0 && drawn.length > 0 ? [] : [svg.outerHTML.slice(0, 80)];
})"""


LABELS = """(() => {
  const bad = [];
  for (const svg of document.querySelectorAll("svg")) {
    for (let d = svg.parentElement; d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
    texts.forEach(([text, a], i) => {
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1)
        bad.push("clipped: " + text);
      for (const [other, b] of texts.slice(i + 1))
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > -2 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) bad.push(text + " over " + other);
    });
  }
  return bad.slice(0, 20);
})()"""


# Elements beyond the page's edge that no region scrolls; words of headers and names cut into single letters.
WIDER = """(() => {
  const bad = [], held = (e) => e.closest(".scroll, .figure") !== null;
  for (const e of document.querySelectorAll("body *"))
    if (!held(e) && e.getBoundingClientRect().right > innerWidth + 1) bad.push("wide: " + e.outerHTML.slice(0, 80));
  for (const cell of document.querySelectorAll("th")) {
    const range = document.createRange(), letters = cell.textContent.trim().length;
    range.selectNodeContents(cell.querySelector("button") ?? cell);
    const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
    const words = cell.textContent.trim().split(/\\s+/).length;
    if (letters > 5 && lines > words && lines > letters / 2) bad.push("letters: " + cell.textContent);
  }
  return bad.slice(0, 10);
})()"""


def whole_page(browser, name, path):
    page = browser.open(path.as_uri())
    figures = page.run("document.querySelectorAll('svg[role=img]').length")
    if name in ("audit", "tensors", "hostile", "named", "report"):
        check(f"{name}: has figures", figures, figures >= (1 if name in ("audit", "report") else 2))
    check(f"{name}: every figure is drawn", *(lambda bad: (bad, not bad))(page.run(EMPTY_FIGURES)))
    check(f"{name}: labels of figures don't touch", *(lambda bad: (bad, not bad))(page.run(LABELS)))
    overflow = page.run("document.documentElement.scrollWidth - innerWidth")
    check(f"{name}: no sideways scrolling of the page", overflow, overflow <= 0)
    check(f"{name}: every table sorts", *(lambda bad: (bad, not bad))(page.run(SORTED)))
    fields, bad = page.run(FILTERED)
    check(f"{name}: long tables filter", (fields, bad), not bad and (fields > 0 or name not in ("audit", "report", "sweep")))
    check(f"{name}: nothing said on the console, nothing fetched",
          *(lambda bad: (bad, not bad))(page.complaints()))
    page.close()
    for width in (1366, 420):
        page = browser.open(path.as_uri(), width=width)
        page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        wide = page.run(WIDER)
        check(f"{name}, {width} px: no element is wider than the page, no letter stands alone", wide, not wide)
        check_text(page, f"{name}, {width} px")
        overflow = page.run("document.documentElement.scrollWidth - innerWidth")
        check(f"{name}, {width} px: no sideways scrolling of the page", overflow, overflow <= 0)
        page.close()


def keyboard(browser, path):
    page = browser.open(path.as_uri())
    page.run("document.querySelector('thead button').focus()")
    page.key("Enter", 13, "\r")
    check("a header sorts with Enter", "aria-sort",
          page.run("document.activeElement.parentElement.getAttribute('aria-sort')") == "ascending")
    page.key(" ", 32, " ")
    check("and with the space bar", "aria-sort",
          page.run("document.activeElement.parentElement.getAttribute('aria-sort')") == "descending")
    page.key("Tab", 9)
    check("Tab goes to the next header", "focus", page.run("document.activeElement.matches('thead button')"))
    page.close()


def without_script(browser, path):
    target = browser.send("Target.createTarget", url="about:blank")["targetId"]
    session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    browser.send("Emulation.setScriptExecutionDisabled", session, value=True)
    browser.send("Page.enable", session)
    browser.events.clear()
    browser.send("Page.navigate", session, url=path.as_uri())
    while not any(e.get("method") == "Page.loadEventFired" for e in browser.events):
        browser.events.append(browser.message(float("inf")))
    document = browser.send("DOM.getDocument", session)["root"]["nodeId"]
    buttons = browser.send("DOM.querySelectorAll", session, nodeId=document, selector="thead button")["nodeIds"]
    rows = browser.send("DOM.querySelectorAll", session, nodeId=document, selector="tbody tr")["nodeIds"]
    check("without scripts the tables are whole", (len(buttons), len(rows)), not buttons and len(rows) > 10)
    browser.send("Target.closeTarget", targetId=target)


COMMAND = """(() => {
  const rows = [...document.querySelectorAll("tbody tr")].filter((r) => r.cells[0].textContent === "Command");
  return rows.length === 1 ? rows[0].cells[1].textContent : "";
})()"""


def hostile_names(browser, path):
    page = browser.open(path.as_uri())
    about = f"hostile names, {path.name}: "
    check(about + "one script", None, page.run("document.scripts.length") == 1)
    check(about + "no element of theirs", None,
          page.run("document.images.length") == 0 and page.run("document.querySelectorAll('[onload], [onerror]').length") == 0)
    check(about + "shown as text", None, page.run("document.body.innerText.includes('<img src=x onerror')"))
    check(about + "title untouched", None, page.run("document.title") == "Error of A B by data type")
    command = page.run(COMMAND)
    check(about + "the command is one line of visible characters", command,
          "<img src=x onerror" in command and not set(command) & set("\n\r\x1b\u2028\u202e"))
    # The policy holds even where markup would get in.
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.owned=1\">')")
    page.run("new Promise((done) => setTimeout(done, 200))")
    check("the policy stops handlers", None, page.run("window.owned === undefined"))
    page.close()


NARROW = """(() => {
  const bad = [], wide = [...document.querySelectorAll(".scroll")].filter((s) => {
    for (let d = s.parentElement; d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
    return s.scrollWidth > s.clientWidth + 40;
  });
  for (const region of wide) {
    region.scrollLeft = 40;
    const edge = region.getBoundingClientRect().left, width = region.clientWidth;
    for (const cell of region.querySelectorAll("tr > :first-child")) {
      const box = cell.getBoundingClientRect();
      if (Math.abs(box.left - edge) > 1) bad.push("moves: " + cell.textContent);
      if (box.width > 0.62 * width) bad.push("leaves no room: " + cell.textContent);
      if (getComputedStyle(cell).backgroundColor === "rgba(0, 0, 0, 0)") bad.push("shows what is below: " + cell.textContent);
    }
  }
  return [wide.length, bad];
})()"""

LINKS = """(() => {
  const links = [...document.querySelectorAll("nav a")].map((a) => a.getAttribute("href").slice(1));
  const bad = links.filter((id) => !document.getElementById(id));
  const sections = [...document.querySelectorAll("main section")].map((s) => s.id);
  return [links.length, [...bad, ...sections.filter((id) => !links.includes(id))],
          new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size === document.querySelectorAll("[id]").length];
})()"""

MATRIX = """(() => {
  const cells = [...document.querySelectorAll("#error-of-every-combination table")][0].querySelectorAll("tbody td");
  const found = {coloured: 0, colours: new Set(), absent: 0, marks: 0, bad: []};
  for (const cell of cells) {
    const heat = [...cell.classList].find((name) => /^h[0-7]$/.test(name));
    if (heat) {
      found.coloured++;
      found.colours.add(getComputedStyle(cell).backgroundColor);
      const passes = cell.textContent.endsWith("\u2713");
      if (passes !== heat < "h4") found.bad.push(heat + " " + cell.textContent);
      if (!cell.title.includes(cell.textContent)) found.bad.push("no hover: " + cell.textContent);
    } else if (cell.classList.contains("absent")) {
      found.absent++;
      if (!cell.title) found.bad.push("no reason");
    } else found.bad.push("neither: " + cell.outerHTML);
  }
  return {...found, colours: found.colours.size};
})()"""


def layer_page(browser, path):
    for width in (1366, 420):
        page = browser.open(path.as_uri(), width=width)
        overflow = page.run("document.documentElement.scrollWidth - innerWidth")
        check(f"{width} px: no sideways scrolling of the page", overflow, overflow <= 0)
        count, bad = page.run(NARROW)
        check(f"{width} px: tables that scroll keep their first column", (count, bad), not bad and (count > 0 or width > 420))
        page.close()
    page = browser.open(path.as_uri())
    text = page.run("document.querySelector('.verdict strong').textContent")
    check("the first sentence says what to use", text, text.startswith("Use ") or text.startswith("Nothing passes. "))
    count, bad, unique = page.run(LINKS)
    check("the menu names every section once", (count, bad, unique), count > 5 and not bad and unique)
    found = page.run(MATRIX)
    check("the matrix has a colour or a reason per cell", found,
          not found["bad"] and found["coloured"] == 19 and found["absent"] > 0 and found["colours"] > 2)
    hovers = page.run("document.querySelectorAll('svg g > title').length")
    check("figures have hover values", hovers, hovers > 100)
    maps = page.run("document.querySelectorAll('#where-in-d-the-error-is svg rect').length")
    check("the map of D has 16 x 16 bands", maps, maps > 0 and maps % 256 == 0)
    page.close()


# Figures that read alike and have two colours, and how many figures there are.
COLOURS = """(() => {
  const cells = [...document.querySelectorAll("#error-of-every-combination table")][0].querySelectorAll("tbody td");
  const colours = {}, of = (cell) => [...cell.classList].find((name) => /^h[0-7]$/.test(name));
  for (const cell of cells) if (of(cell)) (colours[cell.textContent] ??= new Set()).add(of(cell));
  return [Object.keys(colours).filter((text) => colours[text].size > 1), cells.length];
})()"""


def without_limit(browser, path):
    page = browser.open(path.as_uri(), width=1366)
    text = page.run("document.querySelector('.verdict strong').textContent")
    check("without a limit the first sentence says what could be used", text,
          text.startswith("Use ") and " where a relative error of " in text and "No limit" not in text)
    bad, count = page.run(COLOURS)
    check("errors that read alike have one colour", bad, not bad and count >= 10)
    page.close()


def says(browser, path, words):
    page = browser.open(path.as_uri())
    text = page.run("document.querySelector('header').innerText")
    check(f"{path.name} says {words!r}", text, words in text)
    page.close()


def main():
    chromium, mmaudit, library = (sys.argv[1:] + [""])[:3]
    with tempfile.TemporaryDirectory() as folder:
        made = pages(mmaudit, pathlib.Path(folder), library)
        with Chromium(chromium) as browser:
            try:
                browser.send("Browser.getVersion")
            except TimeoutError as error:
                print(f"skipped: the pages: {chromium} does not start here ({error})")
                return 77
            for name, path in made.items():
                whole_page(browser, name, path)
            for path in (made["audit"], made["tensors"]):
                keyboard(browser, path)
                without_script(browser, path)
            layer_page(browser, made["tensors"])
            without_limit(browser, made["free"])
            hostile_names(browser, made["hostile"])
            hostile_names(browser, made["named"])
            says(browser, made["hostile"], "elements of A are NaN")
            says(browser, made["infinite"], "Every element of A is infinite")
            says(browser, made["nan"], "Every element of A is NaN")
            says(browser, made["empty"], "A is empty")
    print(f"{len(FAILED)} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
