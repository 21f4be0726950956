"""The console without a mouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import labels
import pytest
from browser import Browser
from client import Client
from processes import Console
from selenium.webdriver.common.keys import Keys

MOST_STOPS = 150

Serve = Callable[..., Console]


@pytest.mark.parametrize("title", [labels.OVERVIEW, labels.PIPELINES, labels.OPERATIONS])
def test_the_tab_key_reaches_everything_in_order(
    browser: Browser, store: Path, open_console: Serve, title: str
) -> None:
    open_console(store, "--allow-changes")
    browser.follow(title)
    # A new document, so that the focus is at its beginning.
    browser.driver.refresh()
    expected = browser.audit("markStops")
    assert expected[0].startswith("<a"), expected[0]
    reached: list[int] = []
    for _ in range(MOST_STOPS):
        browser.tab()
        stop = browser.audit("focus")
        if stop is None or stop["stop"] in reached[:1]:
            break
        assert stop["isVisible"], f"the focus is not seen on {stop['text']}"
        # The browser also stops at boxes that scroll.
        if stop["stop"] is not None:
            reached.append(stop["stop"])
    missing = [text for index, text in enumerate(expected[:MOST_STOPS]) if index not in reached]
    assert len(reached) >= MOST_STOPS - 10 or missing == []
    assert reached == sorted(reached)


def test_the_first_stop_skips_to_the_content(browser: Browser, store: Path, open_console: Serve) -> None:
    open_console(store)
    browser.tab()
    assert browser.run("return document.activeElement.getAttribute('href')") == "#main"
    browser.key(Keys.ENTER)
    browser.wait(lambda: browser.run("return document.activeElement.localName") == "main")
    browser.tab()
    assert browser.run("return document.querySelector('main').contains(document.activeElement)")


def test_a_page_is_opened_with_the_keyboard(browser: Browser, store: Path, open_console: Serve) -> None:
    console = open_console(store)
    path = Client(console.root, console.token).navigation()[labels.PIPELINES]
    for _ in range(MOST_STOPS):
        browser.tab()
        if browser.run("return document.activeElement.textContent") == labels.PIPELINES:
            break
    browser.key(Keys.ENTER)
    browser.wait(lambda: browser.driver.current_url == console.root + path)
