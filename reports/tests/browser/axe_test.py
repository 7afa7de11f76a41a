"""axe-core over every page. usage: axe_test.py CHROMIUM MMAUDIT EXPLORER_HTML (or "" where it is not built)
[LIBMMAUDIT]

The explorer in every view, the pages of audit and sweep, and the site of the documentation, light and dark, at 1366
and 420 px. Any finding on a page of ours fails, on a page of the site's theme a serious or critical one. A sort of
page that is not found fails too. Exit code 77: skipped, and the last line says why. MMAUDIT_AXE names axe.min.js.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import page_test  # noqa: E402
from chromium import FAILED, READY, Chromium, check  # noqa: E402

SITE = HERE.parents[2] / "docs" / "site" / "build.py"
WAYS = (("light", 1366, False), ("dark", 1366, True), ("light", 420, False), ("dark", 420, True))
# Colours are looked at once per colour scheme, and at either width: they take most of the time.
COLOURS = (("light", 1366), ("dark", 420))
AXE = """axe.run(document, {resultTypes: ["violations"], rules: {"color-contrast": {enabled: %s}}}).then((r) => r.violations.map((v) =>
  [v.impact, v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")]))"""
OPENED = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
# Long pages repeat themselves, and axe-core takes a minute over each: a few lines and figures of every table and section.
SHORTER = """(() => {
  for (const body of document.querySelectorAll("tbody")) [...body.rows].slice(8).forEach((row) => row.remove());
  for (const all of document.querySelectorAll(".figures, .small-figures"))
    [...all.children].slice(3).forEach((figure) => figure.remove());
})()"""
EXPLORER = {
    "dot product": {"inst": "wgmma.m64n64k32.f32.e4m3.e4m3", "vs": "blackwell"},
    "scales": {"gpu": "blackwell", "inst": "tcgen05.mMnNk64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3",
               "sa": "448", "sb": "2"},
    "bad input": {"a": "nothing"},
    "fragments": {"view": "fragments", "inst": "mma.m16n8k16.f32.f16.f16.f32"},
    "fragments of wmma": {"view": "fragments", "inst": "wmma.m16n16k16.f32.f16.f16.f32"},
    "no fragments": {"view": "fragments", "inst": "tcgen05.mMnNk16.kind_f16.f32.f16.f16"},
    "number formats": {"view": "formats"},
    "special functions": {"view": "functions", "fn": "sqrt.approx.f32", "x": "1.3"},
    "no operand": {"view": "functions", "fn": "divide", "x": "nothing"},
    "attention": {"view": "attention"},
    "no scores": {"view": "attention", "s": "nothing"},
}


class Rules:
    def __init__(self, text, browsers):
        self.text, self.browsers, self.looked = text, browsers, {}

    def look(self, sort, name, url, ways=WAYS, least=("minor", "moderate", "serious", "critical"), ready="0"):
        """Runs the rules over a page in each of the ways. A browser per colour: a theme may remember its first one."""
        for title, width, dark in ways:
            start = time.monotonic()
            page = self.browsers[dark].open(url, width=width, dark=dark)
            page.run(ready)
            page.run(self.text)
            bad = [found for impact, found in page.run(AXE % str((title, width) in COLOURS).lower())
                   if impact in least]
            check(f"{sort}: {name}, {title}, {width} px", bad, not bad)
            self.looked.setdefault(sort, []).append(time.monotonic() - start)
            page.close()


def explorer(rules, path):
    url = pathlib.Path(path).resolve().as_uri()
    for name, state in EXPLORER.items():
        rules.look("explorer", name, url, ready=f"{READY}.then(() => explorer.show({state}))")


def reports(rules, mmaudit, folder, library):
    made = page_test.pages(mmaudit, folder, library)
    for name in [one for one in ("audit", "tensors", "named", "empty", "sweep", "report") if one in made]:
        rules.look("page of " + name, made[name].name, made[name].as_uri(),
                   ready=f"{OPENED}, {SHORTER}" if name in ("audit", "sweep") else OPENED)


def site(rules, explorer_page, folder):
    done = subprocess.run([sys.executable, "-B", SITE, explorer_page, folder], capture_output=True, text=True)
    if "Unrecognised theme" in done.stderr or "No module named" in done.stderr:
        return "mkdocs has no theme 'material' (package mkdocs-material)"
    check("the site builds", done.stdout + done.stderr, done.returncode == 0)
    pages = sorted(set((folder / "html").rglob("*.html")) - {folder / "html" / "explorer" / "explorer.html"})
    for number, path in enumerate(pages):
        # One style sheet for all: these two show every kind of element in every way, the others take turns.
        ways = WAYS if path.name in ("index.html", "cli.html") else WAYS[number % 4:][:1]
        rules.look("site", str(path.relative_to(folder / "html")), path.as_uri(), ways, ("serious", "critical"),
                   f"new Promise((done) => setTimeout(done, 100)).then(() => {SHORTER})")
    return ""


def main():
    chromium, mmaudit, explorer_page, library = (sys.argv[1:] + [""])[:4]
    axe = os.environ.get("MMAUDIT_AXE", "")
    if not axe:
        print("skipped: axe-core is not here (python3 -m pip install --target build/axe --no-deps axe-core-python)")
        return 77
    text, start = pathlib.Path(axe).read_text(), time.monotonic()
    with tempfile.TemporaryDirectory() as made, Chromium(chromium) as light, Chromium(chromium) as dark:
        try:
            light.send("Browser.getVersion")
        except TimeoutError as error:
            print(f"skipped: the pages: {chromium} does not start here ({error})")
            return 77
        rules, folder, missing = Rules(text, {False: light, True: dark}), pathlib.Path(made), ""
        reports(rules, mmaudit, folder, library)
        if explorer_page:
            explorer(rules, explorer_page)
            missing = site(rules, explorer_page, folder / "site")
        else:
            missing = "the explorer is not built (./run explorer)"
    wanted = {"page of audit", "page of tensors", "page of sweep"} | ({"explorer", "site"} if not missing else set())
    check("every sort of page was found", rules.looked, wanted <= set(rules.looked))
    for sort, times in rules.looked.items():
        print(f"note  {sort}: {len(times)} looks, {sum(times):.0f} s")
    print(f"{time.monotonic() - start:.0f} s in all, {len(FAILED)} failed")
    if FAILED:
        return 1
    if missing:
        print(f"skipped: the explorer and the site: {missing}")
        return 77
    return 0


sys.exit(main())
