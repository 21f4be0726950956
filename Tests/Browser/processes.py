"""The programs that the tests start: the console, a helper that works on stores, and the command-line tool."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 60
"""How many seconds a program may take for an answer. Only a program that hangs takes this long."""


def program(name: str) -> str:
    """The path of a program of this package, which `Scripts/test-browser` has built."""
    return str(Path(os.environ["STRATA_PROGRAMS"]) / name)


class ProgramError(Exception):
    """A program did not do what a test needs."""


class Program:
    """A process whose lines are read. It ends with `end` or `kill`, by its id."""

    def __init__(self, name: str, *arguments: str | Path) -> None:
        self._name = name
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [program(name), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def line(self) -> str:
        """The next line of the output."""
        try:
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise ProgramError(f"{self._name} has not written a line for {PATIENCE} s") from None
        if line is None:
            raise ProgramError(f"{self._name} has ended: {self.errors()}")
        return line

    def write(self, line: str) -> None:
        """Writes a line to the standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def errors(self) -> str:
        """Everything in the standard error so far."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> int:
        """Waits until the process ends by itself. Returns its status."""
        return self._process.wait(PATIENCE)

    def end(self) -> int:
        """Ends the process with SIGTERM, or with SIGKILL if that does not help. Returns its status."""
        if self.is_running:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
        status = self._process.wait(PATIENCE)
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        return status


class Console(Program):
    """`strata serve` for a store."""

    def __init__(self, store: Path, *options: str) -> None:
        super().__init__("strata", "serve", store, "--port", "0", *options)
        try:
            self.address = self.line()
        except ProgramError:
            self.end()
            raise
        """The address that the program prints, with the token if there is one."""
        parts = urlsplit(self.address)
        self.root = f"{parts.scheme}://{parts.netloc}/"
        match = re.search(r"token=([\w-]+)", parts.query)
        self.token = match.group(1) if match else None


class Sample(Program):
    """A process that works on a store: see `Tests/Helpers/StrataSample`."""

    def __init__(self, store: Path) -> None:
        super().__init__("strata-sample", "control", store)
        self._expect("ready")

    def _expect(self, beginning: str) -> list[str]:
        line = self.line()
        if not line.startswith(beginning):
            raise ProgramError(f"strata-sample wrote '{line}' instead of '{beginning}'")
        return line.split()

    def _tell(self, line: str) -> tuple[int, float]:
        self.write(line)
        answer = self._expect("done ")
        return int(answer[1]), float(answer[2])

    def enqueue(self, pipeline: str, count: int = 1) -> tuple[int, float]:
        """Queues operations in one commit. Returns the number of the commit, and its time."""
        return self._tell(f"enqueue {pipeline} {count}")

    def fail(self, pipeline: str, count: int = 1) -> tuple[int, float]:
        """Queues operations, and lets them fail."""
        return self._tell(f"fail {pipeline} {count}")

    def start(self, pipeline: str) -> tuple[int, float]:
        """Runs the operations of a pipeline, which do not end."""
        return self._tell(f"start {pipeline} 1")


def run(name: str, *arguments: str | Path) -> str:
    """Runs a program until it ends. Returns its output."""
    result = subprocess.run(
        [program(name), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=10 * PATIENCE,
        check=False,
    )
    if result.returncode != 0:
        output = result.stdout + result.stderr
        raise ProgramError(f"{name} {arguments[0]} ended with status {result.returncode}: {output}")
    return result.stdout


def rows(*arguments: str | Path) -> list[dict[str, Any]]:
    """The lines that the command-line tool prints with `--json`."""
    return [json.loads(line) for line in run("strata", *arguments, "--json").splitlines()]


def operations(store: Path) -> dict[int, str]:
    """The statuses of the queued operations, by their ids."""
    return {row["id"]: row["status"] for row in rows("jobs", "list", store, "--limit", "10000")}


def is_paused(store: Path, pipeline: str) -> bool:
    """Whether an operator has paused a pipeline."""
    found = [row for row in rows("queues", store, "--limit", "10000") if row["pipeline"] == pipeline]
    if not found:
        raise ProgramError(f"the store does not have the pipeline '{pipeline}'")
    return bool(found[0]["settings"]["isPaused"]["value"])
