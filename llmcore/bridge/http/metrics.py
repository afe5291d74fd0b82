"""The gateway's metrics, for Prometheus: what is counted, and under which labels."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from llmcore.bridge.http.series import OwnSeries
from llmcore.bridge.spend.row import SpendRow
from llmcore.bridge.state.ledger import NANO
from llmcore.schema.errors import missing_extra
from llmcore.schema.usage import Usage

if TYPE_CHECKING:
    from llmcore.bridge.http.shared_series import SharedSeries

if find_spec("prometheus_client") is None:
    # programs that import a part of the gateway, and its commands, end here without its extra
    raise missing_extra("the gateway", "bridge")

_MAX_SERIES = 1000
"""Pairs of key and model: clients can ask for any name of a model."""
_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which the Prometheus client knows where several processes share metrics."""


def share_metrics(folder: Path) -> None:
    """Keep the metrics that are made from now on in files of *folder*, for several processes."""
    os.environ[_FOLDER] = str(folder)
    from llmcore.bridge.http.shared_series import share

    share()


def forget_process(pid: int) -> None:
    """Remove the gauges of a process that has ended from the exposed metrics; counts are kept."""
    if _FOLDER in os.environ:
        from llmcore.bridge.http.shared_series import forget

        forget(pid)


class Metrics:
    """The metrics of one gateway."""

    def __init__(self) -> None:
        self._new = _shared_series() if _FOLDER in os.environ else OwnSeries()
        self._count_requests()
        self._count_responses()
        self._count_spend()
        self.state_errors = self._new.count("state_errors", "Failures of the stores.")
        self.configuration_valid = self._new.level(
            "configuration_valid", "1; 0 since changed settings were refused.", mode="livemin"
        )
        self.configuration_valid.set(1)
        self.violations = self._new.count(
            "stream_violations", "Events of the gateway that broke the grammar of their API."
        )

    def _count_requests(self) -> None:
        self.requests = self._new.counter(
            "requests", "Requests, by route, method and status.", "route", "method", "status"
        )
        self.request_seconds = self._new.histogram(
            "request_seconds", "Seconds from a request's head to the end of its response.", "route"
        )

    def _count_responses(self) -> None:
        self.running = self._new.level("running_responses", "Under way.")
        self.background_responses = self._new.level("background_responses", "Under way or waiting.")
        self.responses = self._new.counter(
            "responses",
            "Responses of models, by provider and how they ended.",
            "provider",
            "outcome",
        )
        self.first_event_seconds = self._new.histogram(
            "first_event_seconds", "Seconds from asking to the first event.", "provider"
        )
        self.retries = self._new.counter(
            "upstream_retries", "More requests for a response that had not begun.", "provider"
        )
        self.fallbacks = self._new.counter(
            "upstream_fallbacks", "Responses that were tried at another target.", "failed", "next"
        )
        self.upstream_failures = self._new.counter(
            "upstream_failures", "Failures that cool an upstream down.", "provider", "reason"
        )
        self.upstream_up = self._new.gauge(
            "upstream_up",
            "1; 0 while it, or a model of it, cools down.",
            "upstream",
            mode="livemin",
        )
        self.tokens = self._new.counter(
            "tokens", "Tokens, as upstreams counted them.", "provider", "kind"
        )
        self.dropped = self._new.counter(
            "dropped_parameters", "Left out because the upstream rejected them.", "parameter"
        )

    def _count_spend(self) -> None:
        labels = ("key", "model")
        self.key_responses = self._new.counter(
            "key_responses", "Responses of models, by key.", *labels, "outcome"
        )
        self.key_tokens = self._new.counter("key_tokens", "Tokens of responses.", *labels, "kind")
        self.key_cost = self._new.counter(
            "key_cost_usd", "Cost of responses, where known.", *labels
        )
        self.spend_dropped = self._new.count(
            "spend_dropped", "Rows of spend that were lost because the store did not answer."
        )
        self.spend_waiting = self._new.level(
            "spend_waiting", "Rows of spend that are to be written."
        )
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

    def count_tokens(self, provider: str, usage: Usage | None) -> None:
        """Add the tokens of a response."""
        if usage is not None:
            self.tokens.labels(provider, "input").inc(usage.input_tokens or 0)
            self.tokens.labels(provider, "output").inc(usage.output_tokens or 0)

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format, of all processes that share it."""
        return self._new.exposition()


def content_type() -> str:
    """Return the content type of `exposition`, which the Prometheus client determines."""
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    return CONTENT_TYPE_LATEST


def _shared_series() -> "SharedSeries":
    from llmcore.bridge.http.shared_series import SharedSeries

    return SharedSeries()
