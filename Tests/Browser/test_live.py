"""Open pages show the commits of other processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import labels
from browser import Browser
from processes import Console, Sample

Serve = Callable[..., Console]
WorkOn = Callable[[Path], Sample]


def is_live(browser: Browser) -> bool:
    return bool(browser.run("return document.querySelector('[data-state]').checkVisibility()"))


def keep(browser: Browser) -> None:
    """Marks the document, so that a new one is noticed."""
    browser.run("window.isKept = true")


def assert_kept(browser: Browser) -> None:
    assert browser.run("return window.isKept === true"), "the page was loaded again"


def test_a_page_shows_new_pipelines_without_being_loaded_again(
    browser: Browser, store: Path, open_console: Serve, work_on: WorkOn
) -> None:
    open_console(store, "--allow-changes")
    sample = work_on(store)
    browser.follow(labels.PIPELINES)
    browser.wait(lambda: is_live(browser))
    keep(browser)
    button = browser.button(labels.PAUSE)
    browser.run("arguments[0].focus()", button)
    action = browser.run("return document.activeElement.form.action")
    for number in range(3):
        sample.enqueue(f"fresh-{number}")
        browser.wait(lambda: f"fresh-{number}" in browser.text, f"fresh-{number} does not appear")
        assert browser.run("return document.activeElement.form?.action") == action
    assert_kept(browser)
    assert browser.take_log() == []


def test_the_overview_counts_failures(browser: Browser, store: Path, open_console: Serve, work_on: WorkOn) -> None:
    open_console(store)
    sample = work_on(store)
    browser.wait(lambda: is_live(browser))
    keep(browser)
    sample.fail("doomed", 2)
    browser.wait(lambda: "doomed" in browser.text)
    assert_kept(browser)


def test_a_typed_filter_a_check_mark_and_the_focus_are_kept(
    browser: Browser, store: Path, open_console: Serve, work_on: WorkOn
) -> None:
    open_console(store, "--allow-changes")
    sample = work_on(store)
    browser.follow(labels.OPERATIONS)
    browser.wait(lambda: is_live(browser))
    keep(browser)
    box = browser.find(f"main input[type=checkbox][name={labels.CHECK_BOX}]")
    box.click()
    checked = box.get_attribute("value")
    field = browser.find(f"main input[name={labels.TEXT_FIELD}]")
    field.send_keys("Resi")
    browser.run("arguments[0].setSelectionRange(1, 3)", field)
    sample.enqueue("fresh", 2)
    browser.wait(lambda: "fresh" in browser.find("main").text)
    kept = browser.run(
        "const field = document.activeElement; "
        "return [field.name, field.value, field.selectionStart, field.selectionEnd]"
    )
    assert kept == [labels.TEXT_FIELD, "Resi", 1, 3]
    boxes = browser.all(f"main input[type=checkbox][name={labels.CHECK_BOX}]:checked")
    assert [box.get_attribute("value") for box in boxes] == [checked]
    assert_kept(browser)


def test_a_page_says_when_the_console_has_ended(browser: Browser, store: Path, open_console: Serve) -> None:
    console = open_console(store)
    browser.wait(lambda: is_live(browser))
    # A process that is ended by a signal has this status.
    assert console.end() == 128 + 15
    browser.wait(lambda: not is_live(browser))
    assert labels.OVERVIEW in browser.find("h1").text


def test_many_commits_do_not_disturb_a_page(
    browser: Browser, store: Path, open_console: Serve, work_on: WorkOn
) -> None:
    count = 20
    open_console(store)
    samples = [work_on(store) for _ in range(2)]
    browser.follow(labels.PIPELINES)
    browser.wait(lambda: is_live(browser))
    keep(browser)
    for number in range(count):
        for index, sample in enumerate(samples):
            sample.enqueue(f"busy-{index}-{number}", 5)
    browser.wait(lambda: all(f"busy-{index}-{count - 1}" in browser.text for index in range(2)))
    assert_kept(browser)
    assert browser.take_log() == []
