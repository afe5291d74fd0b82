"""The series of metrics that the processes of one gateway share.

They are those of the Prometheus client, in files, to which each change is written at once.
"""

from functools import lru_cache
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
    values,
)

from llmcore.bridge.http.series import PREFIX, SECONDS, Adds, Labelled, Mode, Observes, Sets

_MAX_SERIES: Final = 1000
"""Series of a histogram that are found by one look-up."""


def share() -> None:
    """Keep the series that are made from now on in files of the folder that a variable names."""
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


def forget(pid: int) -> None:
    """Remove the gauges of a process that has ended; its counts are kept."""
    multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


class SharedSeries:
    """All series of one gateway, as `OwnSeries`."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=True)

    def counter(self, name: str, description: str, *labels: str) -> Labelled[Adds]:
        """Return a counter with labels."""
        counter = Counter(PREFIX + name, description, labels, registry=self._registry)
        counter.labels = lru_cache(maxsize=None)(counter.labels)  # type: ignore[method-assign]
        return counter

    def count(self, name: str, description: str) -> Adds:
        """Return a counter without labels."""
        return Counter(PREFIX + name, description, registry=self._registry)

    def gauge(self, name: str, description: str, *labels: str, mode: Mode) -> Labelled[Sets]:
        """Return a gauge with labels."""
        return Gauge(
            PREFIX + name,
            description,
            labels,
            registry=self._registry,
            multiprocess_mode=mode,
        )

    def level(self, name: str, description: str, *, mode: Mode = "livesum") -> Sets:
        """Return a gauge without labels."""
        return Gauge(PREFIX + name, description, registry=self._registry, multiprocess_mode=mode)

    def histogram(self, name: str, description: str, label: str) -> Labelled[Observes]:
        """Return a histogram of seconds."""
        histogram = Histogram(
            PREFIX + name, description, (label,), buckets=SECONDS, registry=self._registry
        )
        # The client's own search for a series locks and copies.
        histogram.labels = lru_cache(maxsize=_MAX_SERIES)(histogram.labels)  # type: ignore[method-assign]
        return histogram

    def exposition(self) -> bytes:
        """Return everything of all processes in Prometheus' text format."""
        shared = CollectorRegistry()
        multiprocess.MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)
