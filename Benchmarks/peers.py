"""Measures other durable queues on SQLite at the work of Strata's own rows. Run by `Scripts/bench-peers`.

What is equal: the payloads, the number of operations, the file system, WAL, the size of the cache, and the synchronous level,
which is read back from each connection that a library uses, before and after the work. Each operation is put in by a commit of
its own. As in the rows of Strata, what prepares and what verifies stays outside of the stopwatch, encoding and decoding the
payload inside; the participants take turns, in the order A B C C B A, nothing is dropped, and the figure is the median.

What is not equal: these libraries are written in Python, whose time is part of theirs, and they promise different things
about an operation whose worker dies. The table says which, and `fate_of_claimed` tries it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, IntEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from peers_report import BenchError, machine, positive, print_table

try:
    import huey
    import litequeue
    import persistqueue
except ImportError as error:
    sys.exit(f"peers.py: {error}; Scripts/bench-peers installs what is needed")

CACHE_SIZE = -64_000
"""As `PRAGMA cache_size` has it: what Strata and the C reference are given too."""

BUSY_SECONDS = 60.0
"""How long a connection waits for another one, so that workers wait their turn instead of failing."""


class Level(IntEnum):
    """Values of `PRAGMA synchronous`."""

    NORMAL = 1
    FULL = 2


class Fate(Enum):
    """What becomes of an operation whose worker is killed while it works on it."""

    RETURNED = "comes back"
    STUCK = "stays claimed"
    LOST = "lost"


@dataclass(frozen=True)
class Sizes:
    """How much work there is: the same figures as `Sizes` in `Sources/bench/Harness/Round.swift`."""

    rounds: int = 8
    commits: int = 2_000
    worked: int = 20_000


FULL_SIZES = Sizes()
QUICK_SIZES = Sizes(rounds=1, commits=50, worked=500)
WARM_UP_SIZES = Sizes(rounds=1, commits=20, worked=100)


@dataclass(frozen=True)
class Counts:
    """The operations in a file."""

    waiting: int = 0
    claimed: int = 0
    done: int = 0


Handler = Callable[[str], None]
"""Is given the payload of an operation that has been claimed."""

Worker = Callable[[Handler], bool]
"""Claims one operation, has it handled, and completes it. False if there was none."""


# The libraries


class Peer(ABC):
    """A queue of one of the libraries, in a folder of its own."""

    name: ClassVar[str]
    fate: ClassVar[Fate]
    note: ClassVar[str]

    def __init__(self, folder: Path, level: Level, workers: int) -> None:
        self.folder = folder
        self.level = level
        self.workers = workers

    @abstractmethod
    def connections(self) -> list[sqlite3.Connection]:
        """Those that the library itself uses."""

    @abstractmethod
    def put(self, payload: str) -> None:
        """Queues one operation, in a commit of its own."""

    @abstractmethod
    def worker(self) -> Worker:
        """One for each thread."""

    @abstractmethod
    def close(self) -> None:
        """Closes all connections."""

    @classmethod
    @abstractmethod
    def counts(cls, folder: Path) -> Counts:
        """What is in the file of a queue that is closed."""

    @classmethod
    @abstractmethod
    def kept(cls, operations: int) -> int:
        """How many of so many completed operations are still in the file."""


class Huey(Peer):
    """huey's `SqliteHuey`, worked on as its consumer's threads do: `dequeue`, then `execute`.

    An operation is deleted from the file, by a commit, before its function is called; completing it writes nothing. So if the
    process ends in between, the operation is lost: at most once, where the others and Strata do at least once. What was put in
    is safe. The library has no NORMAL, only `fsync`, which is FULL or OFF; here the level is set on its connection, of which it
    has one for all threads, behind a lock.
    """

    name = "huey"
    fate = Fate.LOST
    note = (
        "takes an operation out of the file before it calls the function, and completes by writing nothing: half of the commits, "
        "and no second attempt. It offers FULL and OFF; NORMAL was set on its connection."
    )

    def __init__(self, folder: Path, level: Level, workers: int) -> None:
        super().__init__(folder, level, workers)
        # Nobody asks for results, so none are kept.
        self._huey = huey.SqliteHuey("work", filename=str(folder / "huey.db"), timeout=BUSY_SECONDS, results=False)
        self._task = self._huey.task(name="job")(self._run)
        self._handler: Handler = lambda _: None
        set_up(self.connections(), level)

    def connections(self) -> list[sqlite3.Connection]:
        return [self._huey.storage.conn]

    def put(self, payload: str) -> None:
        self._task(payload)

    def worker(self) -> Worker:
        return self._step

    def close(self) -> None:
        self._huey.storage.close()

    @classmethod
    def counts(cls, folder: Path) -> Counts:
        return Counts(waiting=count(folder / "huey.db", "SELECT count(*) FROM task"))

    @classmethod
    def kept(cls, operations: int) -> int:
        return 0

    def _run(self, payload: str) -> None:
        self._handler(payload)

    def _step(self, handler: Handler) -> bool:
        self._handler = handler
        task = self._huey.dequeue()
        if task is None:
            return False
        self._huey.execute(task)
        return True


class Plain:
    """A serializer for persist-queue, whose own would add to the size of the payload."""

    @staticmethod
    def dumps(value: str) -> bytes:
        return value.encode()

    @staticmethod
    def loads(data: bytes) -> str:
        return data.decode()


class PersistQueue(Peer):
    """persist-queue's `SQLiteAckQueue`: `get`, then `ack`, of which each is a commit.

    Its other queues on SQLite delete at `get`, or leave what is put in uncommitted until `task_done`; this one comes nearest to
    Strata. If the process ends in between, the operation is still there, marked. The next queue that is opened on the file puts
    it back, and with it all that other processes are just working on, which is then done twice. Threads of one queue wait for
    each other at locks; with several of them it has a connection to put and one to get. Nothing is said about the synchronous
    level, so SQLite's own holds, FULL as a rule; here it is set on the connections.

    Each `get` looks at all completed ones that are still in the file. They are cleared as its documentation tells, each
    thousand, inside the stopwatch: without that it is several times as slow at 20,000.
    """

    name = "persist-queue"
    fate = Fate.RETURNED
    note = (
        "puts back what was claimed when any process opens the queue, also what living ones work on. Completed operations are "
        "deleted, a thousand at a time."
    )
    CLEARED: ClassVar[int] = 1_000

    def __init__(self, folder: Path, level: Level, workers: int) -> None:
        super().__init__(folder, level, workers)
        self._queue = persistqueue.SQLiteAckQueue(
            str(folder),
            multithreading=workers > 1,
            timeout=BUSY_SECONDS,
            serializer=Plain,
            db_file_name="persist.db",
        )
        self._acknowledged = itertools.count(1)
        set_up(self.connections(), level)

    def connections(self) -> list[sqlite3.Connection]:
        used: tuple[Any, Any] = (self._queue._getter, self._queue._putter)
        return list(used)

    def put(self, payload: str) -> None:
        self._queue.put(payload)

    def worker(self) -> Worker:
        return self._step

    def close(self) -> None:
        self._queue.close()

    @classmethod
    def counts(cls, folder: Path) -> Counts:
        file = folder / "persist.db"
        query = "SELECT count(*) FROM ack_queue_default WHERE status"
        return Counts(
            waiting=count(file, f"{query} IN (0, 1)"),
            claimed=count(file, f"{query} = 2"),
            done=count(file, f"{query} = 5"),
        )

    @classmethod
    def kept(cls, operations: int) -> int:
        return operations % cls.CLEARED

    def _step(self, handler: Handler) -> bool:
        try:
            item: dict[str, Any] = self._queue.get(block=False, raw=True)
        except persistqueue.Empty:
            return False
        handler(item["data"])
        self._queue.ack(item)
        if next(self._acknowledged) % self.CLEARED == 0:
            self._queue.clear_acked_data(max_delete=self.CLEARED, keep_latest=0)
        return True


class LiteQueue(Peer):
    """litequeue's `LiteQueue`: `pop`, then `done`, of which each is a commit. Completed operations stay, marked.

    If the process ends in between, the operation stays locked, and nobody puts it back: the program must ask which have been
    locked for too long (`list_locked`) and `retry` them. A connection of it begins transactions, so threads cannot share one;
    each worker has its own queue on the same file. It sets NORMAL when it is opened; for FULL the level is set afterwards.

    Each `pop` sorts all that are waiting, so that an operation costs in proportion to the backlog.
    """

    name = "litequeue"
    fate = Fate.STUCK
    note = (
        "leaves it to the program to find what stays claimed and to put it back. Each claim sorts all that waits, so that the "
        "rate falls with the backlog. It offers NORMAL; FULL was set on its connections."
    )
    FILE: ClassVar[str] = "lite.db"

    def __init__(self, folder: Path, level: Level, workers: int) -> None:
        super().__init__(folder, level, workers)
        self._queues = [self._open() for _ in range(workers)]
        self._free = iter(self._queues)

    def connections(self) -> list[sqlite3.Connection]:
        return [queue.conn for queue in self._queues]

    def put(self, payload: str) -> None:
        self._queues[0].put(payload)

    def worker(self) -> Worker:
        queue = next(self._free)

        def step(handler: Handler) -> bool:
            message = queue.pop()
            if message is None:
                return False
            handler(message.data)
            queue.done(message.message_id)
            return True

        return step

    def close(self) -> None:
        for queue in self._queues:
            queue.close()

    @classmethod
    def counts(cls, folder: Path) -> Counts:
        query = "SELECT count(*) FROM Queue WHERE status ="
        return Counts(*(count(folder / cls.FILE, f"{query} {status}") for status in (0, 1, 2)))

    @classmethod
    def kept(cls, operations: int) -> int:
        return operations

    def _open(self) -> litequeue.LiteQueue:
        queue = litequeue.LiteQueue(self.folder / self.FILE, timeout=BUSY_SECONDS)
        set_up([queue.conn], self.level)
        return queue


PEERS: tuple[type[Peer], ...] = (Huey, PersistQueue, LiteQueue)


def count(file: Path, query: str) -> int:
    """The one number that a query gives, over a connection that no library has touched."""
    connection = sqlite3.connect(file)
    try:
        return int(connection.execute(query).fetchone()[0])
    finally:
        connection.close()


def pragma(connection: sqlite3.Connection, name: str) -> int | str:
    """The value that is in force on a connection."""
    value: int | str = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def set_up(connections: Sequence[sqlite3.Connection], level: Level) -> None:
    """Gives connections of a library the level and the cache of all participants. WAL is the library's own doing."""
    for connection in connections:
        connection.execute(f"PRAGMA synchronous = {level.name}")
        connection.execute(f"PRAGMA cache_size = {CACHE_SIZE}")


def verify(queue: Peer, connections: Sequence[sqlite3.Connection]) -> None:
    """Sees to it that the library still uses these connections, and that they do as was asked for."""
    if [id(connection) for connection in queue.connections()] != [id(connection) for connection in connections]:
        raise BenchError(f"{queue.name}: has opened another connection, which nobody has set up")
    expected = {"journal_mode": "wal", "synchronous": int(queue.level), "cache_size": CACHE_SIZE}
    for connection in connections:
        found = {name: pragma(connection, name) for name in expected}
        if found != expected:
            raise BenchError(f"{queue.name}: {found} is in force, and not {expected}")


# The work


@contextmanager
def opened(peer: type[Peer], folder: Path, level: Level, workers: int = 1) -> Iterator[Peer]:
    """A queue whose connections are verified before the body and after it."""
    queue = peer(folder, level, workers)
    try:
        connections = queue.connections()
        verify(queue, connections)
        yield queue
        verify(queue, connections)
    finally:
        queue.close()


def fill(queue: Peer, operations: int) -> None:
    """Queues operations with the payloads that Strata's rows have: `{"number":1}` and so on."""
    for number in range(1, operations + 1):
        queue.put(f'{{"number":{number}}}')


def drain(queue: Peer) -> tuple[list[int], float]:
    """Does all operations with as many workers as the queue was opened for.

    Returns the numbers in their payloads, and the seconds it took.
    """
    numbers: list[int] = []

    def handle(payload: str) -> None:
        numbers.append(json.loads(payload)["number"])

    def run(worker: Worker) -> None:
        while worker(handle):
            pass

    workers = [queue.worker() for _ in range(queue.workers)]
    if len(workers) == 1:
        start = time.perf_counter()
        run(workers[0])
        return numbers, time.perf_counter() - start
    with ThreadPoolExecutor(len(workers)) as pool:
        start = time.perf_counter()
        for future in [pool.submit(run, worker) for worker in workers]:
            future.result()
        return numbers, time.perf_counter() - start


def expect(what: str, found: object, expected: object) -> None:
    """Fails if something else was found."""
    if found != expected:
        raise BenchError(f"{what}: {found}, and not {expected}")


def enqueue(peer: type[Peer], folder: Path, level: Level, operations: int) -> float:
    """Queues operations, one a commit. Returns the seconds."""
    with opened(peer, folder, level) as queue:
        start = time.perf_counter()
        fill(queue, operations)
        seconds = time.perf_counter() - start
    expect(f"{peer.name}, after enqueueing", peer.counts(folder), Counts(waiting=operations))
    return seconds


def work(peer: type[Peer], folder: Path, level: Level, workers: int, operations: int) -> float:
    """Claims and completes operations that have been queued. Returns the seconds."""
    with opened(peer, folder, Level.NORMAL) as queue:
        fill(queue, operations)
    with opened(peer, folder, level, workers) as queue:
        numbers, seconds = drain(queue)
    if sorted(numbers) != list(range(1, operations + 1)):
        raise BenchError(f"{peer.name}: {len(numbers)} operations were done, and not each of {operations} once")
    expect(f"{peer.name}, after the work", peer.counts(folder), Counts(done=peer.kept(operations)))
    return seconds


def fate_of_claimed(peer: type[Peer], folder: Path) -> Fate:
    """Has a process killed in the middle of the first of two operations, and looks for it when the queue is opened again."""
    with opened(peer, folder, Level.FULL) as queue:
        fill(queue, 2)
    child = os.fork()
    if child == 0:
        die_at_work(peer, folder)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
        raise BenchError(f"{peer.name}: the worker that was to be killed has ended with {status}")
    with opened(peer, folder, Level.FULL) as queue:
        numbers, _ = drain(queue)
    if sorted(numbers) == [1, 2]:
        return Fate.RETURNED
    expect(f"{peer.name}, after a worker was killed", numbers, [2])
    return Fate.STUCK if peer.counts(folder).claimed == 1 else Fate.LOST


def die_at_work(peer: type[Peer], folder: Path) -> None:
    """Claims an operation and does not come back."""
    try:
        with opened(peer, folder, Level.FULL) as queue:
            queue.worker()(lambda _: os.kill(os.getpid(), signal.SIGKILL))
    finally:
        os._exit(1)


# Rows


@dataclass(frozen=True)
class Row:
    """A work that is measured."""

    name: str
    """As Strata's own row is called, by which its figures are found."""
    operations: int
    run: Callable[[type[Peer], Path], float]


def enqueue_row(sizes: Sizes, level: Level) -> Row:
    """The counterpart of `Row.enqueue`."""
    operations = sizes.commits
    return Row(
        f"enqueue, 1 a commit, {level.name}", operations, lambda peer, folder: enqueue(peer, folder, level, operations)
    )


def work_row(sizes: Sizes, level: Level, workers: int) -> Row:
    """The counterpart of `Row.work`."""
    operations = sizes.worked if level is Level.NORMAL else min(sizes.worked, sizes.commits * min(workers, 2))
    return Row(
        f"claim and complete, {workers} at once, {level.name}",
        operations,
        lambda peer, folder: work(peer, folder, level, workers, operations),
    )


def all_rows(sizes: Sizes) -> list[Row]:
    """In the order of the table."""
    return [
        enqueue_row(sizes, Level.NORMAL),
        enqueue_row(sizes, Level.FULL),
        work_row(sizes, Level.NORMAL, 1),
        work_row(sizes, Level.NORMAL, 8),
        work_row(sizes, Level.FULL, 1),
        work_row(sizes, Level.FULL, 8),
    ]


class Runner:
    """Runs rows for the libraries in turns, each time in a fresh folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def measure(self, row: Row, rounds: int, *, is_quiet: bool = False) -> dict[str, float]:
        """The rate of each library in operations a second, from the median time."""
        seconds: dict[str, list[float]] = {peer.name: [] for peer in PEERS}
        for number in range(rounds):
            for peer in PEERS if number % 2 == 0 else reversed(PEERS):
                with self._fresh() as folder:
                    seconds[peer.name].append(row.run(peer, folder))
        if not is_quiet:
            self._tell(row, seconds)
        return {name: row.operations / statistics.median(times) for name, times in seconds.items()}

    def fates(self) -> dict[str, Fate]:
        """What each library does with the operation of a killed worker. Fails if it is not what is written about it."""
        result: dict[str, Fate] = {}
        for peer in PEERS:
            with self._fresh() as folder:
                result[peer.name] = fate_of_claimed(peer, folder)
            expect(f"{peer.name}, what a killed worker had claimed", result[peer.name], peer.fate)
        return result

    def warm_up(self) -> None:
        """Does a little of everything, so that nothing is loaded or compiled inside the stopwatch."""
        for row in all_rows(WARM_UP_SIZES):
            self.measure(row, WARM_UP_SIZES.rounds, is_quiet=True)

    @contextmanager
    def _fresh(self) -> Iterator[Path]:
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    @staticmethod
    def _tell(row: Row, seconds: dict[str, list[float]]) -> None:
        """Median and range in microseconds, on standard error: the rows take their time."""
        for name, times in seconds.items():
            least, middle, most = (
                f"{value * 1e6 / row.operations:.1f}" for value in (min(times), statistics.median(times), max(times))
            )
            print(f"{row.name}, {name}: {middle} us ({least}..{most})", file=sys.stderr, flush=True)


# What Strata's own benchmarks have measured


def strata_rates(files: Sequence[Path], rows: Sequence[Row]) -> dict[str, tuple[float, float]]:
    """The rates of Strata and of the C reference by the names of rows, from what `Scripts/bench --json` has written."""
    found: dict[str, tuple[float, float]] = {}
    for file in files:
        for outcome in json.loads(file.read_text()):
            if outcome["unit"] == "us":
                found[outcome["name"]] = (1e6 / outcome["subject"], 1e6 / outcome["reference"])
    missing = [row.name for row in rows if row.name not in found]
    if files and missing:
        raise BenchError(f"Scripts/bench has not measured: {'; '.join(missing)}")
    return found


# The table

NOTHING = "–"
STRATA_FATE = "comes back"
"""Strata counts a crash and puts the operation back; its own tests kill processes to see that."""
C_FATE = Fate.STUCK.value
"""The bare statements mark what is claimed, and nobody looks after the mark."""


def rate_cell(rate: float | None, strata: float | None) -> str:
    """A rate, and how many times that of Strata it is."""
    if rate is None:
        return NOTHING
    return f"{rate:,.0f}" if strata is None else f"{rate:,.0f} ({rate / strata:.2f})"


def table(
    rows: Sequence[Row],
    rates: dict[str, dict[str, float]],
    strata: dict[str, tuple[float, float]],
    fates: dict[str, Fate],
) -> list[list[str]]:
    """All cells, the head included."""
    names = [peer.name for peer in PEERS]
    result = [["operations a second (times Strata's)", "Strata", "C", *names]]
    for row in rows:
        own, reference = strata.get(row.name, (None, None))
        cells = [own, reference, *(rates[row.name].get(name) for name in names)]
        result.append([row.name, *(rate_cell(rate, own) for rate in cells)])
    stated = [STRATA_FATE, C_FATE] if strata else [NOTHING, NOTHING]
    result.append(["claimed by a worker that was killed", *stated, *(fates[name].value for name in names)])
    return result


def print_notes() -> None:
    """What the table cannot say."""
    print()
    for peer in PEERS:
        print(f"{peer.name} {peer.note}")
    print("Strata and C may put what eight workers claim or complete into one commit; the others commit each for itself.")
    print("Threads of one Python process share its interpreter, whose time is part of the figures.")


def print_environment(folder: Path, rounds: int) -> None:
    """What the figures were measured on."""
    libraries = ", ".join(f"{peer.name} {version(peer.name)}" for peer in PEERS)
    print(f"{libraries}; Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    print(machine(folder))
    print(f"WAL, cache_size {CACHE_SIZE}, synchronous NORMAL unless the row says FULL; medians of {rounds} rounds")
    print(flush=True)


# The command


def options() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="Measures other durable queues on SQLite beside Strata's.")
    parser.add_argument("--folder", type=Path, required=True, help="where the files lie: on a real disk")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds")
    parser.add_argument("--rounds", type=positive, help="how often each library does the work")
    parser.add_argument(
        "--strata", type=Path, action="append", default=[], metavar="FILE", help="results of Scripts/bench --json"
    )
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> None:
    """Measures everything and prints the table."""
    sizes = QUICK_SIZES if arguments.quick else FULL_SIZES
    rounds = arguments.rounds or sizes.rounds
    rows = all_rows(sizes)
    # First, so that a missing row is told before all others are measured.
    strata = strata_rates(arguments.strata, rows)
    print_environment(arguments.folder, rounds)
    with tempfile.TemporaryDirectory(prefix="strata-peers-", dir=arguments.folder) as folder:
        runner = Runner(Path(folder))
        fates = runner.fates()
        runner.warm_up()
        rates = {row.name: runner.measure(row, rounds) for row in rows}
    print_table(table(rows, rates, strata, fates))
    print_notes()


if __name__ == "__main__":
    try:
        run(options())
    except BenchError as error:
        sys.exit(f"peers.py: {error}")
