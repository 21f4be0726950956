"""The token, forms of other sites, and a console that only reads."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import labels
import pytest
from browser import Browser
from client import Client
from processes import Console, is_paused

PAUSE = "actions/pipelines/pause?pipeline=photos"

Serve = Callable[..., Console]


def enter_token(browser: Browser, token: str) -> None:
    browser.find(f"input[name={labels.TOKEN_FIELD}]").send_keys(token)
    browser.press(browser.button(labels.ENTER))


def test_the_printed_address_logs_in_and_loses_the_token(browser: Browser, store: Path, open_console: Serve) -> None:
    console = open_console(store)
    assert browser.driver.current_url == console.root
    assert labels.OVERVIEW in browser.find("h1").text
    assert console.token is not None and console.token not in browser.driver.page_source
    assert not browser.run("return document.cookie")
    assert browser.take_log() == []


def test_the_token_is_entered_in_a_form(browser: Browser, store: Path, serve: Serve) -> None:
    console = serve(store)
    assert console.token is not None
    browser.root = console.root
    browser.go("pipelines")
    assert "photos" not in browser.text
    browser.take_log()
    enter_token(browser, "x" * len(console.token))
    assert labels.WRONG_TOKEN in browser.text
    enter_token(browser, console.token)
    assert browser.driver.current_url == console.root + "pipelines"
    assert "photos" in browser.text


def test_no_page_shows_anything_without_the_token(store: Path, serve: Serve) -> None:
    console = serve(store)
    with_token, without = Client(console.root, console.token), Client(console.root)
    pages = with_token.pages()
    assert len(pages) > 1
    for page in pages:
        assert with_token.get(page).status == 200, page
        answer = without.get(page)
        assert answer.status == 401, page
        # The form repeats the address, with which it leads to the page.
        shown = re.sub(r'name="next" value="[^"]*"', "", answer.text)
        assert "photos" not in shown and 'class="group"' not in shown, page
        assert without.get(page.partition("?")[0] + "?token=wrong").status == 401, page


def test_a_read_only_console_has_no_forms_that_change_something(
    browser: Browser, store: Path, open_console: Serve
) -> None:
    console = open_console(store)
    for page in Client(console.root, console.token).pages():
        browser.go(page)
        assert browser.all("form[method=post]") == [], page
        assert browser.all("button:not(form[method=get] button, [type=button])") == [], page
    # A page of the console itself sends the form that its pages do not have.
    status = browser.driver.execute_async_script(
        """
        const [address, done] = arguments;
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        fetch(address, { method: "POST", headers, body: "form-token=" }).then((answer) => done(answer.status), done);
        """,
        console.root + PAUSE,
    )
    assert status == 403
    assert not is_paused(store, "photos")


@contextmanager
def other_site(page: str) -> Iterator[str]:
    """A site on another port of this machine, with one page."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def form(console: Console, token: str) -> str:
    address = escape(console.root + PAUSE)
    return f"""<!DOCTYPE html><title>Other</title><main><form method="post" action="{address}">
        <input type="hidden" name="form-token" value="{escape(token)}"><button>Win</button></form></main>"""


@pytest.mark.parametrize("knows_secret", [False, True])
def test_a_form_of_another_site_changes_nothing(
    browser: Browser, store: Path, open_console: Serve, knows_secret: bool
) -> None:
    console = open_console(store, "--allow-changes")
    browser.go("pipelines")
    secret = browser.find("input[name=form-token]").get_attribute("value") if knows_secret else "guess"
    assert secret
    with other_site(form(console, secret)) as site:
        browser.go(site)
        browser.press(browser.button("Win"))
        assert urlsplit(browser.driver.current_url).port == urlsplit(console.root).port
        assert labels.REFUSED in browser.text
    assert not is_paused(store, "photos")


def test_another_site_cannot_frame_a_page(browser: Browser, store: Path, open_console: Serve) -> None:
    console = open_console(store)
    browser.take_log()
    with other_site(f'<!DOCTYPE html><title>Other</title><iframe src="{console.root}"></iframe>') as site:
        browser.go(site)
        messages = browser.wait(browser.take_log)
    assert any("frame-ancestors" in message for message in messages), messages
