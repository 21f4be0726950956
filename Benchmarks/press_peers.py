"""Measures the example program `press` under load, beside `press-grdb`. Run by `Scripts/bench-press`.

`press-grdb` has the measured endpoints of `press`, written with GRDB alone: a pool, Codable records, an FTS5 table, pages by
the last key, and a column for the entity tag. `wrk` sends the requests over the loopback interface, with a fixed number of
connections and for a fixed time.

What is equal: the articles, the JSON, the HTTP server with its middleware, WAL with `synchronous` FULL, the sizes of the page
caches, and the sizes of pages. Before the measurement, the answers of both programs are compared. An answer with an unexpected
status, and a connection that fails, end the measurement with an error. Before each row, both programs get its requests for a
second. The programs alternate in the order A B, B A, no sample is dropped, and the figure is the median. The CPU time is user
and system time of the service, divided by the number of answers; it is not that of `wrk`.

What is not equal:

- Each commit of `press` is also written to the history of the store, from which `/events` and other processes learn of it.
  It checks the rules of the model. Concurrent edits share a transaction, and the wait for the disk.
- `press-grdb` writes each edit in its own transaction, and keeps no history.
- `press` finds the words of a snippet itself; `press-grdb` uses the function of FTS5. So the snippets may differ.
- `press` has handlers of queues, which wait for work. `press-grdb` has none.
- `wrk` runs on the same cores as the services.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from peers_report import BenchError, machine, positive, print_table

SCRIPT = Path(__file__).resolve().parent / "press_load.lua"
PATIENCE = 60
"""The seconds after which a program that does not answer has failed."""
PAGE = 20
"""The number of articles on a page."""
GREATEST_PAGE = 100
"""The greatest number of articles on a page that both programs allow."""
STRANGE_TAG = '"999999"'
"""An entity tag that no article has."""


@dataclass(frozen=True)
class Sizes:
    """How much is done."""

    articles: int
    rounds: int
    seconds: int
    connections: int

    @property
    def threads(self) -> int:
        """The threads of wrk."""
        return min(2, self.connections, os.cpu_count() or 1)


FULL_SIZES = Sizes(articles=10_000, rounds=3, seconds=5, connections=16)
QUICK_SIZES = Sizes(articles=300, rounds=1, seconds=1, connections=4)


@dataclass(frozen=True)
class Answer:
    """An answer of a service."""

    status: int
    tag: str
    body: bytes

    @property
    def json(self) -> Any:
        """The content of the body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Service:
    """A running program."""

    name: str
    port: int
    process: int

    def send(self, method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None) -> Answer:
        """Sends one request over its own connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers.get("ETag", ""), response.read())
        except (OSError, http.client.HTTPException) as error:
            raise BenchError(f"{self.name}: {method} {path} failed: {error}") from error
        finally:
            connection.close()

    def read(self, path: str) -> Any:
        """The JSON of a successful answer."""
        answer = self.send("GET", path)
        if answer.status != 200:
            raise BenchError(f"{self.name}: GET {path} was answered with {answer.status}")
        return answer.json

    def articles(self, count: int, size: int = GREATEST_PAGE) -> list[dict[str, Any]]:
        """The newest articles, without their bodies."""
        articles: list[dict[str, Any]] = []
        address: str | None = f"/articles?size={size}"
        while address is not None and len(articles) < count:
            page = self.read(address)
            articles += page["items"]
            address = page.get("next")
        return articles[:count]

    def cpu(self) -> float | None:
        """The user and system time of the process in seconds, or None if the system does not tell."""
        try:
            # The name of the program, in brackets, may contain spaces.
            rest = Path(f"/proc/{self.process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return None
        return (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK")


# The programs


@dataclass(frozen=True)
class Program:
    """How a program is filled and started."""

    name: str
    seed: Callable[[Path, int], list[str]]
    serve: Callable[[Path], list[str]]


def press(path: Path) -> Program:
    """The example."""
    common = ["--log-level", "error"]
    return Program(
        name="press",
        seed=lambda folder, count: [
            str(path), "seed", "--data-folder", str(folder), "--articles", str(count), *common
        ],
        serve=lambda folder: [
            str(path), "serve", "--data-folder", str(folder), "--http-port", "0", "--health-minimum-free-bytes", "0",
            *common,
        ],
    )  # fmt: skip


def press_grdb(path: Path) -> Program:
    """The reference."""
    return Program(
        name="press-grdb",
        seed=lambda folder, count: [str(path), "seed", str(folder), str(count)],
        serve=lambda folder: [str(path), "serve", str(folder)],
    )


def clean_environment() -> dict[str, str]:
    """The variables of this process without those that configure press."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PRESS_", "AWS_")) and name != "STATE_DIRECTORY"
    }


@contextmanager
def running(program: Program, folder: Path, articles: int) -> Iterator[Service]:
    """A filled and running service, which ends with the block."""
    with (folder / f"{program.name}.log").open("w+b") as log:

        def fail(what: str) -> BenchError:
            log.seek(0)
            return BenchError(f"{program.name} {what}\n{log.read()[-2_000:].decode(errors='replace').strip()}")

        seed = program.seed(folder / program.name, articles)
        if subprocess.run(seed, env=clean_environment(), stdout=log, stderr=log, check=False).returncode != 0:
            raise fail("could not be filled")
        process = subprocess.Popen(
            program.serve(folder / program.name), env=clean_environment(), stdout=subprocess.PIPE, stderr=log
        )
        try:
            assert process.stdout is not None
            line = b""
            if select.select([process.stdout], [], [], PATIENCE)[0]:
                line = process.stdout.readline()
            if not line.startswith(b"listening on "):
                raise fail("does not listen")
            yield Service(program.name, int(line.rsplit(b":", 1)[1]), process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if process.returncode != 0:
            raise fail(f"ended with {process.returncode}")


# The work


@dataclass(frozen=True)
class Request:
    """A line of the file that `press_load.lua` reads."""

    path: str
    method: str = "GET"
    field: str = ""
    value: str = ""
    body: str = ""

    @property
    def line(self) -> str:
        """The request with tabs between its parts."""
        return "\t".join([self.method, self.path, self.field, self.value, self.body])


@dataclass(frozen=True)
class Work:
    """A row: the requests of a service."""

    name: str
    requests: Callable[[Service], list[Request]]


def pages(service: Service) -> list[Request]:
    """Pages near the start of the list, as readers ask for them."""
    addresses: list[str] = []
    address: str | None = f"/articles?size={PAGE}"
    while address is not None and len(addresses) < 50:
        addresses.append(address)
        address = service.read(address).get("next")
    return [Request(address) for address in addresses]


def single(service: Service) -> list[Request]:
    """Articles with their bodies."""
    return [Request(f"/articles/{article['id']}") for article in service.articles(2_000)]


def unchanged(service: Service) -> list[Request]:
    """Articles that the client has already."""
    return [
        Request(f"/articles/{article['id']}", field="If-None-Match", value=f'"{article["version"]}"')
        for article in service.articles(2_000)
    ]


def rare_words(service: Service) -> list[Request]:
    """Searches that find few articles, by the number in the title."""
    return [
        Request(f"/search?q={article['title'].rsplit(' ', 1)[1]}&size={PAGE}") for article in service.articles(200)
    ]


def common_words(_: Service) -> list[Request]:
    """Searches that find most articles, and rank all of them."""
    return [Request(f"/search?q={word}&size={PAGE}") for word in ("harbour", "river", "night", "market")]


def edits(service: Service) -> list[Request]:
    """Edits of articles, each with the version that was read last."""
    articles = service.articles(500)
    # Edits that wrk has sent at the end of a measurement may still be running.
    while (newest := service.articles(500)) != articles:
        articles = newest
    text = " ".join(itertools.islice(itertools.cycle(["river", "paper", "winter", "city", "council"]), 100))
    return [
        Request(
            f"/articles/{article['id']}",
            method="PUT",
            field="If-Match",
            value=f'"{article["version"]}"',
            body=json.dumps(
                {"title": f"Edited article @, part {number}", "body": text, "author": article["author"], "isPublished": True}
            ),
        )
        for number, article in enumerate(articles)
    ]


# The edits are last, because they change what the others read.
ALL_WORK = [
    Work(f"list, {PAGE} articles", pages),
    Work("one article", single),
    Work("one article, 304", unchanged),
    Work("search, rare word", rare_words),
    Work("search, common word", common_words),
    Work("edit", edits),
]


def compare(services: Sequence[Service]) -> None:
    """Fails if the services do not give the same answers."""

    def view(service: Service) -> dict[str, Any]:
        listed = service.articles(3 * PAGE, size=PAGE)
        first = listed[0]
        address = f"/articles/{first['id']}"
        article = service.send("GET", address)
        number = first["title"].rsplit(" ", 1)[1]
        draft = {"title": first["title"], "body": article.json["body"], "author": first["author"]}
        kind = {"Content-Type": "application/json"}

        def edit(headers: dict[str, str]) -> tuple[int, str]:
            answer = service.send("PUT", address, {**kind, **headers}, json.dumps(draft))
            return answer.status, answer.tag

        return {
            "the keys of an article in a list": sorted(first),
            "the titles of the list": [item["title"] for item in listed],
            "the keys of an article": sorted(article.json),
            "an article": [article.status, article.tag, article.json["title"], article.json["body"]],
            "an article that the client has": service.send("GET", address, {"If-None-Match": article.tag}).status,
            "an article that the client does not have": service.send("GET", address, {"If-None-Match": STRANGE_TAG}).status,
            "an unknown article": service.send("GET", "/articles/x").status,
            "a search for a rare word": [item["title"] for item in service.read(f"/search?q={number}")["items"]],
            "a search for a common word": [
                len(item["snippet"]) > 0 for item in service.read(f"/search?q=harbour&size={PAGE}")["items"]
            ],
            "an edit without a version": edit({}),
            "an edit of another version": edit({"If-Match": STRANGE_TAG}),
            "an edit": edit({"If-Match": article.tag}),
        }

    views = [view(service) for service in services]
    for name, value in views[0].items():
        for service, other in zip(services[1:], views[1:], strict=True):
            if other[name] != value:
                raise BenchError(f"{name}: {services[0].name} has {value!r}, and {service.name} has {other[name]!r}")


# The measurement


@dataclass(frozen=True)
class Sample:
    """The figures of one run of wrk."""

    rate: float
    median: float
    p99: float
    cpu: float | None


@dataclass
class Row:
    """The samples of a row by program."""

    name: str
    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def figure(self, program: str, value: Callable[[Sample], float | None]) -> float | None:
        """The median of a value, or None if it is not known."""
        known = [number for sample in self.samples[program] if (number := value(sample)) is not None]
        return statistics.median(known) if known else None


def load(wrk: str, service: Service, work: Work, sizes: Sizes, seconds: int, folder: Path) -> Sample:
    """Sends the requests of a row for some seconds."""
    requests = work.requests(service)
    if len(requests) < 4 * sizes.threads:
        # Each thread of wrk has a part of the lines. Edits are more than the connections.
        requests *= 4 * sizes.threads
    file = folder / "requests.txt"
    file.write_text("".join(request.line + "\n" for request in requests))
    command = [
        wrk, "-t", str(sizes.threads), "-c", str(sizes.connections), "-d", f"{seconds}s", "--timeout", "30s", "-s",
        str(SCRIPT), f"http://127.0.0.1:{service.port}", "--", str(file), str(sizes.threads),
    ]  # fmt: skip
    before = service.cpu()
    run = subprocess.run(command, capture_output=True, text=True, timeout=seconds + PATIENCE, check=False)
    after = service.cpu()
    lines = [line for line in run.stdout.splitlines() if line.startswith("FIGURES ")]
    if run.returncode != 0 or not lines:
        raise BenchError(f"{work.name}, {service.name}: wrk failed\n{(run.stdout + run.stderr).strip()[-2_000:]}")
    figures = json.loads(lines[0].removeprefix("FIGURES "))
    if figures["refused"] or figures["failed"] or not figures["requests"]:
        raise BenchError(
            f"{work.name}, {service.name}: of {figures['requests']} requests, {figures['refused']} were refused, "
            f"and {figures['failed']} failed"
        )
    return Sample(
        rate=figures["requests"] / figures["seconds"],
        median=figures["median"],
        p99=figures["p99"],
        cpu=None if before is None or after is None else (after - before) / figures["requests"],
    )


def measure(wrk: str, services: Sequence[Service], sizes: Sizes, folder: Path) -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for work in ALL_WORK:
        row = Row(work.name, {service.name: [] for service in services})
        for service in services:
            load(wrk, service, work, sizes, 1, folder)
        for round_number in range(sizes.rounds):
            order = services if round_number % 2 == 0 else list(reversed(services))
            for service in order:
                row.samples[service.name].append(load(wrk, service, work, sizes, sizes.seconds, folder))
        rows.append(row)
        print(f"measured: {work.name}", file=sys.stderr, flush=True)
    return rows


# The report


def rate(sample: Sample) -> float:
    """The requests per second."""
    return sample.rate


def table(rows: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    """The cells of the table, with the ratio of the first two programs."""
    head = ["requests per second"]
    for name in names:
        head += [name, "median ms", "99 % ms", "CPU µs"]
    cells = [[*head, *(["ratio"] if len(names) > 1 else [])]]
    for row in rows:
        line = [row.name]
        for name in names:
            cpu = row.figure(name, lambda sample: sample.cpu)
            line += [
                f"{row.figure(name, rate) or 0:,.0f}",
                f"{1e3 * (row.figure(name, lambda sample: sample.median) or 0):.2f}",
                f"{1e3 * (row.figure(name, lambda sample: sample.p99) or 0):.2f}",
                "" if cpu is None else f"{1e6 * cpu:.0f}",
            ]
        if len(names) > 1:
            line.append(f"{(row.figure(names[0], rate) or 0) / (row.figure(names[1], rate) or 1):.2f}")
        cells.append(line)
    return cells


def report(rows: Sequence[Row], sizes: Sizes) -> dict[str, Any]:
    """All samples."""
    return {
        "articles": sizes.articles,
        "connections": sizes.connections,
        "seconds": sizes.seconds,
        "rows": [
            {"name": row.name, "samples": {name: [vars(sample) for sample in row.samples[name]] for name in row.samples}}
            for row in rows
        ],
    }


# The command


def options() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="Measures the example press beside the same endpoints with GRDB alone.")
    parser.add_argument("--folder", type=Path, required=True, help="where the stores lie: on a real disk")
    parser.add_argument("--press", type=Path, metavar="PATH", required=True, help="the built program press")
    parser.add_argument("--grdb", type=Path, metavar="PATH", help="the built program press-grdb; without it, only press")
    parser.add_argument("--quick", action="store_true", help="few articles, one short round")
    parser.add_argument("--articles", type=positive, metavar="N", help="the number of articles")
    parser.add_argument("--rounds", type=positive, metavar="N", help="how often each row is measured")
    parser.add_argument("--seconds", type=positive, metavar="N", help="how long each measurement takes")
    parser.add_argument("--connections", type=positive, metavar="N", help="the number of connections")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all samples as JSON")
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> None:
    """Measures everything and prints the table."""
    usual = QUICK_SIZES if arguments.quick else FULL_SIZES
    sizes = Sizes(
        articles=arguments.articles or usual.articles,
        rounds=arguments.rounds or usual.rounds,
        seconds=arguments.seconds or usual.seconds,
        connections=arguments.connections or usual.connections,
    )
    if sizes.articles < GREATEST_PAGE or sizes.connections > GREATEST_PAGE // 2:
        raise BenchError(f"the work needs {GREATEST_PAGE} articles or more, and {GREATEST_PAGE // 2} connections or fewer")
    wrk = shutil.which("wrk")
    if wrk is None:
        raise BenchError("wrk is not installed: Scripts/bench-press installs it")
    programs = [press(arguments.press.resolve())]
    if arguments.grdb is not None:
        programs.append(press_grdb(arguments.grdb.resolve()))
    print(machine(arguments.folder))
    print(
        f"{sizes.articles:,} articles, {sizes.connections} connections, {sizes.threads} threads of wrk; "
        f"medians of {sizes.rounds} rounds of {sizes.seconds} s",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="strata-press-", dir=arguments.folder.resolve()) as name, ExitStack() as stack:
        folder = Path(name)
        services = [stack.enter_context(running(program, folder, sizes.articles)) for program in programs]
        compare(services)
        rows = measure(wrk, services, sizes, folder)
    print_table(table(rows, [program.name for program in programs]))
    if len(programs) > 1:
        print("The ratio is that of the requests per second: above 1, press is faster than GRDB alone.")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report(rows, sizes), indent=2, sort_keys=True) + "\n")


def terminate(number: int, _: FrameType | None) -> None:
    """Ends this process after it has ended the programs that it runs."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminate)
    try:
        run(options())
    except BenchError as error:
        sys.exit(f"press_peers.py: {error}")
