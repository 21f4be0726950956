"""What the tests share: a browser, stores, and consoles. Everything ends with its test, also if the test fails."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from browser import Browser
from processes import Console, Sample, run


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


# The end by SIGTERM also ends the processes of the running test.
signal.signal(signal.SIGTERM, _interrupt)


@pytest.fixture(scope="session")
def running_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The browser of all tests."""
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()


@pytest.fixture
def browser(running_browser: Browser) -> Browser:
    """The browser, without anything of earlier tests."""
    running_browser.reset()
    return running_browser


def _made(command: str, folder: Path) -> Path:
    run("strata-sample", command, folder / "sample.sqlite")
    return folder


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _made("make", tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="session")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _made("make-hostile", tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def store(sample_folder: Path, tmp_path: Path) -> Path:
    """A new copy of the store with something for every page."""
    shutil.copytree(sample_folder, tmp_path / "store")
    return tmp_path / "store" / "sample.sqlite"


@pytest.fixture
def hostile_store(hostile_folder: Path, tmp_path: Path) -> Path:
    """A new copy of the store whose names and texts try to become markup."""
    shutil.copytree(hostile_folder, tmp_path / "hostile")
    return tmp_path / "hostile" / "sample.sqlite"


@pytest.fixture
def serve() -> Iterator[Callable[..., Console]]:
    """Serves a console for a store, with these options, until the test ends."""
    consoles: list[Console] = []

    def start(store: Path, *options: str) -> Console:
        console = Console(store, *options)
        consoles.append(console)
        return console

    yield start
    for console in consoles:
        console.end()


@pytest.fixture
def work_on() -> Iterator[Callable[[Path], Sample]]:
    """Starts another process that works on a store, until the test ends."""
    samples: list[Sample] = []

    def start(store: Path) -> Sample:
        sample = Sample(store)
        samples.append(sample)
        return sample

    yield start
    for sample in samples:
        sample.end()


@pytest.fixture
def open_console(browser: Browser, serve: Callable[..., Console]) -> Callable[..., Console]:
    """Serves a console for a store, and opens it in the browser with its token."""

    def start(store: Path, *options: str) -> Console:
        console = serve(store, *options)
        browser.log_in(console.address, console.root)
        return console

    return start
