"""docs/plan.png, README's picture. usage: plan_picture.py CHROMIUM PLAN_HTML PNG

PLAN_HTML is what README's example writes. The picture has its verdict and its layers, and holds as text the words that
it shows; emulator/python/torch_tests/test_pages.py compares them with the example's page.
"""
import base64
import pathlib
import struct
import sys
import zlib

WIDTH = 1000
# The verdict, and of the last section but one its figure beside its table; the words of both.
CUT = """(() => {
  const shown = [document.querySelector(".verdict"), [...document.querySelectorAll("main section")].at(-2)];
  for (const e of document.querySelectorAll("nav, footer, header > :not(.verdict), main section"))
    if (!shown.includes(e)) e.remove();
  shown[1].style.display = "grid";
  shown[1].style.gridTemplateColumns = "520px 1fr";
  shown[1].style.alignItems = "center";
  shown[1].querySelector("h2").style.gridColumn = "1 / 3";
  return shown.map((e) => e.innerText.replaceAll(/\\s+/g, " ").trim()).join("\\n");
})()"""


def with_text(png, text):
    """The picture with a chunk of text, before its last one."""
    body = b"iTXt" + b"Description\0\0\0\0\0" + text.encode()
    return png[:-12] + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) + png[-12:]


def text_of(png):
    """What with_text() wrote; empty where there is none."""
    at = 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"iTXt":
            return png[at + 8:at + 8 + size].split(b"\0", 5)[5].decode()
        at += size + 12
    return ""


def main():
    from chromium import Chromium
    chromium, page_file, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
    with Chromium(chromium) as browser:
        page = browser.open(page_file.as_uri(), width=WIDTH)
        text = page.run(CUT)
        height = page.run("Math.ceil(document.querySelector('main').getBoundingClientRect().bottom) + 16")
        browser.send("Emulation.setDeviceMetricsOverride", page.session, width=WIDTH, height=height, deviceScaleFactor=1.25,
                     mobile=False)
        data = browser.send("Page.captureScreenshot", page.session, format="png")["data"]
        page.close()
    out.write_bytes(with_text(base64.b64decode(data), text))


if __name__ == "__main__":
    main()
