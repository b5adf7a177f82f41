"""A synthetic messy table: semicolons, decimal commas, dates, missing values, ids and codes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state

from pliant.core.files import replacing
from pliant.core.parameters import check_integer

STATIONS = ("Harbour", "Market", "Museum", "Old Town", "Park", "River", "Station", "University")
WEATHER = {"clear": 1.0, "cloudy": 0.85, "rain": 0.35, "snow": 0.15}
"""Types of weather with their revenue, relative to a clear day."""

COLUMNS = "rental_id;date;station;area_code;weather;temperature;humidity;wind;currency;revenue"


def write_rentals(
    path: str | os.PathLike[str],
    n_rows: int = 600,
    random_state: int | np.random.RandomState | None = None,
) -> Path:
    """Write a CSV file of daily bicycle rental revenue, as messy as real data.

    Fields are separated by semicolons. Numbers have decimal commas and thousands separated by dots,
    and dates have the form day.month.year. One column is an id, one is constant and one holds
    numeric codes. About 5 % of the temperature and weather values are missing. Revenue is highest
    in dry, mild weather and at weekends, and differs between stations; its noise has a standard
    deviation of 8 %.

    Parameters
    ----------
    path : str or Path
        The output file; an existing file is replaced.
    n_rows : int, default=600
        Number of rows, >= 1.
    random_state : int, RandomState or None
        Random seed.

    Returns
    -------
    path : Path
        The output file.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> from pliant.datasets import write_rentals
    >>> lines = write_rentals("rentals.csv", random_state=0).read_text("utf-8").splitlines()
    >>> len(lines), lines[0]
    (601, 'rental_id;date;station;area_code;weather;temperature;humidity;wind;currency;revenue')
    """
    check_integer("n_rows", n_rows, least=1)
    lines = [COLUMNS, *_rows(n_rows, check_random_state(random_state))]
    with replacing(path) as draft:
        draft.write_text("\n".join(lines) + "\n", "utf-8")
    return Path(path)


def _rows(n_rows: int, random: np.random.RandomState) -> list[str]:
    """Generate the lines of the table, without the header."""
    days = np.sort(random.randint(0, 3 * 365, n_rows))
    dates = np.datetime64("2023-01-01") + days
    stations = random.randint(len(STATIONS), size=n_rows)
    season = np.cos(2 * np.pi * (days - 200) / 365.25)  # peaks in mid-July
    temperature = 11 + 10 * season + 4 * random.standard_normal(n_rows)
    humidity = np.clip(72 - 8 * season + 13 * random.standard_normal(n_rows), 25, 100)
    wind = 4 * random.gamma(4.0, 1.0, n_rows)
    weather = random.choice(3, n_rows, p=[0.45, 0.35, 0.2])
    weather[(weather == 2) & (temperature < 1)] = 3  # below 1 degree, rain becomes snow
    weekend = (days + 6) % 7 >= 5  # day 0, 1 January 2023, is a Sunday
    mild = 0.1 + np.exp(-(((temperature - 23) / 9) ** 2))
    dry = 1 - 0.6 / (1 + np.exp((82 - humidity) / 4))
    calm = 1 / (1 + (wind / 35) ** 4)
    size = 500 + 250 * (stations % 4)
    revenue = (
        size * mild * dry * calm * np.array(list(WEATHER.values()))[weather] * (1 + 0.5 * weekend)
    )
    revenue *= np.exp(0.08 * random.standard_normal(n_rows))
    no_weather, no_temperature = random.uniform(size=(2, n_rows)) < 0.05
    columns = (
        [f"R{number:05d}" for number in 10_000 + random.permutation(n_rows)],
        [f"{date[8:]}.{date[5:7]}.{date[:4]}" for date in dates.astype(str)],
        [STATIONS[station] for station in stations],
        [str(20_095 + 2 * station) for station in stations],
        ["" if gap else list(WEATHER)[kind] for kind, gap in zip(weather, no_weather, strict=True)],
        ["" if gap else _comma(t, 1) for t, gap in zip(temperature, no_temperature, strict=True)],
        [str(round(value)) for value in humidity],
        [_comma(value, 1) for value in wind],
        ["EUR"] * n_rows,
        [_comma(value, 2) for value in revenue],
    )
    return [";".join(fields) for fields in zip(*columns, strict=True)]


def _comma(value: float, digits: int) -> str:
    """Format a number with a decimal comma and thousands separated by dots."""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))
