"""A browser without a window, and what tests ask it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin

from selenium.common.exceptions import NoAlertPresentException, WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

PATIENCE = 30
"""How many seconds a condition may take to become true. Only a fault makes a test wait this long."""

AUDIT = (Path(__file__).parent / "audit.js").read_text()

ARGUMENTS = [
    "--headless=new",
    # Containers often have neither the rights for the sandbox, nor memory in /dev/shm. Only our pages are opened.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-device-scale-factor=1",
    "--lang=en",
    # Nothing but this machine can be reached.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

Value = TypeVar("Value")


def installed(*names: str) -> str:
    """The first of these programs that is installed. `Scripts/test-browser` has seen to one."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise FileNotFoundError(f"none of these programs is installed: {', '.join(names)}")


class Browser:
    """A browser with one window. Its profile is in a folder that the caller removes."""

    def __init__(self, profile: Path) -> None:
        # Without this, the library would look for drivers in the network.
        os.environ["SE_OFFLINE"] = "true"
        options = ChromeOptions()
        options.binary_location = installed("chromium", "chromium-browser", "google-chrome")
        for argument in [*ARGUMENTS, f"--user-data-dir={profile}"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.set_capability("unhandledPromptBehavior", "ignore")
        self._service = Service(installed("chromedriver"))
        self.driver = Chrome(options=options, service=self._service)
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.set_script_timeout(PATIENCE)
        self.root = ""

    def quit(self) -> None:
        """Ends the browser, and its driver also if the browser does not answer."""
        driver = self._service.process
        try:
            self.driver.quit()
        finally:
            if driver is not None and driver.poll() is None:
                with suppress(ProcessLookupError):
                    os.kill(driver.pid, signal.SIGKILL)

    # Settings

    def _command(self, name: str, **values: Any) -> None:
        self.driver.execute_cdp_cmd(name, values)

    def reset(self) -> None:
        """Leaves nothing of a test to the next one."""
        with suppress(NoAlertPresentException):
            self.driver.switch_to.alert.dismiss()
        self.allow_scripts(True)
        self.use(scheme=None)
        self._command("Emulation.clearDeviceMetricsOverride")
        self.driver.get("about:blank")
        self._command("Network.clearBrowserCookies")
        self.take_log()

    def allow_scripts(self, allowed: bool) -> None:
        """Turns JavaScript on or off, for the pages that are opened afterwards."""
        self._command("Emulation.setScriptExecutionDisabled", value=not allowed)

    def use(self, scheme: str | None) -> None:
        """Lets pages see a colour scheme that the person prefers: `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}] if scheme else []
        self._command("Emulation.setEmulatedMedia", media="", features=features)

    def resize(self, width: int, height: int = 900) -> None:
        """Sets the size of the window's content."""
        self._command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    # Pages

    def go(self, path: str) -> None:
        """Opens a page of the console: a path below its root, or a whole address."""
        self.driver.get(urljoin(self.root, path))

    def log_in(self, address: str, root: str) -> None:
        """Opens a console by the address that the program has printed."""
        self.root = root
        self.driver.get(address)

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    @property
    def text(self) -> str:
        """The visible text of the page."""
        return self.find("body").text

    def follow(self, title: str) -> None:
        """Follows a link of the navigation."""
        self.find("header nav").find_element(By.LINK_TEXT, title).click()

    def press(self, button: WebElement) -> None:
        """Presses a button that leads to another page, and agrees if the script asks."""
        old = self.find("html")
        button.click()
        with suppress(NoAlertPresentException):
            self.driver.switch_to.alert.accept()
        self.wait(lambda: self._is_gone(old))
        self.wait(lambda: self.run("return document.readyState") == "complete")

    @staticmethod
    def _is_gone(element: WebElement) -> bool:
        try:
            element.is_enabled()
        except WebDriverException:
            return True
        return False

    def button(self, text: str, inside: str = "main") -> WebElement:
        """The first button with this text."""
        found = [button for button in self.all(f"{inside} button") if button.text.strip() == text]
        assert found, f"{self.driver.current_url} has no button '{text}': {self.text[:2000]}"
        return found[0]

    def key(self, *keys: str) -> None:
        """Presses keys in the element that has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab(self) -> None:
        self.key(Keys.TAB)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def audit(self, name: str, *arguments: Any) -> Any:
        """Calls a function of `audit.js` in the page."""
        return self.run(f"{AUDIT}\nreturn {name}(...arguments);", *arguments)

    def wait(self, condition: Callable[[], Value], message: str = "") -> Value:
        """Waits until a condition is true. Returns its value."""
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(lambda _: condition(), message)

    def take_log(self) -> list[str]:
        """The errors that the browser has reported since the last call, such as violations of the pages' policy."""
        entries = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE" or entry["source"] == "security"]
