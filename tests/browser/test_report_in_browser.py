"""The report in Chromium: opened from a file, on a phone, in dark mode."""

from __future__ import annotations

import json

import pytest

from pliant.tables.comparison.page import write_report
from tests.comparison.report.report_cases import HOSTILE, result

BOARD = 'const board = document.querySelector("table.leaderboard");'
NAMES = ("one", "regression", "several", "hostile")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    hostile = result(name=HOSTILE[0], error=HOSTILE[1], warning=HOSTILE[2], command=HOSTILE[0])
    cases = {
        "one": [result()],
        "regression": [result("regression", name="numbers")],
        "several": [result(name=f"table {seed}", seed=seed) for seed in range(3)],
        "hostile": [hostile],
    }
    for name, results in cases.items():
        write_report(results, folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in NAMES}


@pytest.fixture
def opened(browser, files):
    """Return a function that opens a report by name and clears the log."""

    def opened(name, *, width=1280, height=900, dark=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        wishes = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce",
        }
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get(files[name])
        return browser

    return opened


def requests(browser):
    """Return the addresses requested by the page."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event for event in events if event["method"] == "Network.requestWillBeSent"]
    return [event["params"]["request"]["url"] for event in sent]


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_from_a_file_without_errors_or_requests(opened, files, name):
    browser = opened(name)
    assert browser.find_element("tag name", "h1").text
    assert browser.get_log("browser") == []
    inside = ("data:", "chrome://")  # embedded pictures, and internal pages of the browser
    asked = [each for each in requests(browser) if not each.startswith(inside)]
    assert asked == [files[name]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(opened, name, width):
    browser = opened(name, width=width, height=740)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    script = "const box = board.parentElement; return [box.scrollWidth, box.clientWidth]"
    inside, outside = browser.execute_script(BOARD + script)
    assert outside < width
    assert width > 1000 or inside > outside


def test_text_is_light_on_dark_where_that_is_preferred(opened):
    script = """const look = getComputedStyle(document.body);
    return [look.color, look.backgroundColor].map(
      (c) => c.match(/[0-9]+/g).reduce((sum, part) => sum + Number(part), 0));"""
    text, page = opened("one", dark=True).execute_script(script)
    assert text > 600 > 100 > page
    text, page = opened("one").execute_script(script)
    assert page > 600 > 150 > text


def test_hostile_texts_stay_texts(opened):
    browser = opened("hostile")
    assert browser.find_element("tag name", "h1").text == f"{HOSTILE[0]}: methods compared"
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.get_log("browser") == []


def test_the_policy_stops_what_might_still_get_in(opened):
    browser = opened("one")
    browser.execute_script(
        """const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
        const picture = "<img src=x: onerror='window.ran = true'>";
        document.body.insertAdjacentHTML("beforeend", picture);"""
    )
    assert browser.execute_script("return window.ran ?? null") is None
    refused = [entry["message"] for entry in browser.get_log("browser")]
    assert len(refused) >= 2
    assert all("Content Security Policy" in message for message in refused)
