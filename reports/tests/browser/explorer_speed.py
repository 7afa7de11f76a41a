"""How fast the explorer answers. usage: explorer_speed.py CHROMIUM EXPLORER_HTML [ANOTHER_HTML...]

Prints, for each page, the first paint from disk and, for each sort of dot product, how long a change of one input
takes: median and 95th percentile in ms. Pages take turns, so that all meet the same machine; nothing is asserted.
"handled": the event, the model, the drawing, and a layout forced at the end. "drawn": until the frame is painted;
a frame of a 60 Hz screen is 16.7 ms. "work": processor time of the page's main thread per change, with styles, layout
and painting; other load matters least to it. Run it while the machine does nothing else.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chromium import READY, Chromium  # noqa: E402

ROUNDS, LOADS, CHANGES = 2, 3, 60
CASES = {  # the state of the page; a and b hold k numbers each
    "integers, k = 64": ("mma.m16n8k64.s32.s4.s4.s32", {"gpu": "ampere"}),
    "integers, k = 64, two GPUs": ("mma.m16n8k64.s32.s4.s4.s32", {"gpu": "ampere", "vs": "ada"}),
    "FP8, k = 32, two GPUs": ("mma.m16n8k32.f32.e4m3.e4m3.f32", {"gpu": "hopper", "vs": "ada"}),
    "sparse FP8, k = 64, two GPUs": ("mma.sp.m16n8k64.f32.e4m3.e4m3.f32", {"gpu": "hopper", "vs": "ada"}),
    "block-scaled, k = 64": ("mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3", {"gpu": "blackwell_rtx"}),
    "block-scaled, k = 64, two GPUs": ("tcgen05.mMnNk64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3",
                                       {"gpu": "blackwell", "vs": "blackwell_rtx"}),
}

START = """((state, inst, k) => {
  const of = (shift) => Array.from({ length: k }, (_, i) => (i * 5 + shift) % 7 % 4 + 1).join();
  explorer.show({ view: "dot", vs: "", vinst: "", meta: "", sa: "", sb: "", c: "1", inst, a: of(0), b: of(1), ...state });
  const text = (id) => document.getElementById(id).innerText;
  return [text("error"), document.querySelectorAll("#panel-1 .line").length, document.querySelectorAll("#panel-2:not([hidden]) .line").length];
})"""

CHANGE = """((changes) => (async () => {
  const handled = [], drawn = [];
  for (let i = 0; i < changes; ++i) {
    await new Promise((done) => setTimeout(done, 20 + i % 16));
    const input = document.querySelectorAll("#panel-1 .addend input")[4], start = performance.now();
    if (input) {
      input.value = String(i % 4 + 1);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    } else {
      const whole = document.getElementById("a"), words = whole.value.split(",");
      words[2] = String(i % 4 + 1);
      whole.value = words.join();
      whole.dispatchEvent(new Event("input", { bubbles: true }));
    }
    document.body.getBoundingClientRect();
    handled.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = done;
      port2.postMessage(0);
    }));
    drawn.push(performance.now() - start);
  }
  return [handled, drawn];
})())"""


def at(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def worked(browser, page):
    metrics = browser.send("Performance.getMetrics", page.session)["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def measure(browser, url, name, into):
    inst, state = CASES[name]
    page = browser.open(url, width=1366)
    page.run(READY)
    k = 32 if "k = 32" in name else 32 if "sparse" in name else 64
    error, *lines = page.run(f"{START}({state}, {inst!r}, {k})")
    if error:
        sys.exit(f"explorer_speed.py: {name}: {error}")
    page.run(f"{CHANGE}(5)")
    browser.send("Performance.enable", page.session, timeDomain="threadTicks")
    before = worked(browser, page)
    for key, times in zip(("handled", "drawn"), page.run(f"{CHANGE}({CHANGES})")):
        into.setdefault(key, []).extend(times)
    into.setdefault("work", []).append((worked(browser, page) - before) / CHANGES * 1000)
    into["lines"] = sum(lines)
    page.close()


def main():
    chromium, *paths = sys.argv[1:]
    pages = {path: pathlib.Path(path).resolve().as_uri() for path in paths}
    found = {path: {name: {} for name in CASES} for path in paths}
    paints = {path: [] for path in paths}
    with Chromium(chromium) as browser:
        for _ in range(ROUNDS):
            for path, url in pages.items():
                for _ in range(LOADS):
                    page = browser.open(url)
                    page.run(READY)
                    paints[path].append(page.run("performance.getEntriesByType('paint')[0].startTime"))
                    page.close()
                for name in CASES:
                    measure(browser, url, name, found[path][name])
    for path in paths:
        print(f"{path}: first paint {at(paints[path], 0.5):.0f} ms, 95% within {at(paints[path], 0.95):.0f} ms")
        for name, times in found[path].items():
            handled, drawn = times["handled"], times["drawn"]
            print(f"  {name} ({times['lines']} lines): handled {at(handled, 0.5):.1f} ms, 95% within {at(handled, 0.95):.1f}; "
                  f"drawn {at(drawn, 0.5):.1f}, 95% within {at(drawn, 0.95):.1f}; work {min(times['work']):.1f}")


main()
