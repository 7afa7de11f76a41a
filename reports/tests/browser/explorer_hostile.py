"""Addresses of the explorer as an attacker writes them, and its policy; explorer_test.py runs them."""
import urllib.parse

from chromium import READY, check

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>document.title=`owned`</script></script>"
# A promise: the explorer is ready, or says why not.
STARTED = ("new Promise((done) => { const wait = setInterval(() => { if (document.documentElement.dataset.ready || "
           "document.getElementById('error').textContent) { clearInterval(wait); done(); } }, 10); })")
# Names that every object has, and codes that no format has.
NO_NAMES = ["constructor", "__proto__", "toString", "valueOf"]
ODD = [*({"view": name} for name in NO_NAMES), *({"view": "formats", "format": name} for name in NO_NAMES),
       *({"view": "dot", "gpu": name, "inst": name, "vs": name, "vinst": name} for name in NO_NAMES),
       *({"view": "functions", "fn": name, "x": name} for name in NO_NAMES),
       *({"view": "formats", "code": code} for code in ("-1", "-0", "1e9", "ffffffffffffffffffff", "x", "Infinity"))]


def odd_addresses(browser, url):
    for given in ODD:
        page = browser.open(url + "#" + urllib.parse.urlencode(given))
        page.run(STARTED)
        said, quiet = page.run("document.getElementById('error').innerText"), page.complaints()
        check(f"{given}: the model starts", (said, quiet), "does not start" not in said and not quiet)
        page.close()


def hostile(browser, url):
    for view, some in [("dot", "gpu inst"), ("dot", "vs vinst"), ("dot", "a b c sa sb meta mod"), ("fragments", "inst"),
                       ("formats", "format code number from round"), ("functions", "fn x y"), ("?", "view")]:
        some = some.split()
        given = {"view": view, "vs": "ampere", **{key: HOSTILE for key in some}}
        page = browser.open(url + "#" + urllib.parse.urlencode(given))
        page.run(READY)
        quiet = page.complaints()
        clean = page.run("document.images.length === 0 && document.scripts.length === 2 && "
                         "document.title.startsWith('mmaudit') && window.owned === undefined")
        check(f"hostile {', '.join(some)}: text, and nothing said or fetched", quiet, clean and not quiet)
        if "a" in some:
            said = page.run("document.getElementById('error').innerText")
            check("hostile a: shown as text", said, said.startswith('A 0: found "<img'))
        page.close()


def policy(browser, url):
    page = browser.open(url)
    page.run(READY)
    script = ("new Promise((d) => { const s = document.createElement('script'); s.textContent = 'window.owned = 1'; "
              "document.body.append(s); setTimeout(() => d(window.owned ? 1 : Promise.reject()), 50); })")
    for what, code in (("fetch", "fetch('data:,x')"), ("another script", script)):
        check(f"the policy forbids {what}", None, page.run(f"{code}.then(() => 'done', () => 'refused')") == "refused")
    page.close()
