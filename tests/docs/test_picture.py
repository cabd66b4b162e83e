"""The picture of the benches: which rows it shows, and that to the right is better."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from bench.picture import README_HEADER, beside_kafka, draw, results_of, with_figures

RESULTS = """
## broker

| what | ours | theirs | against | ratio | bar | met |
|---|---:|---:|---|---:|---|---|
| produce | 3e+05 rec/s | 2e+05 rec/s | Apache Kafka 4.3.0 | 1.50 | ≥1 | yes |
| produce | 3e+05 rec/s | 6e+05 rec/s | librdkafka's mock | 0.50 |  |  |
| start (one run) | 1 s | 4 s | Apache Kafka 4.3.0 | 0.25 | ≤1 | yes |

## coordinators

| what | ours | theirs | ratio |
|---|---:|---:|---:|
| rebalance <of 100> | 30 ms | 20 ms | 1.50 |

## records

| what | ours | theirs | against | ratio | bar | met |
|---|---:|---:|---|---:|---|---|
| build | 1 µs | 2 µs | kafka-python 3 | 0.50 |  |  |
"""


def test_what_was_measured_beside_kafka_is_shown_and_times_count_the_other_way_round() -> None:
    shown = beside_kafka(results_of(RESULTS))
    gains = {each.label: each.gain for group in shown.values() for each in group}
    assert gains == {"produce": 1.5, "start": 4.0, "rebalance <of 100>": pytest.approx(2 / 3)}
    assert list(shown) == ["One broker", "Groups and transactions"]


def test_the_picture_is_xml_with_a_bar_on_the_right_side_of_the_line() -> None:
    picture = draw(results_of(RESULTS))
    assert ElementTree.fromstring(picture) is not None
    line = float(re.findall(r'd="M([\d.]+) [^"]*" stroke="#1f2328"', picture)[0])
    better, best, worse = (
        (float(x), float(width))
        for x, width in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="11"', picture)
    )
    assert better[0] == best[0] == line
    assert best[1] > better[1]
    assert worse[0] + worse[1] == pytest.approx(line, abs=0.1)


def test_rows_of_the_readme_get_the_figures_and_must_have_been_measured() -> None:
    table = f"before\n\n{README_HEADER}\n|---|---:|---:|---|---:|\n| start | | | Apache Kafka 4.3.0 | |\n\nafter\n"
    written = with_figures(table, results_of(RESULTS))
    assert "| start | 1 s | 4 s | Apache Kafka 4.3.0 | 0.25 |\n\nafter\n" in written
    assert with_figures(written, results_of(RESULTS)) == written
    with pytest.raises(KeyError, match="'stop'"):
        with_figures(table.replace("start", "stop"), results_of(RESULTS))
