"""How the explorer looks, for explorer_test.py: it fits the page, its text can be read, its address opens; pictures."""
import base64
import pathlib
import re

from chromium import LEAST_PX, READY, check, check_text

# What a canvas writes: [the least px, how many].
LISTEN = """(() => {
  const draw = CanvasRenderingContext2D.prototype.fillText;
  window.written = [Infinity, 0];
  CanvasRenderingContext2D.prototype.fillText = function (...words) {
    const { a } = this.getTransform(), wide = this.canvas.isConnected ? this.canvas.clientWidth / this.canvas.width : 1 / a;
    window.written = [Math.min(window.written[0], parseFloat(this.font) * a * wide), window.written[1] + 1];
    return draw.apply(this, words);
  };
})()"""


def opens(browser, url):
    """What an address leaves out is as on the page without one; a cell of every fragment has its number."""
    page = browser.open(url)
    page.run(READY)
    first = page.run("[explorer.state.a, explorer.state.b]")
    page.close()
    page = browser.open(url + "#view=dot")
    page.run(READY)
    found = page.run("[document.getElementById('a').value, document.getElementById('b').value]")
    check("#view=dot shows the numbers of the page without an address", found, found == first and all(first))
    keys = sorted(page.run("Object.keys(explorer.state)"))
    page.close()
    docs = pathlib.Path(__file__).resolve().parents[3] / "docs" / "explorer.md"
    table = docs.read_text().split("| key |")[1].split("\n\n")[0]
    told = sorted(key for row in table.splitlines() for key in re.findall(r"`([a-z]+)`", row.split("|")[1] if "|" in row else ""))
    check("docs/explorer.md has a row for every key of the address", told, told == keys)
    for width in (1366, 420):
        page = browser.open(url, width=width)
        page.run(READY)
        page.run(LISTEN)
        page.run("explorer.show({view: 'fragments'})")
        least, count = page.run("window.written")
        check(f"{width} px: the first fragments have numbers of at least {LEAST_PX} px", (least, count),
              count > 1000 and least >= LEAST_PX - 0.01)
        page.run("explorer.show({view: 'dot'})")
        tags = page.run("[...document.querySelectorAll('#presets button')].flatMap((example) => { example.click(); "
                        "return [...document.querySelectorAll('.panel:not([hidden]) .tag')]"
                        ".map((tag) => tag.getClientRects().length); })")
        check(f"{width} px: no tag breaks over lines", tags, len(tags) >= 10 and set(tags) == {1})
        page.close()


EARLY = "['gpu', 'inst', 'a', 'b', 'fx'].map((id) => document.getElementById(id).value)"


def before_the_model(browser, page_text, folder):
    """The fields show the address while the model is not there: here it never comes. Inside a frame all is as usual."""
    without = pathlib.Path(folder) / "without.html"
    without.write_text(re.sub(r'(id="wasm">)[^<]*', r"\1", page_text))
    page = browser.open(without.as_uri() + "#gpu=ada&inst=mma.m16n8k16.f32.f16.f16.f32&a=1.5,2&b=3")
    found = page.run(EARLY)
    check("without the model the fields show the address", found,
          found == ["ada", "mma.m16n8k16.f32.f16.f16.f32", "1.5,2", "3", "0.3"])
    page.close()
    page = browser.open(without.as_uri() + "#view=formats")
    found = page.run("['dot', 'formats'].map((view) => document.getElementById('view-' + view).hidden)")
    check("without the model the address chooses the view", found, found == [True, False])
    page.close()
    (pathlib.Path(folder) / "explorer.html").write_text(page_text)
    frame = pathlib.Path(folder) / "frame.html"
    frame.write_text('<!DOCTYPE html><iframe src="explorer.html#view=formats&format=e4m3&code=0"></iframe>')
    page = browser.open(frame.as_uri())
    worlds = [e["params"]["context"] for e in browser.events if e.get("method") == "Runtime.executionContextCreated"]
    inside = [world["id"] for world in worlds if world["auxData"]["frameId"] != worlds[0]["auxData"]["frameId"]][-1]
    page.run_in(inside, READY)
    found = page.run_in(inside, "document.getElementById('code-about').textContent")
    check("in a frame: code 0x00 of e4m3 is zero", found, "(zero)" in found and "subnormal" not in found)
    check("in a frame: nothing said on the console", *(lambda said: (said, not said))(
        [one for one in page.complaints() if not one.startswith("request: ")]))
    page.close()


def fits(browser, url):
    for title, width, dark in (("light", 1366, False), ("dark", 1366, True), ("phone", 420, False),
                               ("dark phone", 420, True)):
        for view in ("dot", "fragments", "formats", "functions", "attention"):
            page = browser.open(url, width=width, dark=dark)
            page.run(READY)
            inst = "wgmma.m64n64k32.f32.e4m3.e4m3" if view == "dot" else "mma.m16n8k16.f32.f16.f16.f32"
            page.run(f"explorer.show({{view: '{view}', vs: 'blackwell', inst: '{inst}'}})")
            check_text(page, f"{view}, {title}")
            wide = page.run("document.documentElement.scrollWidth - innerWidth")
            check(f"{view}, {title}: no sideways scrolling of the page", wide, wide <= 0)
            page.close()


TIMED = """(() => {
  const inst = "mma.m16n8k64.s32.s4.s4.s32";
  const of = (shift) => Array.from({ length: 64 }, (_, i) => (i * 5 + shift) % 7 + 1).join();
  explorer.show({ view: "dot", gpu: "ampere", inst, a: of(0), b: of(1), c: "1", vs: "" });
  const times = [];
  for (let i = 0; i < 60; ++i) {
    const input = document.querySelectorAll("#panel-1 .addend input")[5], start = performance.now();
    input.value = String(i % 7 + 1);
    input.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  times.sort((x, y) => x - y);
  return [times[30], times[57], document.querySelectorAll("#panel-1 .addend").length];
})()"""


def measure(browser, url):
    paints = []
    for _ in range(5):
        page = browser.open(url)
        page.run(READY)
        paints.append(page.run("[performance.getEntriesByType('paint')[0].startTime, explorer.ready]"))
        page.close()
    page = browser.open(url)
    page.run(READY)
    median, slow, rows = page.run(TIMED)
    paint, ready = sorted(paints)[2]
    print(f"note  first paint after {paint:.0f} ms, answers after {ready:.0f} ms (medians of 5 loads from disk)")
    print(f"note  a change of one of {rows} addends, computed, drawn and laid out: {median:.1f} ms, "
          f"95% within {slow:.1f} ms")
    page.close()


SHOTS = {"dot": "#gpu=hopper&inst=wgmma.m64nNk32.f32.e4m3.e4m3&a=448,-12,0,0,0,0.140625&b=1,0.6875,0,0,0,0.375"
                "&vs=hopper&vinst=mma.m16n8k32.f32.e4m3.e4m3.f32",
         "functions": "#view=functions&fn=ex2.approx.f32&x=0.3", "attention": "#view=attention",
         "formats": "#view=formats&code=2b", "fragments": "#view=fragments&inst=mma.m16n8k16.f32.f16.f16.f32"}


# A promise: every operand of the binade was gone through.
GONE_THROUGH = ("new Promise((done) => { const wait = setInterval(() => { if (document.querySelector('#worst button')) "
                "{ clearInterval(wait); done(); } }, 10); })")


def shots(browser, url, folder):
    for name, address in SHOTS.items():
        for width, dark in ((1366, False), (1366, True), (420, False), (420, True)):
            page = browser.open(url + address, width=width, height=900, dark=dark)
            page.run(READY)
            height = min(1500, page.run("document.documentElement.scrollHeight"))
            browser.send("Emulation.setDeviceMetricsOverride", page.session, width=width, height=height,
                         deviceScaleFactor=1, mobile=False)
            page.run("new Promise((done) => setTimeout(done, 200))")
            if name == "functions":
                page.run(GONE_THROUGH)
            data = browser.send("Page.captureScreenshot", page.session, format="png")["data"]
            (folder / f"explorer-{name}-{width}{'-dark' if dark else ''}.png").write_bytes(base64.b64decode(data))
            page.close()
