#!/usr/bin/env python3
"""Makes the site: build.py EXPLORER FOLDER (./run site calls it).

Collects README.md, CONTRIBUTING.md, CHANGELOG.md, docs/ and the explorer (EXPLORER, an HTML file) under FOLDER/pages,
runs mkdocs over them in strict mode, lets the search work from disk, and checks every link of FOLDER/html. Nothing of
it may need the network. Exit codes: 0 all good, 1 a page is wrong, 2 usage.
"""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

from notebook import notebook

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent
ROOT = DOCS.parent
HOME = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
NOT_PAGES = shutil.ignore_patterns("tests", "site", "CMakeLists.txt")
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)


def outside_code(text, change):
    """The text with `change` applied between the fenced blocks."""
    parts, at = [], 0
    for block in FENCED.finditer(text):
        parts += [change(text[at : block.start()]), block.group()]
        at = block.end()
    return "".join(parts) + change(text[at:])


def collect(explorer, pages):
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=NOT_PAGES)
    for source, target in HOME.items():
        shutil.copy(ROOT / source, pages / target)
    shutil.copy(explorer, pages / "explorer" / "explorer.html")
    shutil.copy(HERE / "site.css", pages / "site.css")
    tutorial = pages / "tutorial.md"
    (pages / "tutorial.ipynb").write_text(notebook(tutorial.read_text()))
    tutorial.write_text(tutorial.read_text().replace("`tutorial.ipynb`", "[tutorial.ipynb](tutorial.ipynb)"))
    schemas = sorted(path.name for path in (pages / "schema").iterdir())
    (pages / "schema" / "index.md").write_text("# JSON schemas\n\n" + "".join(f"- [{name}]({name})\n" for name in schemas))
    titles = {page.resolve(): page.read_text().split("\n")[0].lstrip("# ") for page in pages.rglob("*.md")}
    for page in pages.rglob("*.md"):
        page.write_text(outside_code(page.read_text(), lambda text: in_site(text, page, pages, titles)))


def in_site(text, page, pages, titles):
    """GitHub's Markdown as mkdocs reads it: links within the collected folder, with titles instead of file names; | in
    code of tables; a blank line before lists."""

    def titled(link):
        path = (page.parent / link["target"]).resolve()
        return f"[{titles[path]}]({link['target']}" if path in titles else link.group()

    if page.parent == pages:
        text = re.sub(r"\]\((?:docs|\.\.)/", "](", text)
    text = text.replace("](..)", "](../index.md)").replace("](schema/)", "](schema/index.md)")
    text = re.sub(r"\[[\w./-]+(?:\.md|/)\]\((?P<target>[^)#:]+)", titled, text)
    text = re.sub(r"^\|.*", lambda row: re.sub(r"`[^`]+`", lambda code: code.group().replace("\\|", "|"), row.group()), text, flags=re.M)
    return re.sub(r"^((?![-|#\s]|\d+\. ).*\n)(?=(?:-|1\.) )", r"\1\n", text, flags=re.M)


# Browsers let no page from disk read a file or start a worker from one, so both come along as text.
SEARCH = """if (location.protocol === "file:") {
  __search = { index: Promise.resolve(%s) };
  const worker = %s;
  window.Worker = class extends Worker {
    constructor() { super(URL.createObjectURL(new Blob([worker], { type: "text/javascript" }))); }
  };
}
"""


def search_from_disk(site):
    (worker,) = site.glob("assets/javascripts/workers/search.*.js")
    index = json.loads((site / "search" / "search_index.json").read_text())
    code = re.sub(r"//# sourceMappingURL=.*", "", worker.read_text())
    (site / "search" / "from_disk.js").write_text(SEARCH % (json.dumps(index), json.dumps(code)))
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text().replace('role="dialog"', 'role="dialog" aria-label="Search"')
        text = re.sub(r'(<input class="md-toggle" data-md-toggle="(\w+)")', r'\1 aria-label="Open \2"', text)
        page.write_text(re.sub(r'(<script src="[^"]*assets/javascripts/bundle)', rf'<script src="{up}search/from_disk.js"></script>\1', text))


class Links(html.parser.HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors |= {of[name] for name in ("id", "name") if of.get(name)}
        if tag == "a" and of.get("href"):
            self.links.append(of["href"])
        elif tag in ("script", "img", "iframe", "source") and of.get("src"):
            self.loads.append(of["src"])
        elif tag == "link" and of.get("href") and of.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(of["href"])


def complaints(site):
    """Broken links and headings, pages that no page links to, what a page would load from elsewhere; one line each."""
    parsed = {path.resolve(): Links(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    linked = set()
    for path, page in parsed.items():
        name = path.relative_to(site.resolve())
        for link in page.links + page.loads:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loads and url.scheme != "data":
                    yield f"{name}: loads {link}, allowed: files of the site"
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if target != path:
                linked.add(target)
            if not target.is_file():
                yield f"{name}: links to {link}, which does not exist"
            elif url.fragment and target in parsed and target.name != "explorer.html" and \
                    urllib.parse.unquote(url.fragment) not in parsed[target].anchors | {"__top"}:
                yield f"{name}: links to {link}, and {target.name} has no such heading"
    for path in sorted(set(parsed) - linked):
        yield f"{path.relative_to(site.resolve())}: no page links to it; docs/site/mkdocs.yml has the menu"
    for path in site.rglob("*.css"):
        for url in re.findall(r"url\(\"?(https?:[^)\"]*)", path.read_text()):
            yield f"{path.relative_to(site)}: loads {url}, allowed: files of the site"


def mkdocs(folder):
    return subprocess.run(["mkdocs", "build", "--strict", "--clean", "-f", folder / "mkdocs.yml"], capture_output=True, text=True)


def main():
    if len(sys.argv) != 3:
        print(__doc__.split("\n")[0], file=sys.stderr)
        return 2
    explorer, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    collect(explorer, folder / "pages")
    shutil.copy(HERE / "mkdocs.yml", folder)
    done = mkdocs(folder)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        return 1
    site = folder / "html"
    search_from_disk(site)
    found = sorted(set(complaints(site)))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
