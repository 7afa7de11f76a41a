"""A headless Chromium over its debugging pipe: standard library only."""
import json
import os
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--remote-debugging-pipe"]

# A promise: the explorer is ready and painted.
READY = ("new Promise((done) => { const wait = setInterval(() => { if (document.documentElement.dataset.ready && "
         "performance.getEntriesByType('paint').length) { clearInterval(wait); done(); } }, 10); })")
# The least size of any text as it is drawn: [px, the text, how many texts]. Text in SVG counts with its scale.
LEAST_TEXT = """(() => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  let least = [Infinity, ""], count = 0;
  const look = (element, text) => {
    const size = parseFloat(getComputedStyle(element).fontSize), at = element.getScreenCTM?.();
    const drawn = size * (at ? Math.hypot(at.c, at.d) : 1);
    ++count;
    if (drawn < least[0]) least = [drawn, text.trim().slice(0, 40)];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) {
    const { data, parentElement: of } = texts.currentNode;
    range.selectNodeContents(texts.currentNode);
    if (data.trim() && !of.closest("script, title, desc") && range.getClientRects().length) look(of, data);
  }
  for (const field of document.querySelectorAll("input, select"))
    if (field.getClientRects().length) look(field, field.value);
  return [...least, count];
})()"""
LEAST_PX = 10
FAILED = []


def check(what, found, good):
    print(("ok    " if good else "FAIL  ") + what + ("" if good else f": found {found!r}"), flush=True)
    if not good:
        FAILED.append(what)


def check_text(page, what):
    """No text is too small to read."""
    least = page.run(LEAST_TEXT)
    check(f"{what}: text of at least {LEAST_PX} px", least, least[2] > 5 and least[0] >= LEAST_PX - 0.01)


class Chromium:
    """Commands go to descriptor 3 of the browser and answers come from 4, as JSON with a zero byte at the end."""

    def __init__(self, program, timeout=60):
        self.timeout = timeout
        self.profile = tempfile.mkdtemp(prefix="mmaudit-chromium-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        os.set_blocking(self.read_end, False)
        # Copies far above 3 and 4, so that neither overwrites the other.
        low_in, low_out = (os.dup(fd) for fd in (to_browser, from_browser))
        high_in, high_out = 60, 61

        def place():
            os.dup2(low_in, high_in)
            os.dup2(low_out, high_out)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.process = subprocess.Popen([program, *FLAGS, "--user-data-dir=" + self.profile, "about:blank"],
                                        preexec_fn=place, close_fds=True, pass_fds=(3, 4),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (to_browser, from_browser, low_in, low_out):
            os.close(fd)
        self.held, self.next_id, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except Exception:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, until):
        while b"\0" not in self.held:
            if time.monotonic() > until or self.process.poll() is not None:
                raise TimeoutError("Chromium does not answer")
            try:
                part = os.read(self.read_end, 1 << 20)
                if not part:
                    raise TimeoutError("Chromium has gone")
                self.held += part
            except BlockingIOError:
                time.sleep(0.005)
        one, self.held = self.held.split(b"\0", 1)
        return json.loads(one)

    def send(self, method, session=None, **parameters):
        self.next_id += 1
        command = {"id": self.next_id, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        until = time.monotonic() + self.timeout
        while True:
            answer = self.message(until)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width=1200, height=900, dark=False):
        """A loaded page; `seconds` is how long its load event took."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable", session)
        self.send("Emulation.setDeviceMetricsOverride", session, width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.send("Emulation.setEmulatedMedia", session,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        start = time.monotonic()
        self.send("Page.navigate", session, url=url)
        until = start + self.timeout
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message(until))
        return Page(self, session, target, time.monotonic() - start)


class Page:
    def __init__(self, browser, session, target, seconds):
        self.browser, self.session, self.target, self.seconds = browser, session, target, seconds

    def run(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        return self.run_in(None, expression)

    def run_in(self, world, expression):
        """The same in an execution context of a frame; None: of the page."""
        where = {} if world is None else {"contextId": world}
        answer = self.browser.send("Runtime.evaluate", self.session, expression=expression, returnByValue=True,
                                   awaitPromise=True, **where)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def key(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.browser.send("Input.dispatchKeyEvent", self.session, type=kind, key=key, code=key,
                              windowsVirtualKeyCode=code, **({"text": text} if kind == "keyDown" and text else {}))

    def complaints(self):
        """What the console, the policy or an exception said, and every request beyond the page itself."""
        self.run("0")  # everything said so far has arrived after this
        out = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, of = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown":
                out.append("exception: " + json.dumps(of)[:500])
            elif method == "Runtime.consoleAPICalled":
                out.append("console: " + json.dumps(of.get("args"))[:500])
            elif method == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
                out.append("log: " + of["entry"]["text"])
            elif method == "Network.requestWillBeSent" and of.get("type") != "Document":
                out.append("request: " + of["request"]["url"])
            elif method == "Page.javascriptDialogOpening":
                out.append("dialog: " + of.get("message", ""))
        return out

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)
