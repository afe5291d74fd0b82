"""Counts and levels, which reach Prometheus when its metrics are read; headers of requests."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, Histogram, generate_latest

from llmcore.bridge.http.asgi import headers_of
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.response_run import RunLabels
from llmcore.bridge.translated_run import report_violation
from tests.support.programs.fresh_interpreter import run_fresh


def shown(metrics: Metrics, name: str) -> dict[str, float]:
    """Return the series of a metric, by their labels."""
    lines = re.findall(rf"^openbridge_{name}(?:{{(.*)}})? (\S+)$", metrics.exposition().decode(), 8)
    return {labels: float(value) for labels, value in lines}


def test_counts_are_shown_once_however_often_they_are_read() -> None:
    metrics = Metrics()
    metrics.retries.labels("openai").inc()
    metrics.retries.labels("openai").inc()
    metrics.retries.labels("groq").inc(0)
    before = shown(metrics, "upstream_retries_total")
    shown(metrics, "requests_total")
    metrics.retries.labels("openai").inc(0.5)

    assert before == {'provider="openai"': 2.0, 'provider="groq"': 0.0}
    assert shown(metrics, "upstream_retries_total")['provider="openai"'] == 2.5


def test_stream_that_broke_its_grammar_is_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    upstream = UpstreamModel("openai", "m")
    info = RunLabels(id="r-1", model="m", provider="openai", upstream=upstream, streamed=True)
    metrics = Metrics()

    report_violation(metrics, "id is missing", info)

    assert shown(metrics, "stream_violations_total") == {"": 1.0}
    assert [record.getMessage() for record in caplog.records] == ["stream_violation"]


def test_a_level_is_the_last_that_was_set() -> None:
    metrics = Metrics()
    for running in (1, 2, 1):
        metrics.running.set(running)

    assert shown(metrics, "running_responses") == {"": 1.0}


def test_gauges_have_labels_and_histograms_of_nothing_have_no_series() -> None:
    metrics = Metrics()
    for name, is_up in (("one", True), ("two", False), ("one", False)):
        metrics.upstream_up.labels(name).set(is_up)

    assert shown(metrics, "upstream_up") == {'upstream="one"': 0.0, 'upstream="two"': 0.0}
    assert shown(metrics, "configuration_valid") == {"": 1.0}
    assert shown(metrics, "request_seconds_count") == {}


def test_counters_without_labels_count_what_several_threads_add() -> None:
    metrics = Metrics()
    before = shown(metrics, "state_errors_total")
    with ThreadPoolExecutor(4) as threads:
        for _ in range(2000):
            threads.submit(metrics.state_errors.inc)

    assert (before, shown(metrics, "state_errors_total")) == ({"": 0.0}, {"": 2000.0})


_START = """
import sys
import llmcore.bridge.http.app
from llmcore.bridge.http.metrics import Metrics

metrics = Metrics()
metrics.running.set(1)
later = {"prometheus_client", "llmcore.inspector.redaction", "aiohttp", "cattrs"}
print(sorted(later & set(sys.modules)))
print(b"running_responses 1.0" in metrics.exposition())
"""


def test_what_a_first_response_does_not_need_is_not_loaded_at_the_start() -> None:
    assert run_fresh(_START).stdout.splitlines() == ["[]", "True"]


def test_metrics_of_a_gateway_are_in_a_registry_of_their_own() -> None:
    Metrics()

    assert b"openbridge" not in generate_latest(REGISTRY)


def test_repeated_headers_are_joined_in_order_and_others_stay_as_they_came() -> None:
    given = [(b"accept", b"a"), (b"x-one", b"\xe4"), (b"accept", b"b, c"), (b"accept", b"d")]
    scope = {"headers": given}

    assert headers_of(scope) == {"accept": "a,b, c,d", "x-one": "\xe4"}
    assert headers_of({"headers": given[:2]}) == {"accept": "a", "x-one": "\xe4"}


def test_a_histogram_counts_as_the_one_of_prometheus_does() -> None:
    """Each value is in the bucket whose bound it does not exceed, bounds included."""
    values = (0.0, 0.049, 0.05, 0.0501, 1.0, 600.0, 600.1)
    metrics, registry = Metrics(), CollectorRegistry()
    bounds = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
    name = "openbridge_first_event_seconds"
    theirs = Histogram(name, "Any.", ("provider",), buckets=bounds, registry=registry)
    for value in values:
        metrics.first_event_seconds.labels("openai").observe(value)
        theirs.labels("openai").observe(value)

    def series(text: bytes) -> set[str]:
        lines = text.decode().splitlines()
        return {line for line in lines if line.startswith(name) and "_created" not in line}

    assert series(metrics.exposition()) == series(generate_latest(registry))
    assert len(series(generate_latest(registry))) == len(bounds) + 3
