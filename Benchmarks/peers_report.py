"""What `peers.py` and `sync_peers.py` share: the error, the table, and the conditions of a run."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path


class BenchError(Exception):
    """Unequal work, or a participant that did not do it."""


def print_table(cells: Sequence[Sequence[str]]) -> None:
    """In columns, of which the first is on the left."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        rest = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        print("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())


def file_system(folder: Path) -> str:
    """The type of the file system that a folder lies on, where the system tells."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return "an unknown file system"
    path = folder.resolve()
    kinds = {point: kind for point, kind in mounts if path.is_relative_to(point)}
    return kinds[max(kinds, key=len)] if kinds else "an unknown file system"


def machine(folder: Path) -> str:
    """The kernel, the cores, the load, and the file system of a folder, in one line."""
    return (
        f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores, "
        f"files on {file_system(folder)}, load {os.getloadavg()[0]:.2f}"
    )


def positive(text: str) -> int:
    """A number of at least 1 from the command line."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
