"""Headless Chromium, controlled by selenium."""

from __future__ import annotations

import os
import shutil

import pytest

SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Render even if the CPU is busy.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # Otherwise screenshots may show the previous page.
    "--disable-features=BackForwardCache,Prerender2",
)


def missing():
    """Return the missing requirement of browser tests, or None."""
    try:
        import selenium.webdriver  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    lacking = [n for n in ("chromium", "chromedriver") if shutil.which(n) is None]
    return f"there is no {' and no '.join(lacking)} on the path" if lacking else None


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Start Chromium once; without it, tests are skipped, or fail if it is required."""
    reason = missing()
    if reason and os.environ.get("PLIANT_REQUIRE_BROWSER"):
        pytest.fail(f"PLIANT_REQUIRE_BROWSER is set, but {reason}")
    if reason:
        pytest.skip(f"the report was not looked at in a browser: {reason}")
    driver = _started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def _started(profile):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
