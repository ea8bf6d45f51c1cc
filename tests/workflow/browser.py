"""The workflow's report in a real, headless browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.requirements import require_program

_SECONDS = 20


@contextmanager
def open_page(path: Path) -> Iterator[Chrome]:
    """Open a file in Chromium."""
    options = ChromeOptions()
    options.binary_location = require_program("chromium")
    # As root, as in a container, Chromium runs without its own sandbox only.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1500,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(options=options, service=Service(require_program("chromedriver")))
    try:
        browser.get(path.as_uri())
        yield browser
    finally:
        browser.quit()


def click_text(browser: Chrome, text: str) -> None:
    """Click what says a text and nothing else."""
    found = WebDriverWait(browser, _SECONDS).until(lambda page: [e for e in _saying(page, text) if e.is_displayed()])
    browser.execute_script("arguments[0].click()", found[0])


def rows(browser: Chrome) -> list[WebElement]:
    """Rows of the list of results that is shown, without its head."""
    return WebDriverWait(browser, _SECONDS).until(lambda page: page.find_elements(By.CSS_SELECTOR, "table tbody tr"))


def wait_for(browser: Chrome, selector: str) -> WebElement:
    """Wait until an element is there."""
    return WebDriverWait(browser, _SECONDS).until(lambda page: page.find_elements(By.CSS_SELECTOR, selector))[0]


def errors(browser: Chrome) -> list[str]:
    """What the browser's console complained about."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def _saying(browser: Chrome, text: str) -> list[WebElement]:
    return browser.find_elements(By.XPATH, f"//*[normalize-space(text())='{text}']")
