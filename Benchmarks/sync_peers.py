"""Measures the example program `mirror` beside `rclone sync` and `aws s3 sync`. Run by `Scripts/bench-peers`.

Each program brings the same small files up to a remote, and then down from it into an empty folder. The remote is another
folder, or a bucket of an S3 server on this machine. `aws s3 sync` does not copy from folder to folder, so it has no figures
there.

What is equal: the files, the file system, the server, and the number of transfers at once (8; the AWS client's default is 10),
except for uploads to a folder.
Each sample has new folders, and a new server with an empty bucket. All folders are deleted after the last sample: before it
creates a file, ext4 without a journal passes all inodes that were deleted in the last minutes, which took a seventh of the CPU
time of `mirror`. Before a program starts, everything written before is flushed to the disk. Each program runs once before the
measurement. The programs alternate in the order A B C, C B A, no sample is dropped, and the figure is the median. Wall time is
from the start of the process to its end. CPU time is user and system time of the process, and not that of the server.
Afterwards, and outside of the stopwatch, every file is compared byte by byte.

What is not equal:

- `rclone sync` and `aws s3 sync` copy in one direction. They keep no state between runs, and do not flush the files that they
  write, so a power failure after their end may lose files.
- `mirror` syncs in both directions. It records each file in a crash-safe store, notices conflicts, and continues after a kill.
  It flushes each file that it writes to a folder, and its store, before it counts the file as done. At the end it checks that
  both sides are the same.
- `mirror` uploads 16 files at once to a folder, and rclone 8.
- rclone also transfers modification times. After each upload to S3 it sends a second request, which checks the object.
- With S3, `mirror` also creates an object for each folder, and lists all folders once more at the end.
- The S3 server is written in Python, and runs on the same cores. It needs more time for a file than a fast program does, and
  limits the wall time of the rows with S3. So compare the CPU time there.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import ClassVar
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree

from peers_report import BenchError, machine, positive, print_table

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / ".build/servers-venv/bin"
"""The programs of Tests/StrataHTTPTests/requirements.txt, which `ensure_servers` in `Scripts/lib.sh` installs."""

FILE_BYTES = 100
FOLDERS = 100
TRANSFERS = 8
"""How many files rclone transfers and checks at once: the number that `mirror` has, except for uploads to a folder."""

WARM_UP_FILES = 10

Files = Mapping[str, bytes]
"""The contents of files, by their paths with `/`."""


@dataclass(frozen=True)
class Sizes:
    """How much work there is."""

    files: int
    rounds: int


FULL_SIZES = Sizes(files=10_000, rounds=4)
QUICK_SIZES = Sizes(files=50, rounds=1)


@dataclass(frozen=True)
class Usage:
    """The time that a program has taken, in seconds."""

    wall: float
    cpu: float


# The files


def make_files(count: int) -> dict[str, bytes]:
    """Files with different random contents, the same ones in each run, spread evenly over the folders."""
    generator = random.Random(count)
    return {
        f"folder-{number % FOLDERS:02}/file-{number:06}.dat": generator.randbytes(FILE_BYTES) for number in range(count)
    }


def write_files(files: Files, folder: Path) -> None:
    """Writes files into a folder, which may not exist yet."""
    for parent in {Path(path).parent for path in files}:
        (folder / parent).mkdir(parents=True)
    for path, content in files.items():
        (folder / path).write_bytes(content)


def read_files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if not path.is_dir()
    }


def compare(where: str, found: Files, expected: Files) -> None:
    """Fails if files are missing, were added, or have other contents."""
    for path in sorted(expected.keys() | found.keys()):
        if path not in found:
            raise BenchError(f"{where}: {path} is missing")
        if path not in expected:
            raise BenchError(f"{where}: {path} should not be there")
        if found[path] != expected[path]:
            raise BenchError(f"{where}: {path} has other content")


# The remotes


class Remote(ABC):
    """A place that files are brought to, empty at first."""

    kind: ClassVar[str]
    """The last words of the rows' names."""

    @abstractmethod
    def read(self, below: str) -> dict[str, bytes]:
        """All files at the remote, read without the measured programs.

        If `below` is not empty, only the files in this folder, by their paths in it.
        """


class Folder(Remote):
    """Another folder of the same file system."""

    kind = "a folder"

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, below: str) -> dict[str, bytes]:
        return read_files(self.path / below)


class Bucket(Remote):
    """A bucket of a server that accepts any credentials."""

    kind = "S3"
    name: ClassVar[str] = "bench"
    key: ClassVar[str] = "test"
    region: ClassVar[str] = "us-east-1"

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def environment(self) -> dict[str, str]:
        """Variables that tell the programs about the server, so that they read no configuration of the user."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.key,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "RCLONE_CONFIG_BENCH_TYPE": "s3",
            "RCLONE_CONFIG_BENCH_PROVIDER": "Other",
            "RCLONE_CONFIG_BENCH_ACCESS_KEY_ID": self.key,
            "RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY": self.key,
            "RCLONE_CONFIG_BENCH_ENDPOINT": self.url,
            "RCLONE_CONFIG_BENCH_REGION": self.region,
        }

    def create(self) -> None:
        """Creates the bucket. Throws `OSError` if the server cannot be reached yet."""
        with self._connection() as connection:
            self._ask(connection, "PUT", f"/{self.name}")

    def read(self, below: str) -> dict[str, bytes]:
        # An object whose key ends with / is the mark of a folder.
        prefix = f"{below}/" if below else ""
        with self._connection() as connection:
            return {
                key.removeprefix(prefix): self._ask(connection, "GET", f"/{self.name}/{quote(key)}")
                for key in self._keys(connection, prefix)
                if not key.endswith("/")
            }

    def _keys(self, connection: http.client.HTTPConnection, prefix: str) -> list[str]:
        """The keys that begin with a prefix, from all pages of the listing."""
        keys: list[str] = []
        query = {"list-type": "2", "prefix": prefix}
        while True:
            page = ElementTree.fromstring(self._ask(connection, "GET", f"/{self.name}?{urlencode(query)}"))
            keys += [element.text or "" for element in page.findall("{*}Contents/{*}Key")]
            token = page.findtext("{*}NextContinuationToken")
            if page.findtext("{*}IsTruncated") != "true" or token is None:
                return keys
            query["continuation-token"] = token

    @contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        try:
            yield connection
        finally:
            connection.close()

    @staticmethod
    def _ask(connection: http.client.HTTPConnection, method: str, path: str) -> bytes:
        connection.request(method, path)
        response = connection.getresponse()
        body = response.read()
        if response.status != http.client.OK:
            raise BenchError(f"the S3 server answered {response.status} to {method} {path}")
        return body


class Server:
    """ministack, which the tests and the other benchmarks use too, on loopback.

    It answers several times as fast as moto, the other S3 server of the tests, and keeps connections open.
    """

    program: ClassVar[str] = "ministack"
    patience: ClassVar[float] = 60.0
    """How long the server may take to start, in seconds."""

    @classmethod
    @contextmanager
    def running(cls, program: Path, folder: Path) -> Iterator[Bucket]:
        """A new server with an empty bucket. It ends with the body, and also if this process is killed."""
        port = free_port()
        log = folder / "server.log"
        # The shell kills the server when its own input ends, which also happens if this process is killed.
        keeper = '"$@" </dev/null & server=$!; read -r _; kill -KILL "$server"; wait "$server" 2>/dev/null'
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", keeper, "sh", str(program)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=clean_environment()
                | {
                    "BIND_HOST": "127.0.0.1",
                    "GATEWAY_PORT": str(port),
                    "SERVICES": "s3",
                    "IOT_MTLS_ENABLED": "0",
                    "LOG_LEVEL": "ERROR",
                },
            )
        try:
            bucket = Bucket(f"http://127.0.0.1:{port}")
            cls._create(bucket, log)
            yield bucket
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()

    @classmethod
    def _create(cls, bucket: Bucket, log: Path) -> None:
        """Creates the bucket as soon as the server answers."""
        end = time.monotonic() + cls.patience
        while True:
            try:
                return bucket.create()
            except OSError as error:
                if time.monotonic() > end:
                    raise BenchError(f"{cls.program} does not answer: {error}\n{tail(log)}") from error
            time.sleep(0.02)


def free_port() -> int:
    """A port of loopback that no process uses."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


# The programs


class Program(ABC):
    """A program that copies files to a remote and back."""

    name: ClassVar[str]
    below: ClassVar[str] = ""
    """The folder of the remote that contains the copied files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    @abstractmethod
    def version(self) -> str:
        """The name of the program with its version."""

    def supports(self, kind: type[Remote]) -> bool:
        """Whether the program copies between a folder and such a remote."""
        return True

    @abstractmethod
    def upload(self, folder: Path, remote: Remote, state: Path) -> list[str]:
        """The command that copies a folder to a remote. Files of the program's own go into the folder `state`."""

    @abstractmethod
    def download(self, remote: Remote, folder: Path, state: Path) -> list[str]:
        """The command that copies a remote into an empty folder."""

    def output(self, *arguments: str) -> str:
        """The first line that the program prints."""
        result = subprocess.run(
            [self.path, *arguments], env=clean_environment(), capture_output=True, text=True, timeout=60, check=True
        )
        return (result.stdout.strip() or result.stderr.strip()).splitlines()[0]


class Mirror(Program):
    """The example of Strata, until both sides are the same.

    Its store is in a new file, outside of the mirrored folder. The run that downloads does not know the run that uploaded.
    """

    name = "mirror"
    below = "home"

    @property
    def version(self) -> str:
        # The path says how the program was built.
        return f"mirror ({self.path})"

    def upload(self, folder: Path, remote: Remote, state: Path) -> list[str]:
        return self._command(folder, remote, state / "mirror.sqlite", host="uploading")

    def download(self, remote: Remote, folder: Path, state: Path) -> list[str]:
        return self._command(folder, remote, state / "mirror.sqlite", host="downloading")

    def _command(self, folder: Path, remote: Remote, store: Path, host: str) -> list[str]:
        return [str(self.path), str(folder), *self._address(remote), "--once", "--store", str(store), "--host", host]

    @staticmethod
    def _address(remote: Remote) -> list[str]:
        match remote:
            case Folder():
                return [str(remote.path)]
            case Bucket():
                return [f"s3://{remote.name}", "--endpoint", remote.url, "--region", remote.region]
        raise BenchError(f"mirror has no remote like {remote}")


class Rclone(Program):
    """`rclone sync` with `TRANSFERS` transfers, and otherwise its defaults."""

    name = "rclone"

    @property
    def version(self) -> str:
        return self.output("version")

    def upload(self, folder: Path, remote: Remote, state: Path) -> list[str]:
        return self._command(str(folder), self._address(remote))

    def download(self, remote: Remote, folder: Path, state: Path) -> list[str]:
        return self._command(self._address(remote), str(folder))

    def _command(self, source: str, destination: str) -> list[str]:
        counts = ["--transfers", str(TRANSFERS), "--checkers", str(TRANSFERS)]
        # An empty name means no configuration file.
        return [str(self.path), "sync", "--config", "", *counts, source, destination]

    @staticmethod
    def _address(remote: Remote) -> str:
        match remote:
            case Folder():
                return str(remote.path)
            case Bucket():
                # The remote that the variables RCLONE_CONFIG_BENCH_… define.
                return f"bench:{remote.name}"
        raise BenchError(f"rclone has no remote like {remote}")


class AWS(Program):
    """`aws s3 sync` with its defaults."""

    name = "aws"

    @property
    def version(self) -> str:
        return self.output("--version").split()[0]

    def supports(self, kind: type[Remote]) -> bool:
        return kind is Bucket

    def upload(self, folder: Path, remote: Remote, state: Path) -> list[str]:
        return self._command(remote, str(folder), f"s3://{Bucket.name}")

    def download(self, remote: Remote, folder: Path, state: Path) -> list[str]:
        return self._command(remote, f"s3://{Bucket.name}", str(folder))

    def _command(self, remote: Remote, source: str, destination: str) -> list[str]:
        if not isinstance(remote, Bucket):
            raise BenchError("aws s3 sync needs a bucket")
        sync = ["s3", "sync", "--only-show-errors", "--endpoint-url", remote.url]
        return [str(self.path), *sync, source, destination]


def find(name: str) -> Path | None:
    """A program of the servers' environment, or of the system."""
    found = shutil.which(name, path=SERVERS) or shutil.which(name)
    return Path(found) if found else None


def clean_environment() -> dict[str, str]:
    """The variables of this process without those that configure the measured programs."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "RCLONE_", "MIRROR_")) and not name.lower().endswith("_proxy")
    }


def tail(log: Path) -> str:
    """The end of what a program has printed."""
    return log.read_text(errors="replace")[-2_000:].strip()


def execute(command: Sequence[str], environment: Mapping[str, str], log: Path, patience: float) -> Usage:
    """Runs a program to its end, and measures it.

    The program is killed if it takes longer than `patience` seconds, or if this process is interrupted. Both, and an exit
    status other than 0, are errors.
    """
    with log.open("wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        # Popen.kill() could take the process's status, which wait4() needs.
        timer = threading.Timer(patience, kill, [process.pid])
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        except BaseException:
            kill(process.pid)
            process.wait()
            raise
        finally:
            timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        late = f" after {patience:.0f} s" if seconds >= patience else ""
        raise BenchError(f"{' '.join(command)}: ended with {process.returncode}{late}\n{tail(log)}")
    return Usage(wall=seconds, cpu=usage.ru_utime + usage.ru_stime)


def kill(process: int) -> None:
    """Kills a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


# The work


class Direction(Enum):
    """A direction, in the words of the rows' names."""

    UP = "up to"
    DOWN = "down from"


@dataclass(frozen=True)
class Row:
    """A measured direction, with the samples of each program."""

    name: str
    files: int
    samples: dict[str, list[Usage]]

    def wall(self, program: str) -> float | None:
        """The median in seconds, or None if the program was not measured."""
        return statistics.median(usage.wall for usage in self.samples[program]) if program in self.samples else None

    def cpu(self, program: str) -> float | None:
        """The median in milliseconds per file."""
        if program not in self.samples:
            return None
        return statistics.median(usage.cpu for usage in self.samples[program]) / self.files * 1e3


class Runner:
    """Runs the programs in turns, each time with new folders."""

    def __init__(self, folder: Path, server: Path | None) -> None:
        self._folder = folder
        self._server = server

    @property
    def kinds(self) -> list[type[Remote]]:
        """The remotes that exist here."""
        return [Folder] if self._server is None else [Folder, Bucket]

    def measure(
        self, programs: Sequence[Program], files: Files, rounds: int, *, is_quiet: bool = False
    ) -> list[Row]:
        """The rows of all remotes, in the order of the table."""
        rows: list[Row] = []
        for kind in self.kinds:
            able = [program for program in programs if program.supports(kind)]
            if not able:
                continue
            up, down = (
                Row(f"{direction.value} {kind.kind}", len(files), {program.name: [] for program in able})
                for direction in Direction
            )
            for number in range(rounds):
                for program in able if number % 2 == 0 else reversed(able):
                    uploaded, downloaded = self._sample(program, kind, files)
                    up.samples[program.name].append(uploaded)
                    down.samples[program.name].append(downloaded)
            rows += [up, down]
            if not is_quiet:
                self._tell([up, down])
        return rows

    @staticmethod
    def _tell(rows: Sequence[Row]) -> None:
        """Median and range in seconds, on standard error: the rows take their time."""
        for row in rows:
            for name, usages in row.samples.items():
                times = [usage.wall for usage in usages]
                middle = statistics.median(times)
                text = f"{row.name}, {name}: {middle:.2f} s ({min(times):.2f}..{max(times):.2f})"
                print(text, file=sys.stderr, flush=True)

    def _sample(self, program: Program, kind: type[Remote], files: Files) -> tuple[Usage, Usage]:
        """Brings files up to a new remote, and down from it. Compares the files after each of the two."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        with self._remote(kind, folder) as remote:
            return self._round_trip(program, remote, files, folder)

    @contextmanager
    def _remote(self, kind: type[Remote], folder: Path) -> Iterator[Remote]:
        if kind is Folder:
            (folder / "remote").mkdir()
            yield Folder(folder / "remote")
        elif self._server is not None:
            with Server.running(self._server, folder) as bucket:
                yield bucket

    @staticmethod
    def _round_trip(program: Program, remote: Remote, files: Files, folder: Path) -> tuple[Usage, Usage]:
        environment = clean_environment() | (remote.environment if isinstance(remote, Bucket) else {})
        # Enough for a build without optimisation.
        patience = 60 + len(files) / 10
        source, copy = folder / "source", folder / "copy"
        write_files(files, source)
        copy.mkdir()

        def run(direction: Direction) -> Usage:
            state = folder / direction.name.lower()
            state.mkdir()
            command = (
                program.upload(source, remote, state)
                if direction is Direction.UP
                else program.download(remote, copy, state)
            )
            os.sync()
            return execute(command, environment, state / "output.log", patience)

        uploaded = run(Direction.UP)
        compare(f"{program.name}, up to {remote.kind}", remote.read(program.below), files)
        compare(f"{program.name}, the source", read_files(source), files)
        downloaded = run(Direction.DOWN)
        compare(f"{program.name}, down from {remote.kind}", read_files(copy), files)
        return uploaded, downloaded


# The report

NOTHING = "–"


def wall_cell(row: Row, program: str) -> str:
    """Seconds, and how many times those of mirror they are."""
    wall, own = row.wall(program), row.wall(Mirror.name)
    if wall is None:
        return NOTHING
    return f"{wall:.2f}" if own is None else f"{wall:.2f} ({wall / own:.2f})"


def cpu_cell(row: Row, program: str) -> str:
    """Milliseconds of CPU time per file."""
    cpu = row.cpu(program)
    return NOTHING if cpu is None else f"{cpu:.3f}"


def table(rows: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    """All cells, the head included."""
    unit = "seconds (times mirror's)" if Mirror.name in names else "seconds"
    result = [["", *names]]
    for row in rows:
        result.append([f"{row.name}, {unit}", *(wall_cell(row, name) for name in names)])
        result.append([f"{row.name}, ms of CPU per file", *(cpu_cell(row, name) for name in names)])
    return result


def print_notes(names: Sequence[str]) -> None:
    """What the table cannot say."""
    print()
    print("mirror syncs in both directions, notices conflicts, and records each file in a crash-safe store. It flushes each")
    print("file and its store to the disk before it counts the file as done.")
    print("rclone and aws copy in one direction, keep no state, and flush nothing. rclone also transfers modification times,")
    print("and checks each object in S3 by a second request.")
    if AWS.name in names:
        print("aws s3 sync does not copy from folder to folder.")
    print(f"The S3 server ({Server.program}) is a Python program on the same cores, and limits the wall time of the rows with")
    print("S3. So compare the CPU time there.")


def report(rows: Sequence[Row], programs: Sequence[Program], sizes: Sizes, missing: Sequence[str]) -> dict[str, object]:
    """The results for machines. Wall and CPU time are in seconds, except in the keys that name another unit."""
    return {
        "bytes": FILE_BYTES,
        "files": sizes.files,
        "folders": min(FOLDERS, sizes.files),
        "missing": list(missing),
        "programs": {program.name: program.version for program in programs},
        "rounds": sizes.rounds,
        "rows": [
            {
                "name": row.name,
                "results": {
                    name: {
                        "cpu_ms_per_file": row.cpu(name),
                        "seconds": row.wall(name),
                        "samples": [{"cpu": usage.cpu, "wall": usage.wall} for usage in usages],
                    }
                    for name, usages in row.samples.items()
                },
            }
            for row in rows
        ],
    }


def print_environment(folder: Path, programs: Sequence[Program], sizes: Sizes, missing: Sequence[str]) -> None:
    """What the figures were measured on, and which rows or columns are missing."""
    print(", ".join(program.version for program in programs))
    print(machine(folder))
    print(
        f"{sizes.files:,} files of {FILE_BYTES} bytes in {min(FOLDERS, sizes.files)} folders; "
        f"medians of {sizes.rounds} rounds"
    )
    for text in missing:
        print(f"LEFT OUT: {text}")
    print(flush=True)


# The command


def options() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="Measures the example mirror beside rclone and aws s3 sync.")
    parser.add_argument("--folder", type=Path, required=True, help="where the files lie: on a real disk")
    parser.add_argument("--mirror", type=Path, metavar="PATH", help="the built program mirror; without it, only the others")
    parser.add_argument(
        "--quick", action="store_true", help="few files and one round; programs that are not installed are left out"
    )
    parser.add_argument("--files", type=positive, metavar="N", help="the number of files")
    parser.add_argument("--rounds", type=positive, metavar="N", help="how often each program does the work")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    return parser.parse_args()


def installed(mirror: Path | None, *, allows_missing: bool) -> tuple[list[Program], Path | None, list[str]]:
    """The programs to measure, the S3 server, and what is left out.

    Fails if something is not installed, unless this is allowed.
    """
    if mirror is not None and not os.access(mirror, os.X_OK):
        raise BenchError(f"{mirror} is not a program")
    programs: list[Program] = [] if mirror is None else [Mirror(mirror.resolve())]
    missing = ["mirror, because --mirror does not name the program"] if mirror is None else []
    rclone, aws, server = (find(name) for name in (Rclone.name, AWS.name, Server.program))
    absent: list[str] = []
    if rclone is None:
        absent.append("rclone, which is not installed: apt-get install rclone, or https://rclone.org/install")
    else:
        programs.append(Rclone(rclone))
    if server is None:
        absent.append(f"the rows with S3, because {Server.program} is not installed: Scripts/bench-peers installs it")
    if aws is None:
        absent.append("aws, which is not installed: Scripts/bench-peers installs it")
    elif server is not None:
        programs.append(AWS(aws))
    if absent and not allows_missing:
        raise BenchError(f"cannot measure {'; '.join(absent)}")
    if not programs:
        raise BenchError(f"nothing to measure: {'; '.join(missing + absent)}")
    return programs, server, missing + absent


def run(arguments: argparse.Namespace) -> None:
    """Measures everything and prints the table."""
    usual = QUICK_SIZES if arguments.quick else FULL_SIZES
    sizes = Sizes(files=arguments.files or usual.files, rounds=arguments.rounds or usual.rounds)
    if arguments.json is not None and not arguments.json.parent.is_dir():
        raise BenchError(f"the folder of {arguments.json} does not exist")
    programs, server, missing = installed(arguments.mirror, allows_missing=arguments.quick)
    print_environment(arguments.folder, programs, sizes, missing)
    with tempfile.TemporaryDirectory(prefix="strata-sync-", dir=arguments.folder.resolve()) as folder:
        runner = Runner(Path(folder), server)
        runner.measure(programs, make_files(WARM_UP_FILES), rounds=1, is_quiet=True)
        rows = runner.measure(programs, make_files(sizes.files), sizes.rounds)
    names = [program.name for program in programs]
    print_table(table(rows, names))
    print_notes(names)
    if arguments.json is not None:
        text = json.dumps(report(rows, programs, sizes, missing), indent=2, sort_keys=True)
        arguments.json.write_text(text + "\n")


def terminate(number: int, _: FrameType | None) -> None:
    """Ends this process after it has killed the programs that it runs."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminate)
    try:
        run(options())
    except BenchError as error:
        sys.exit(f"sync_peers.py: {error}")
