"""The gateway's metrics, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from llmcore.schema.usage import Usage

CONTENT_TYPE = CONTENT_TYPE_LATEST

_PREFIX = "openbridge_"
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The counters of one gateway, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._count_requests()
        self._count_answers()
        self.state_errors = self._counter("state_errors", "Failures of the response store.")
        self.violations = self._counter(
            "stream_violations", "Events of ours that broke the grammar of their API."
        )

    def _count_requests(self) -> None:
        self.requests = self._counter(
            "requests", "Requests, by route, method and status.", "route", "method", "status"
        )
        self.request_seconds = self._histogram(
            "request_seconds", "Seconds from a request's head to the end of its answer.", "route"
        )

    def _count_answers(self) -> None:
        self.running = Gauge(f"{_PREFIX}running_answers", "Under way.", registry=self.registry)
        self.background_answers = Gauge(
            f"{_PREFIX}background_answers", "Under way or waiting.", registry=self.registry
        )
        self.answers = self._counter(
            "answers", "Answers of models, by provider and how they ended.", "provider", "outcome"
        )
        self.first_event_seconds = self._histogram(
            "first_event_seconds", "Seconds from asking to the first event.", "provider"
        )
        self.retries = self._counter(
            "upstream_retries", "More requests for an answer that had not begun.", "provider"
        )
        self.tokens = self._counter(
            "tokens", "Tokens, as upstreams counted them.", "provider", "kind"
        )
        self.dropped = self._counter(
            "dropped_parameters", "Left out because the upstream rejected them.", "parameter"
        )

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(_PREFIX + name, says, labels, registry=self.registry)

    def _histogram(self, name: str, says: str, *labels: str) -> Histogram:
        return Histogram(_PREFIX + name, says, labels, buckets=_SECONDS, registry=self.registry)

    def count_tokens(self, provider: str, usage: Usage | None) -> None:
        """Add the tokens of an answer."""
        if usage is not None:
            self.tokens.labels(provider, "input").inc(usage.input_tokens or 0)
            self.tokens.labels(provider, "output").inc(usage.output_tokens or 0)

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)
