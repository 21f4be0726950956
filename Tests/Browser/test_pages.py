"""Every page that links lead to: without errors, at all widths, readable in both schemes, and well built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import labels
import pytest
from browser import Browser
from client import Client
from processes import Console, Sample

WIDTHS = [360, 768, 1280, 1920]
LEAST_CONTRAST = 4.5
"""The ratio of WCAG 2 for texts of any size."""

Serve = Callable[..., Console]
WorkOn = Callable[[Path], Sample]


@pytest.fixture
def pages(store: Path, open_console: Serve, work_on: WorkOn) -> list[str]:
    """The pages of a console that may change its store, while another process runs operations."""
    sample = work_on(store)
    sample.enqueue("videos", 3)
    sample.start("videos")
    console = open_console(store, "--allow-changes")
    return Client(console.root, console.token).pages()


def test_links_lead_to_every_page(browser: Browser, store: Path, open_console: Serve) -> None:
    console = open_console(store)
    client = Client(console.root, console.token)
    navigation = client.navigation()
    assert {labels.OVERVIEW, labels.PIPELINES, labels.OPERATIONS} <= set(navigation)
    pages = client.pages()
    assert set(navigation.values()) <= set(pages)
    for page in pages:
        assert client.get(page).status == 200, page
    for title in navigation:
        browser.follow(title)
        assert title in browser.find("h1").text
        assert browser.find("header nav a[aria-current=page]").text == title
    assert browser.take_log() == []


def test_no_page_has_errors_or_scrolls_to_the_right(browser: Browser, pages: list[str]) -> None:
    faults = []
    for page in pages:
        browser.resize(WIDTHS[-1])
        browser.go(page)
        for width in WIDTHS:
            browser.resize(width)
            faults += [f"{page} at {width}: {fault}" for fault in browser.audit("overflow")]
        faults += [f"{page}: {message}" for message in browser.take_log()]
    assert faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_texts_have_contrast(browser: Browser, pages: list[str], scheme: str) -> None:
    browser.use(scheme)
    browser.resize(1280)
    faults, backgrounds = [], set()
    for page in pages:
        browser.go(page)
        backgrounds.add(browser.run("return getComputedStyle(document.body).backgroundColor"))
        faults += [f"{page}: {fault}" for fault in browser.audit("contrast", LEAST_CONTRAST)]
    assert faults == []
    assert len(backgrounds) == 1
    browser.use("dark" if scheme == "light" else "light")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") not in backgrounds


def test_every_page_is_well_built(browser: Browser, pages: list[str]) -> None:
    faults = []
    for page in [*pages, "nothing", "pipelines?page=0"]:
        browser.go(page)
        faults += [f"{page}: {fault}" for fault in browser.audit("structure")]
    assert faults == []


def test_the_page_for_the_token_is_well_built(browser: Browser, store: Path, serve: Serve) -> None:
    browser.root = serve(store).root
    faults = []
    for scheme in ["light", "dark"]:
        browser.use(scheme)
        browser.go("")
        faults += browser.audit("structure") + browser.audit("contrast", LEAST_CONTRAST)
        for width in WIDTHS:
            browser.resize(width)
            faults += browser.audit("overflow")
    assert faults == []


def test_the_audits_find_faults(browser: Browser) -> None:
    browser.driver.get(
        """data:text/html,<title></title><style>.pale { color: rgb(150 150 150) } .wide { width: 3000px }</style>
        <body style="background: white"><h1>a</h1><h3>b</h3><input name=c><table><tr><td>d</table><p class=pale>e
        <p class=wide>f<p style="opacity: 0.4">g</p><svg width=80 height=20><rect width=80 height=20 fill=black />
        <text x=5 y=15 fill=black>h</text></svg><a href="javascript:1">i</a>"""
    )
    structure = " ".join(browser.audit("structure"))
    for text in ["no language", "no title", "elements <main>", "level 1", "'c'", "caption", "no headers", "style"]:
        assert text in structure, text
    assert browser.audit("overflow") != []
    contrast = browser.audit("contrast", LEAST_CONTRAST)
    assert [text for text in "abdeghi" if any(f"'{text}'" in fault for fault in contrast)] == list("egh"), contrast
    assert "javascript:1" in " ".join(browser.audit("intrusions"))
