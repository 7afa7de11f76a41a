"""The documentation as a site: site_test.py CHROMIUM EXPLORER

Builds it as ./run site does, shows that each fault of a page fails the build, and opens every page from disk. Exit code
77: skipped, and the last line says why.
"""
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "docs" / "site"))
import build  # noqa: E402
from chromium import FAILED, Chromium, check  # noqa: E402


def faults(folder):
    """Each fault, planted in a copy of the site or of its pages, is named."""
    planted = {
        "a link to no file": ('<a href="none.html">', "links to none.html, which does not exist"),
        "a link to no heading": ('<a href="cli.html#none">', "cli.html has no such heading"),
        "a script from elsewhere": ('<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js"),
        "an image from elsewhere": ('<img src="//example.org/a.png">', "loads //example.org/a.png"),
    }
    copy = folder / "copy"
    shutil.copytree(folder / "html", copy)
    whole = (copy / "index.html").read_text()
    for what, (text, words) in planted.items():
        (copy / "index.html").write_text(whole.replace("</article>", text + "</article>"))
        found = list(build.complaints(copy))
        check(f"{what} is named", found, len(found) == 1 and words in found[0])
    (copy / "index.html").write_text(whole)
    shutil.copy(copy / "install.html", copy / "alone.html")
    check("a page that no page links to is named", found := list(build.complaints(copy)), len(found) == 1 and "alone.html: no page" in found[0])
    page = folder / "pages" / "cli.md"
    page.write_text(page.read_text() + "\n[gone](gone.md)\n")
    done = build.mkdocs(folder)
    check("mkdocs refuses a link to no page", done.stderr, done.returncode != 0 and "gone.md" in done.stderr)


SEARCH = """(async () => {
  document.querySelector("#__search").checked = true;
  const field = document.querySelector(".md-search__input");
  const words = () => document.querySelector(".md-search-result__meta").textContent;
  field.focus();
  for (let round = 0; round < 100 && words().includes("Initializing"); ++round) await new Promise((done) => setTimeout(done, 100));
  field.value = "promotion";
  for (let round = 0; round < 100 && !document.querySelector(".md-search-result__item"); ++round) {
    if (round % 10 === 0) field.dispatchEvent(new Event("keyup", { bubbles: true }));
    await new Promise((done) => setTimeout(done, 100));
  }
  return [...document.querySelectorAll(".md-search-result__item a")].map((a) => a.getAttribute("href"));
})()"""

def fetched(page, root):
    """What was said on the console, and every request that leaves the site."""
    return [line[:200] for line in page.complaints() if not line.startswith((f"request: {root}", "request: data:", "request: blob:"))]


def whole_page(browser, site, path, width, dark):
    page = browser.open(path.as_uri(), width=width, dark=dark)
    name = f"{path.relative_to(site)}, {width} px, {'dark' if dark else 'light'}: "
    page.run("new Promise((done) => setTimeout(done, 100))")  # the theme's script wraps tables
    overflow = page.run("document.documentElement.scrollWidth - innerWidth")
    check(name + "no sideways scrolling of the page", overflow, overflow <= 0)
    scheme = page.run("document.body.dataset.mdColorScheme")
    check(name + "its colours", scheme, scheme == ("slate" if dark else "default"))
    said = fetched(page, site.as_uri())
    check(name + "nothing said on the console, nothing fetched from elsewhere", said, not said)
    page.close()


def search(browser, url, root):
    page = browser.open(url, width=1366)
    found = page.run(SEARCH)
    check(f"search finds a word: {root}", found, any("audit.html" in link for link in found))
    check(f"and fetches nothing from elsewhere: {root}", *(lambda said: (said, not said))(fetched(page, root)))
    page.close()


def served(browser, site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_address[1]}/"
        search(browser, root + "index.html", root)
        server.shutdown()


def main():
    chromium, explorer = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        done = subprocess.run([sys.executable, "-B", build.__file__, explorer, folder], capture_output=True, text=True)
        if "Unrecognised theme" in done.stderr:
            print("skipped: the site: mkdocs has no theme 'material' (package mkdocs-material)")
            return 77
        check("the site builds in strict mode", done.stdout + done.stderr, done.returncode == 0)
        if FAILED:
            return 1
        site = folder / "html"
        others = {site / "404.html", site / "explorer" / "explorer.html"}
        pages = sorted(set(site.rglob("*.html")) - others)
        check("every page is there", len(pages), len(pages) == len(list((folder / "pages").rglob("*.md"))) > 25)
        for dark in (False, True):  # a browser each: the theme remembers the first colours that it sees
            with Chromium(chromium) as browser:
                try:
                    browser.send("Browser.getVersion")
                except TimeoutError as error:
                    print(f"skipped: the site: {chromium} does not start here ({error})")
                    return 77
                for path in pages:
                    whole_page(browser, site, path, 1366, dark)
                    whole_page(browser, site, path, 420, dark)
                search(browser, (site / "index.html").as_uri(), site.as_uri())
                served(browser, site)
        faults(folder)
    print(f"{len(FAILED)} failed")
    return 1 if FAILED else 0


sys.exit(main())
