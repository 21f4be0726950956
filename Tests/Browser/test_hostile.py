"""Names and texts of a store that try to become markup or scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import labels
from browser import Browser
from client import Client
from processes import Console

GREATEST_PAGE = 1_000_000
"""The greatest number of bytes of a page. The store has texts of a million bytes."""

# As `Tests/Helpers/StrataSample/HostileStore.swift` writes them, and pages must show them.
SHOWN = [
    "<script>document.title='owned'</script>",
    "\"><img src=x onerror=\"document.title='owned'\">",
    "' autofocus onfocus='document.title=1' x='",
    "</table></main></section><h1>owned</h1>",
    "{{formToken}} {{{title}}}",
    r"line\nfeed",
    r"right\u{202e}gpj.exe",
    "a%2F..%2F?b=c&d#e+f",
]

Serve = Callable[..., Console]


def test_hostile_texts_stay_texts(browser: Browser, hostile_store: Path, open_console: Serve) -> None:
    console = open_console(hostile_store, "--allow-changes")
    client = Client(console.root, console.token)
    pages = client.pages(alike=6)
    assert len(pages) > 2
    faults = []
    for page in pages:
        answer = client.get(page)
        assert answer.status == 200, page
        assert len(answer.body) < GREATEST_PAGE, page
        browser.go(page)
        faults += [f"{page}: {fault}" for fault in browser.audit("intrusions")]
        faults += [f"{page}: {fault}" for fault in browser.audit("structure")]
        for width in [360, 1280]:
            browser.resize(width)
            faults += [f"{page} at {width}: {fault}" for fault in browser.audit("overflow")]
        faults += [f"{page}: {message}" for message in browser.take_log()]
    assert faults == []


def test_hostile_names_are_shown(browser: Browser, hostile_store: Path, open_console: Serve) -> None:
    open_console(hostile_store)
    browser.follow(labels.PIPELINES)
    for text in SHOWN:
        assert text in browser.text, text
    assert browser.driver.title.startswith(labels.PIPELINES)


def test_a_pipeline_with_a_hostile_name_is_paused(browser: Browser, hostile_store: Path, open_console: Serve) -> None:
    open_console(hostile_store, "--allow-changes")
    browser.follow(labels.PIPELINES)
    for text in SHOWN:
        rows = [row for row in browser.all("main tbody tr") if text in row.text]
        assert len(rows) == 1, text
        browser.press(rows[0].find_element("tag name", "button"))
        assert text in browser.find("main [role=status]").text
        assert browser.audit("intrusions") == []
    assert len([row for row in browser.all("main tbody tr") if labels.RESUME in row.text]) == len(SHOWN)


def test_hostile_addresses_are_refused(browser: Browser, store: Path, open_console: Serve) -> None:
    console = open_console(store)
    script = "%3Cscript%3Edocument.title='owned'%3C/script%3E"
    for path in [f"pipelines?page={script}", script, f"?notice={script}", f"login?next={script}"]:
        browser.go(path)
        assert browser.audit("intrusions") == [], path
    client = Client(console.root, console.token)
    for path in ["%00", "..%2f..%2fetc%2fpasswd", "pipelines/../../etc/passwd", "pipelines?" + "a" * 20_000, "a//b"]:
        assert client.get(path).status in (200, 303, 400, 404, 414), path
    assert console.is_running
