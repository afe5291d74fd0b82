"""The gateway's metrics, for Prometheus.

Of a single process, all series keep what each response changes in values of their own, since those
of the Prometheus client take a lock and five calls; `exposition` hands them on. Several processes
share the client's files, which each change is written to at once.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Final, Literal, Protocol

from llmcore.bridge.spend.row import SpendRow
from llmcore.bridge.state.ledger import NANO
from llmcore.schema.errors import missing_extra
from llmcore.schema.usage import Usage

try:  # programs that import a part of the gateway, and its commands, end here without its extra
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        generate_latest,
        multiprocess,
        values,
    )
    from prometheus_client.core import HistogramMetricFamily
    from prometheus_client.exposition import CONTENT_TYPE_LATEST
    from prometheus_client.registry import Collector
except ImportError as error:
    raise missing_extra("the gateway", "bridge", error) from error

CONTENT_TYPE = CONTENT_TYPE_LATEST

_PREFIX = "openbridge_"
_MAX_SERIES = 1000
"""Pairs of key and model: clients can ask for any name of a model."""
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_BOUNDS: Final = (*(f"{float(seconds)}" for seconds in _SECONDS), "+Inf")
"""The largest value of each bucket, as Prometheus writes it."""


_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def share_metrics(folder: Path) -> None:
    """Keep the metrics that are made from now on in files of *folder*, for several processes."""
    os.environ[_FOLDER] = str(folder)
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


def _is_shared() -> bool:
    return _FOLDER in os.environ


def forget_process(pid: int) -> None:
    """Remove the gauges of a process that has ended from the exposed metrics; counts are kept."""
    if _is_shared():
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


class _Series(Protocol):
    def publish(self) -> None: ...


class _Adds(Protocol):
    def inc(self, amount: float = 1) -> None: ...


class _Count:
    """A series of a counter."""

    def __init__(self, series: Counter) -> None:
        self._series = series
        self._added = 0.0

    def inc(self, amount: float = 1) -> None:
        """Add *amount*."""
        self._added += amount

    def publish(self) -> None:
        """Add to Prometheus' counter what was added since the last time."""
        added, self._added = self._added, 0.0
        if added:
            self._series.inc(added)


class _Level:
    """A gauge without labels."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self.value = 0

    def set(self, value: int) -> None:
        """Set the value."""
        self.value = value

    def publish(self) -> None:
        """Set Prometheus' gauge to the value."""
        self._gauge.set(self.value)


class _LabelledCounter:
    """The series of a counter, by their labels."""

    def __init__(self, counter: Counter, published: list[_Series]) -> None:
        def labels(*values: str) -> _Adds:
            if _is_shared():
                return counter.labels(*values)
            series = _Count(counter.labels(*values))
            published.append(series)
            return series

        self.labels = cache(labels)
        """Returns the series of some values, in the order of the labels."""


class _Observes(Protocol):
    def observe(self, amount: float) -> None: ...


class _LabelledHistogram(Protocol):
    @property
    def labels(self) -> Callable[[str], _Observes]: ...


class _Observed:
    """A series of a histogram of seconds."""

    def __init__(self) -> None:
        self._counts = [0] * len(_BOUNDS)
        self._sum = 0.0

    def observe(self, amount: float) -> None:
        """Count a value."""
        self._counts[bisect_left(_SECONDS, amount)] += 1
        self._sum += amount

    def add_to(self, family: HistogramMetricFamily, label: str) -> None:
        """Add the series, whose label has the value *label*, to a family of metrics."""
        buckets = list(zip(_BOUNDS, accumulate(self._counts), strict=True))
        family.add_metric([label], buckets=buckets, sum_value=self._sum)


class _HistogramOfOneProcess(Collector):
    """The series of a histogram of seconds, by their label."""

    def __init__(self, name: str, description: str, label: str) -> None:
        self._about = name, description, label
        self._series: dict[str, _Observed] = {}

    def labels(self, value: str) -> _Observed:
        """Return the series whose label is *value*."""
        return self._series.get(value) or self._series.setdefault(value, _Observed())

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Yield all series, for Prometheus' registry."""
        name, description, label = self._about
        family = HistogramMetricFamily(name, description, labels=[label])
        for value, series in tuple(self._series.items()):
            series.add_to(family, value)
        yield family


class Metrics:
    """The counters of one gateway, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._published: list[_Series] = []
        self._count_requests()
        self._count_responses()
        self._count_spend()
        self.state_errors = self._plain_counter("state_errors", "Failures of the stores.")
        self.configuration_valid = self._gauge(
            "configuration_valid", "1; 0 since changed settings were refused.", mode="livemin"
        )
        self.configuration_valid.set(1)
        self.violations = self._plain_counter(
            "stream_violations", "Events of ours that broke the grammar of their API."
        )

    def _count_requests(self) -> None:
        self.requests = self._counter(
            "requests", "Requests, by route, method and status.", "route", "method", "status"
        )
        self.request_seconds = self._histogram(
            "request_seconds", "Seconds from a request's head to the end of its response.", "route"
        )

    def _count_responses(self) -> None:
        self.running = self._level("running_responses", "Under way.")
        self.background_responses = self._gauge("background_responses", "Under way or waiting.")
        self.responses = self._counter(
            "responses",
            "Responses of models, by provider and how they ended.",
            "provider",
            "outcome",
        )
        self.first_event_seconds = self._histogram(
            "first_event_seconds", "Seconds from asking to the first event.", "provider"
        )
        self.retries = self._counter(
            "upstream_retries", "More requests for a response that had not begun.", "provider"
        )
        self.fallbacks = self._counter(
            "upstream_fallbacks", "Responses that went on to another target.", "failed", "next"
        )
        self.upstream_failures = self._counter(
            "upstream_failures", "Failures that cool an upstream down.", "provider", "reason"
        )
        self.upstream_up = self._gauge(
            "upstream_up",
            "1; 0 while it, or a model of it, cools down.",
            "upstream",
            mode="livemin",
        )
        self.tokens = self._counter(
            "tokens", "Tokens, as upstreams counted them.", "provider", "kind"
        )
        self.dropped = self._counter(
            "dropped_parameters", "Left out because the upstream rejected them.", "parameter"
        )

    def _count_spend(self) -> None:
        labels = ("key", "model")
        self.key_responses = self._counter(
            "key_responses", "Responses of models, by key.", *labels, "outcome"
        )
        self.key_tokens = self._counter("key_tokens", "Tokens of responses.", *labels, "kind")
        self.key_cost = self._counter("key_cost_usd", "Cost of responses, where known.", *labels)
        self.spend_dropped = self._plain_counter(
            "spend_dropped", "Rows of spend that were lost because the store did not answer."
        )
        self.spend_waiting = self._level("spend_waiting", "Rows of spend that are to be written.")
        self._keys_seen: set[tuple[str, str]] = set()

    def count_spend(self, row: SpendRow) -> None:
        """Add a response to the series of its key and model; of too many, to those of `other`."""
        labels = (row.key, row.target)
        if len(self._keys_seen) < _MAX_SERIES:
            self._keys_seen.add(labels)
        elif labels not in self._keys_seen:
            labels = ("other", "other")
        self.key_responses.labels(*labels, row.outcome).inc()
        self.key_tokens.labels(*labels, "input").inc(row.input_tokens)
        self.key_tokens.labels(*labels, "output").inc(row.output_tokens)
        self.key_cost.labels(*labels).inc((row.cost_nano or 0) / NANO)

    def _counter(self, name: str, description: str, *labels: str) -> _LabelledCounter:
        counter = Counter(_PREFIX + name, description, labels, registry=self.registry)
        return _LabelledCounter(counter, self._published)

    def _plain_counter(self, name: str, description: str) -> Counter:
        """Return a counter without labels, which several threads may add to."""
        return Counter(_PREFIX + name, description, registry=self.registry)

    def _level(self, name: str, description: str) -> _Level | Gauge:
        gauge = self._gauge(name, description)
        if _is_shared():
            return gauge
        level = _Level(gauge)
        self._published.append(level)
        return level

    def _gauge(
        self,
        name: str,
        description: str,
        *labels: str,
        mode: Literal["livesum", "livemin"] = "livesum",
    ) -> Gauge:
        name = _PREFIX + name
        return Gauge(name, description, labels, registry=self.registry, multiprocess_mode=mode)

    def _histogram(self, name: str, description: str, label: str) -> _LabelledHistogram:
        name = _PREFIX + name
        if not _is_shared():
            own = _HistogramOfOneProcess(name, description, label)
            self.registry.register(own)
            return own
        histogram = Histogram(name, description, (label,), buckets=_SECONDS, registry=self.registry)
        # The client's own search for a series locks and copies.
        histogram.labels = lru_cache(maxsize=_MAX_SERIES)(histogram.labels)  # type: ignore[method-assign]
        return histogram

    def count_tokens(self, provider: str, usage: Usage | None) -> None:
        """Add the tokens of a response."""
        if usage is not None:
            self.tokens.labels(provider, "input").inc(usage.input_tokens or 0)
            self.tokens.labels(provider, "output").inc(usage.output_tokens or 0)

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format, of all processes that share it."""
        if not _is_shared():
            for series in self._published:
                series.publish()
            return generate_latest(self.registry)
        shared = CollectorRegistry()
        multiprocess.MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)
