"""A client without a browser, which finds the pages of a console, and measures them."""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

PATIENCE = 60
"""How many seconds a page may take. Only a console that hangs takes this long."""

MOST_PAGES = 80
"""How many pages are visited at most."""


@dataclass(frozen=True)
class Answer:
    """An answer of the console."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    """Sends requests to a console over one connection, as a person who has entered the token."""

    def __init__(self, root: str, token: str | None = None) -> None:
        self.root = root
        self._connection = http.client.HTTPConnection(urlsplit(root).netloc, timeout=PATIENCE)
        self._cookie: str | None = None
        if token is not None:
            answer = self.get("?" + urlencode({"token": token}))
            self._cookie = answer.headers["set-cookie"].partition(";")[0]

    def get(self, path: str) -> Answer:
        """Requests a path below the root."""
        return self._send("GET", path)

    def post(self, path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answer:
        """Sends a form."""
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self._send("POST", path, urlencode(fields), {**kind, **(headers or {})})

    def _send(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        cookie = {"cookie": self._cookie} if self._cookie else {}
        self._connection.request(method, "/" + path, body, {**cookie, **(headers or {})})
        response = self._connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())

    def close(self) -> None:
        self._connection.close()

    def links(self, page: str) -> list[str]:
        """The paths of the console's pages to which a page has links."""
        return self._links(page, self.get(page))

    def _links(self, page: str, answer: Answer) -> list[str]:
        addresses = _Links.of(answer.text, urljoin(self.root, page))
        return [link.removeprefix(self.root).partition("#")[0] for link in addresses if link.startswith(self.root)]

    def pages(self, alike: int = 2) -> list[str]:
        """The paths of the pages that links lead to, from the overview on, with their queries. Downloads are left out.

        Of addresses that differ only in the values of their query, the first `alike` ones are visited.
        """
        found: list[str] = []
        next_paths = [""]
        counts = {self._kind(""): 1}
        while next_paths and len(found) < MOST_PAGES:
            path = next_paths.pop(0)
            answer = self.get(path)
            if not answer.headers.get("content-type", "").startswith("text/html"):
                continue
            found.append(path)
            for link in self._links(path, answer):
                kind = self._kind(link)
                if counts.get(kind, 0) < alike and link not in found and link not in next_paths:
                    counts[kind] = counts.get(kind, 0) + 1
                    next_paths.append(link)
        return found

    @staticmethod
    def _kind(path: str) -> str:
        """The path with the names of its values."""
        parts = urlsplit(path)
        names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
        return parts.path + "?" + "&".join(names)

    def navigation(self) -> dict[str, str]:
        """The titles of the pages in the navigation, with their paths."""
        text = self.get("").text
        found = re.findall(r'<li><a href="([^"]*)"[^>]*>([^<]*)</a></li>', text.partition("<main")[0])
        return {title: urljoin(self.root, path).removeprefix(self.root) for path, title in found}


class _Links(HTMLParser):
    """The addresses of the links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href")
        if tag == "a" and address is not None:
            self.found.append(urljoin(self._page, address))

    @classmethod
    def of(cls, text: str, page: str) -> list[str]:
        parser = cls(page)
        parser.feed(text)
        return parser.found
