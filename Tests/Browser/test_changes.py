"""Changes through the pages, which the command-line tool then finds in the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import labels
import pytest
from browser import Browser
from processes import Console, is_paused, operations, rows
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

Serve = Callable[..., Console]


def row_of(browser: Browser, text: str) -> WebElement:
    """The row of a table that has a cell with this text."""
    for row in browser.all("main tbody tr"):
        if text in [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td, th")]:
            return row
    raise AssertionError(f"no row has the text '{text}': {browser.text[:2000]}")


def press_in_row(browser: Browser, text: str, label: str) -> None:
    buttons = [button for button in row_of(browser, text).find_elements(By.TAG_NAME, "button") if button.text == label]
    assert len(buttons) == 1, f"the row of '{text}' has {len(buttons)} buttons '{label}'"
    browser.press(buttons[0])


def failed_operation(store: Path) -> int:
    """The id of an operation that has failed."""
    return min(id for id, status in operations(store).items() if status == labels.FAILED)


def assert_notice(browser: Browser, *texts: str) -> None:
    notice = browser.find("main [role=status]").text
    for text in texts:
        assert text in notice, notice


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_pipeline_is_paused_and_resumed(browser: Browser, store: Path, serve: Serve, scripts: bool) -> None:
    console = serve(store, "--allow-changes", "--by", "ada")
    browser.allow_scripts(scripts)
    browser.log_in(console.address, console.root)
    assert browser.run("return document.querySelector('[data-state]').hidden") or scripts
    browser.follow(labels.PIPELINES)
    press_in_row(browser, "photos", labels.PAUSE)
    assert_notice(browser, "photos", "paused")
    assert is_paused(store, "photos")
    press_in_row(browser, "photos", labels.RESUME)
    assert_notice(browser, "photos", "resumed")
    assert not is_paused(store, "photos")
    assert [row["author"] for row in rows("history", store)][-2:] == ["ada", "ada"]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_failed_operation_is_retried_on_its_page(
    browser: Browser, store: Path, serve: Serve, scripts: bool
) -> None:
    console = serve(store, "--allow-changes")
    browser.allow_scripts(scripts)
    browser.log_in(console.address, console.root)
    operation = failed_operation(store)
    browser.follow(labels.OPERATIONS)
    links = [link for link in browser.all("main a[href*='id=']") if link.text == str(operation)]
    assert links, f"no link leads to the operation {operation}: {browser.text[:2000]}"
    browser.press(links[0])
    assert str(operation) in browser.find("h1").text
    browser.press(browser.button(labels.RETRY))
    assert_notice(browser, labels.RETRIED)
    assert operations(store)[operation] != labels.FAILED


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_filtered_operations_are_retried_together(browser: Browser, store: Path, serve: Serve, scripts: bool) -> None:
    console = serve(store, "--allow-changes")
    browser.allow_scripts(scripts)
    browser.log_in(console.address, console.root)
    failed = [id for id, status in operations(store).items() if status == labels.FAILED]
    assert len(failed) > 2
    browser.follow(labels.OPERATIONS)
    Select(browser.find(f"main select[name={labels.STATUS_FIELD}]")).select_by_value(labels.FAILED)
    browser.press(browser.button(labels.FILTER))
    boxes = browser.all(f"main input[type=checkbox][name={labels.CHECK_BOX}]")
    assert {box.get_attribute("value") for box in boxes} == {str(id) for id in failed}
    chosen = [int(box.get_attribute("value") or "") for box in boxes[:2]]
    for box in boxes[:2]:
        box.click()
    browser.press(browser.button(labels.RETRY))
    # Nothing is changed before a person confirms it.
    assert all(status == labels.FAILED for id, status in operations(store).items() if id in failed)
    browser.press(browser.button(labels.RETRY))
    assert_notice(browser, labels.RETRIED)
    statuses = operations(store)
    assert all(statuses[id] != labels.FAILED for id in chosen)
    assert all(statuses[id] == labels.FAILED for id in set(failed) - set(chosen))


def test_pages_and_filters_work_without_scripts(browser: Browser, store: Path, serve: Serve) -> None:
    console = serve(store)
    assert console.token is not None
    browser.allow_scripts(False)
    browser.log_in(console.root, console.root)
    browser.find(f"input[name={labels.TOKEN_FIELD}]").send_keys(console.token)
    browser.press(browser.button(labels.ENTER))
    browser.follow(labels.OPERATIONS)
    browser.find(f"main input[name={labels.TEXT_FIELD}]").send_keys("Letter")
    browser.press(browser.button(labels.FILTER))
    text = browser.find("main").text
    assert "Letter" in text and "Resize" not in text
    assert browser.find(f"main input[name={labels.TEXT_FIELD}]").get_attribute("value") == "Letter"
