"""The gateway's metrics, for Prometheus."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
    values,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from llmcore.bridge.spend.row import SpendRow
from llmcore.bridge.state.ledger import NANO
from llmcore.schema.usage import Usage

CONTENT_TYPE = CONTENT_TYPE_LATEST

_Metric = TypeVar("_Metric", Counter, Histogram)

_PREFIX = "openbridge_"
_MAX_SERIES = 1000
"""Pairs of key and model: clients can ask for any name of a model."""
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def share_metrics(folder: Path) -> None:
    """Keep the metrics that are made from now on in files of *folder*, for several processes."""
    os.environ[_FOLDER] = str(folder)
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


def forget_process(pid: int) -> None:
    """Remove the gauges of a process that has ended from the exposed metrics; counts are kept."""
    if _FOLDER in os.environ:
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _quickly_labelled(metric: _Metric) -> _Metric:
    """Return *metric*, whose series are found in a cache: its own search locks and copies."""
    metric.labels = lru_cache(maxsize=_MAX_SERIES)(metric.labels)  # type: ignore[method-assign]
    return metric


class Metrics:
    """The counters of one gateway, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._count_requests()
        self._count_responses()
        self._count_spend()
        self.state_errors = self._counter("state_errors", "Failures of the stores.")
        self.configuration_valid = self._gauge(
            "configuration_valid", "1; 0 since changed settings were refused.", mode="livemin"
        )
        self.configuration_valid.set(1)
        self.violations = self._counter(
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
        self.running = self._gauge("running_responses", "Under way.")
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
        self.spend_dropped = self._counter(
            "spend_dropped", "Rows of spend that were lost because the store did not answer."
        )
        self.spend_waiting = self._gauge("spend_waiting", "Rows of spend that are to be written.")
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

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return _quickly_labelled(
            Counter(_PREFIX + name, description, labels, registry=self.registry)
        )

    def _gauge(
        self,
        name: str,
        description: str,
        *labels: str,
        mode: Literal["livesum", "livemin"] = "livesum",
    ) -> Gauge:
        name = _PREFIX + name
        return Gauge(name, description, labels, registry=self.registry, multiprocess_mode=mode)

    def _histogram(self, name: str, description: str, *labels: str) -> Histogram:
        return _quickly_labelled(
            Histogram(_PREFIX + name, description, labels, buckets=_SECONDS, registry=self.registry)
        )

    def count_tokens(self, provider: str, usage: Usage | None) -> None:
        """Add the tokens of a response."""
        if usage is not None:
            self.tokens.labels(provider, "input").inc(usage.input_tokens or 0)
            self.tokens.labels(provider, "output").inc(usage.output_tokens or 0)

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format, of all processes that share it."""
        if _FOLDER not in os.environ:
            return generate_latest(self.registry)
        shared = CollectorRegistry()
        multiprocess.MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)
