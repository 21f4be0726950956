"""Stores that are damaged or replaced while a console shows them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from browser import Browser
from client import Client
from processes import Console, run

Serve = Callable[..., Console]

STATUSES = {200, 404, 500, 503}
"""What a page of a faulty store may answer. Each answer is a whole page."""


def statuses(client: Client, pages: list[str]) -> dict[str, int]:
    """The statuses of pages. Each page must have a heading, whatever its status is."""
    found = {}
    for page in pages:
        answer = client.get(page)
        assert "<h1>" in answer.text and "Fatal error" not in answer.text, page
        found[page] = answer.status
    return found


def damage(store: Path) -> None:
    """Overwrites all pages but the first one, so that the file is still a store."""
    size = store.stat().st_size
    with store.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(range(256)) * ((size - 4096) // 256))


def end_in_order(console: Console) -> None:
    assert console.is_running, console.errors()
    assert console.end() == 128 + 15, console.errors()


def pages_of(store: Path, serve: Serve) -> list[str]:
    """The pages of a console that has ended, so that the next one has read nothing yet."""
    console = serve(store)
    pages = Client(console.root, console.token).pages()
    end_in_order(console)
    return pages


def unexpected(found: dict[str, int]) -> dict[str, int]:
    return {page: status for page, status in found.items() if status not in STATUSES}


def test_a_damaged_store_has_pages_that_say_so(browser: Browser, tmp_path: Path, serve: Serve) -> None:
    store = tmp_path / "large.sqlite"
    run("strata-sample", "fill", store, "2000")
    pages = pages_of(store, serve)
    console = serve(store)
    damage(store)
    found = statuses(Client(console.root, console.token), pages)
    assert unexpected(found) == {}
    failed = [page for page, status in found.items() if status == 500]
    assert failed, "no page reads the file"
    browser.log_in(console.address, console.root)
    browser.go(failed[0])
    assert browser.find("main [role=alert]").text
    assert browser.audit("structure") == []
    assert browser.all("header nav a"), "the page has no way to other pages"
    end_in_order(console)


def test_a_replaced_store_does_not_end_the_console(store: Path, hostile_store: Path, serve: Serve) -> None:
    pages = pages_of(store, serve)
    console = serve(store)
    client = Client(console.root, console.token)
    assert client.get("").status == 200
    hostile_store.replace(store)
    # The console may still have the old file open.
    assert set(statuses(client, pages).values()) <= STATUSES
    end_in_order(console)


def test_a_removed_store_does_not_end_the_console(store: Path, serve: Serve) -> None:
    pages = pages_of(store, serve)
    console = serve(store)
    client = Client(console.root, console.token)
    shutil.rmtree(store.parent)
    assert set(statuses(client, pages).values()) <= STATUSES
    end_in_order(console)
