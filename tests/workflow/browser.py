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
    # As root, as in a container, Chromium runs without a sandbox of its own only.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1500,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(options=options, service=Service(require_program("chromedriver")))
    try:
        browser.get(path.as_uri())
        yield browser
    finally:
        browser.quit()


def text_of(browser: Chrome) -> str:
    """All text that is shown."""
    return _wait(browser, "body")[0].text


def results_of(browser: Chrome, category: str) -> list[str]:
    """Click a category of the menu and name the results in it."""
    return [row.find_element(By.TAG_NAME, "td").text for row in _rows(browser, category)]


def image_width(browser: Chrome, category: str, result: str) -> int:
    """Click through to a figure; its own width in pixels, 0 where it does not show."""
    _view(browser, category, result)
    image = _wait(browser, "div.p-3 > img")[0]
    WebDriverWait(browser, _SECONDS).until(lambda _: image.get_property("complete"))
    return int(image.get_property("naturalWidth"))


def table_rows(browser: Chrome, category: str, result: str) -> int:
    """Click through to a page; how many rows its tables have."""
    _view(browser, category, result)
    browser.switch_to.frame(_wait(browser, "iframe")[0])
    count = len(_wait(browser, "tbody tr"))
    browser.switch_to.default_content()
    return count


def errors(browser: Chrome) -> list[str]:
    """What the browser's console complained about."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def _rows(browser: Chrome, category: str) -> list[WebElement]:
    browser.refresh()
    xpath = f"//a[normalize-space(.)='{category}']"
    entry = WebDriverWait(browser, _SECONDS).until(lambda page: page.find_elements(By.XPATH, xpath))[0]
    browser.execute_script("arguments[0].click()", entry)
    return _wait(browser, "table.table-auto tbody tr")


def _view(browser: Chrome, category: str, result: str) -> None:
    row = next(row for row in _rows(browser, category) if row.find_element(By.TAG_NAME, "td").text == result)
    # The first of a row's two buttons shows the result, the other one tells about it.
    browser.execute_script("arguments[0].click()", row.find_element(By.TAG_NAME, "a"))


def _wait(browser: Chrome, selector: str) -> list[WebElement]:
    """Wait until elements are there."""
    return WebDriverWait(browser, _SECONDS).until(lambda page: page.find_elements(By.CSS_SELECTOR, selector))
