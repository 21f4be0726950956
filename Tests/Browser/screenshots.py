"""Makes the pictures of the guide: pages of a prepared store, in both colour schemes. Run by `Scripts/screenshots`."""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import labels
from browser import Browser
from client import Client
from PIL import Image
from processes import Console, Sample, operations, run

WIDTH = 1280
GREATEST_HEIGHT = 900
COLORS = 128
"""A page has few colours, so a palette makes the files several times smaller."""


def pages(client: Client, store: Path) -> dict[str, str]:
    """The paths of the pages, by the names of their pictures."""
    navigation = client.navigation()
    list_page = navigation[labels.OPERATIONS]
    failed = min(id for id, status in operations(store).items() if status == labels.FAILED)
    operation = next(path for path in client.links(list_page) if path.endswith(f"id={failed}"))
    return {"overview": navigation[labels.OVERVIEW], "operations": list_page, "operation": operation}


def picture(browser: Browser) -> bytes:
    """The page as a PNG, as high as its content."""
    height = browser.run("return document.querySelector('main').getBoundingClientRect().bottom")
    browser.resize(WIDTH, min(int(height), GREATEST_HEIGHT))
    data = base64.b64decode(browser.driver.get_screenshot_as_base64())
    image = Image.open(io.BytesIO(data)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    output = io.BytesIO()
    image.save(output, "PNG", optimize=True)
    return output.getvalue()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # The name is the title of the pages.
        store = scratch / "press.sqlite"
        run("strata-sample", "make", store)
        sample = Sample(store)
        stack.callback(sample.end)
        sample.enqueue("videos", 4)
        sample.start("videos")
        console = Console(store, "--allow-changes", "--by", "ada")
        stack.callback(console.end)
        browser = Browser(scratch / "profile")
        stack.callback(browser.quit)
        browser.log_in(console.address, console.root)
        for name, path in pages(Client(console.root, console.token), store).items():
            for scheme in ["light", "dark"]:
                browser.use(scheme)
                browser.resize(WIDTH, GREATEST_HEIGHT)
                browser.go(path)
                browser.wait(lambda: browser.run("return document.querySelector('[data-state]').checkVisibility()"))
                file = folder / f"console-{name}-{scheme}.png"
                file.write_bytes(picture(browser))
                print(f"{file.name}: {file.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
