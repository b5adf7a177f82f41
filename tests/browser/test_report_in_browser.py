"""The report in Chromium: opened from a file, sorted, on a phone, in the dark, printed."""

from __future__ import annotations

import json

import pytest

from pliant.comparison.page import write_report
from tests.comparison.report.report_cases import HOSTILE, result

RANK, METHOD, SCORE = 0, 1, 2
BOARD = 'const board = document.querySelector("table.leaderboard");'
NAMES = ("one", "regression", "several", "hostile")
SHOWN = 9
"""Rows of the leaderboard: the blend, and eight methods with a rank."""


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
    """Return what opens a report of this name, and forgets what the one before has logged."""

    def opened(name, *, width=1280, height=900, dark=False, script=True):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        wishes = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce",
        }
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get(files[name])
        return browser

    return opened


def requests(browser):
    """Return the addresses that the page asked for."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event for event in events if event["method"] == "Network.requestWillBeSent"]
    return [event["params"]["request"]["url"] for event in sent]


def column(browser, number):
    """Return what a column of the leaderboard is sorted by, from top to bottom."""
    script = "return [...board.tBodies[0].rows].map((r) => r.cells[%d].dataset.value ?? null)"
    return browser.execute_script(BOARD + script % number)


def order(browser, number):
    script = "return board.tHead.rows[0].cells[%d].getAttribute('aria-sort')"
    return browser.execute_script(BOARD + script % number)


def buttons(browser):
    return browser.find_elements("css selector", "table.leaderboard thead button")


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_from_a_file_without_errors_or_requests(opened, files, name):
    browser = opened(name)
    assert browser.find_element("tag name", "h1").text
    assert browser.get_log("browser") == []
    inside = ("data:", "chrome://")  # pictures within a page, and the browser's own windows
    asked = [each for each in requests(browser) if not each.startswith(inside)]
    assert asked == [files[name]]


def test_a_click_sorts_and_another_one_turns_the_order(opened):
    browser = opened("one")
    score = buttons(browser)[SCORE]
    score.click()
    first = [float(value) for value in column(browser, SCORE)]
    assert len(first) == SHOWN
    assert order(browser, SCORE) == "descending"
    assert first == sorted(first, reverse=True)
    score.click()
    assert order(browser, SCORE) == "ascending"
    assert [float(value) for value in column(browser, SCORE)] == first[::-1]
    assert order(browser, RANK) is None
    assert "Accuracy, ascending" in browser.execute_script(
        "return document.querySelector('[role=status]').textContent"
    )


def test_keys_sort_by_words(opened):
    browser = opened("one")
    buttons(browser)[METHOD].send_keys("\ue007")  # Enter
    names = column(browser, METHOD)
    assert names == sorted(names, key=str.casefold)
    buttons(browser)[METHOD].send_keys(" ")
    assert column(browser, METHOD) == names[::-1]
    assert order(browser, METHOD) == "descending"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(opened, name, width):
    browser = opened(name, width=width, height=740)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    script = "const box = board.parentElement; return [box.scrollWidth, box.clientWidth]"
    inside, outside = browser.execute_script(BOARD + script)
    assert outside < width
    assert width > 1000 or inside > outside


def test_without_its_script_everything_is_there(opened):
    source = opened("one", script=False).page_source
    assert "<button" not in source
    assert all(each.method.title in source for each in result().standings())


def test_text_is_light_on_dark_where_that_is_preferred(opened):
    script = """const look = getComputedStyle(document.body);
    return [look.color, look.backgroundColor].map(
      (c) => c.match(/[0-9]+/g).reduce((sum, part) => sum + Number(part), 0));"""
    text, page = opened("one", dark=True).execute_script(script)
    assert text > 600 > 100 > page
    text, page = opened("one").execute_script(script)
    assert page > 600 > 150 > text


def test_the_command_can_be_copied_and_the_scores_saved(opened, tmp_path):
    from selenium.webdriver.support.wait import WebDriverWait

    browser = opened("one")
    actions = browser.find_elements("css selector", "button.action")
    assert [each.text for each in actions] == [
        "Copy the command",
        "Save the scores of all folds (JSON)",
    ]
    actions[0].click()
    assert browser.execute_script("return getSelection().toString()") == result().command
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    actions[1].click()
    saved = tmp_path / "scores.json"
    WebDriverWait(browser, 20).until(lambda _: saved.exists() and saved.stat().st_size)
    assert len(json.loads(saved.read_text())["scores"]) == len(result().records)
    assert browser.get_log("browser") == []


def test_hostile_texts_stay_texts(opened):
    browser = opened("hostile")
    assert browser.find_element("tag name", "h1").text == f"{HOSTILE[0]}: methods compared"
    assert browser.execute_script("return document.scripts.length") == 2
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
