"""Measures the pages of the console on a large store. Run by `Scripts/bench-console`.

The store has a number of operations in 20 pipelines and 50 lanes, of which one in a hundred has failed. While pages are
requested, two processes run operations, each of which queues the next one, so that the number of operations stays the
same. The pages are those that links lead to from the overview on. Each page is requested a few times before the
measurement, and then 20 times, one request after the other over one connection. The figures are the time from the
request to the last byte.

The delay of an event is from the moment at which a commit has returned in another process to the moment at which this
process has read an event with this commit or a later one. It is measured on the quiet store, and beside the two
processes. The console sends at most one event in 100 milliseconds, which adds to the delay beside busy processes.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from peers_report import BenchError, machine, positive, print_table

ROOT = Path(__file__).resolve().parent.parent
# The client, and the processes, of the tests in a browser.
sys.path.insert(0, str(ROOT / "Tests/Browser"))

from client import Client  # noqa: E402
from processes import Console, Program, Sample, run  # noqa: E402

FULL_COUNT = 1_000_000
QUICK_COUNT = 10_000
REQUESTS = 20
COMMITS = 20
WORKERS = 2
WARM_UP = 3
PATIENCE = 60
"""How many seconds an event may take."""


@dataclass(frozen=True)
class PageTimes:
    """The seconds of each request of a page, and the bytes of its last answer."""

    path: str
    times: list[float]
    size: int


def make_store(store: Path, count: int) -> None:
    """Makes the store with the helper, in large commits. Lets some operations fail with a statement."""
    start = time.monotonic()
    run("strata-sample", "fill", store, str(count))
    database = sqlite3.connect(store)
    with database:
        failed = database.execute(
            'UPDATE "QueuedOperation" SET "status" = 4, "attempts" = 1 WHERE "pipeline" <> \'work\' AND "id" % 100 = 0'
        ).rowcount
    database.close()
    size = store.stat().st_size / 1e6
    print(f"{count} operations, {failed} of them failed, {size:.0f} MB, made in {time.monotonic() - start:.0f} s\n")


class Events:
    """Reads the events of a console on a thread, and notes when each commit was announced."""

    def __init__(self, root: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(root).netloc)
        self._connection.request("GET", "/events")
        self._response = self._connection.getresponse()
        if self._response.status != 200:
            raise BenchError(f"the console answers {self._response.status} for its events")
        self._condition = threading.Condition()
        self._seen: list[tuple[int, float]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while line := self._response.readline():
            if line.startswith(b"data: "):
                with self._condition:
                    self._seen.append((int(line[6:]), time.time()))
                    self._condition.notify_all()

    def arrival(self, commit: int) -> float:
        """The time of the first event with a commit or a later one."""
        with self._condition:
            if not self._condition.wait_for(lambda: self._seen and self._seen[-1][0] >= commit, PATIENCE):
                raise BenchError(f"no event has come for the commit {commit}")
            return next(moment for number, moment in self._seen if number >= commit)


def delays(root: str, sample: Sample) -> list[float]:
    """The seconds from each of some commits to its event."""
    events = Events(root)
    found = []
    for _ in range(COMMITS):
        commit, moment = sample.enqueue("measured")
        found.append(max(events.arrival(commit) - moment, 0))
        # The pause after an event, in which the console sends no other one, is over.
        time.sleep(0.25)
    return found


def measure(client: Client, path: str) -> PageTimes:
    """Requests a page again and again."""
    times = []
    for index in range(WARM_UP + REQUESTS):
        start = time.perf_counter()
        answer = client.get(path)
        seconds = time.perf_counter() - start
        if answer.status != 200:
            raise BenchError(f"/{path} has the status {answer.status}")
        if index >= WARM_UP:
            times.append(seconds)
    return PageTimes(path, times, len(answer.body))


@contextmanager
def workers(store: Path) -> Iterator[None]:
    """Two processes that run operations."""
    with ExitStack() as stack:
        for _ in range(WORKERS):
            worker = Program("strata-sample", "work", store)
            stack.callback(worker.end)
            if worker.line() != "ready":
                raise BenchError(f"a worker has not started: {worker.errors()}")
        yield


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def row(name: str, times: list[float], *rest: str) -> list[str]:
    return [name, milliseconds(statistics.median(times)), milliseconds(max(times)), *rest]


def short(path: str) -> str:
    return "/" + (path if len(path) <= 60 else path[:59] + "…")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the console.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--count", type=positive)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    count = options.count or (QUICK_COUNT if options.quick else FULL_COUNT)
    print(machine(options.folder))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        store = folder / "console.sqlite"
        make_store(store, count)
        console = Console(store, "--no-token")
        stack.callback(console.end)
        sample = Sample(store)
        stack.callback(sample.end)
        client = Client(console.root)
        pages = client.pages()
        quiet_events = delays(console.root, sample)
        with workers(store):
            pages_times = [measure(client, path) for path in pages]
            busy_events = delays(console.root, sample)
        client.close()
        print_table(
            [["page, beside two processes", "median", "maximum", "size"]]
            + [row(short(page.path), page.times, f"{page.size / 1000:.0f} kB") for page in pages_times]
        )
        print()
        print_table(
            [
                ["event after a commit", "median", "maximum"],
                row("on a quiet store", quiet_events),
                row("beside two processes", busy_events),
            ]
        )


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"{os.path.basename(__file__)}: {error}")
