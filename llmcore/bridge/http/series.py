"""The series of metrics of a gateway that is one process, in values of its own.

Each response changes some twenty series, and those of the Prometheus client take a lock and five
calls for each change. Here `exposition` hands them to the client, which is loaded when metrics are
first read. `shared_series` has the same for several processes.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import Metric

PREFIX: Final = "openbridge_"
"""How the names of all metrics begin."""
SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""The bounds of the buckets of histograms."""
_BOUNDS: Final = (*(f"{float(seconds)}" for seconds in SECONDS), "+Inf")
"""The largest value of each bucket, as Prometheus writes it."""

Mode: TypeAlias = Literal["livesum", "livemin"]
"""Whether a gauge of several processes shows the sum of their values, or the least of them."""
_Kind: TypeAlias = Literal["Counter", "Gauge", "Histogram"]
_S = TypeVar("_S", bound="_Series")
_S_co = TypeVar("_S_co", covariant=True)

# -- what is counted


class Adds(Protocol):
    """A series of a counter."""

    def inc(self, amount: float = 1, /) -> None:
        """Add *amount*."""
        ...


class Sets(Protocol):
    """A series of a gauge."""

    def set(self, value: float, /) -> None:
        """Set the value."""
        ...


class Observes(Protocol):
    """A series of a histogram of seconds."""

    def observe(self, amount: float, /) -> None:
        """Count a value."""
        ...


class Labelled(Protocol[_S_co]):
    """The series of a metric."""

    @property
    def labels(self) -> Callable[..., _S_co]:
        """Returns the series of some values, in the order of the labels."""
        ...


# -- in values of this process


class _Series(Protocol):
    def shown(self) -> Mapping[str, Any]:
        """Return the arguments by which the Prometheus client takes the value."""
        ...


class _Count:
    def __init__(self) -> None:
        self._value = 0.0

    def inc(self, amount: float = 1, /) -> None:
        self._value += amount

    def shown(self) -> Mapping[str, Any]:
        return {"value": self._value}


class _LockedCount(_Count):
    """A counter that several threads add to."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()

    def inc(self, amount: float = 1, /) -> None:
        with self._lock:
            self._value += amount


class _Level:
    def __init__(self) -> None:
        self._value = 0.0

    def set(self, value: float, /) -> None:
        self._value = value

    def shown(self) -> Mapping[str, Any]:
        return {"value": self._value}


class _Observed:
    def __init__(self) -> None:
        self._counts = [0] * len(_BOUNDS)
        self._sum = 0.0

    def observe(self, amount: float, /) -> None:
        self._counts[bisect_left(SECONDS, amount)] += 1
        self._sum += amount

    def shown(self) -> Mapping[str, Any]:
        buckets = list(zip(_BOUNDS, accumulate(self._counts), strict=True))
        return {"buckets": buckets, "sum_value": self._sum}


class _Metric(Generic[_S]):
    """A metric with its series, by the values of their labels."""

    def __init__(
        self,
        kind: _Kind,
        name: str,
        description: str,
        labels: tuple[str, ...],
        new: Callable[[], _S],
    ) -> None:
        series: dict[tuple[str, ...], _S] = {}
        self._kind = kind
        self._about = name, description
        self._label_names = labels
        self._series = series
        self.labels = cache(lambda *values: series.setdefault(values, new()))
        """Returns the series of some values, in the order of the labels."""

    def family(self) -> Any:
        """Return it as a value of the Prometheus client."""
        from prometheus_client import core

        kind = getattr(core, f"{self._kind}MetricFamily")
        family: Any = kind(*self._about, labels=self._label_names)
        for values, one in tuple(self._series.items()):
            family.add_metric(values, **one.shown())
        return family


class OwnSeries:
    """All series of one gateway."""

    def __init__(self) -> None:
        self._metrics: list[_Metric[Any]] = []

    def counter(self, name: str, description: str, *labels: str) -> Labelled[Adds]:
        """Return a counter with labels, for one thread."""
        return self._added(_Metric("Counter", PREFIX + name, description, labels, _Count))

    def count(self, name: str, description: str) -> Adds:
        """Return a counter without labels, which several threads may add to."""
        metric = _Metric("Counter", PREFIX + name, description, (), _LockedCount)
        return self._added(metric).labels()

    def gauge(self, name: str, description: str, *labels: str, mode: Mode) -> Labelled[Sets]:
        """Return a gauge with labels; a single process needs no *mode*."""
        return self._added(_Metric("Gauge", PREFIX + name, description, labels, _Level))

    def level(self, name: str, description: str, *, mode: Mode = "livesum") -> Sets:
        """Return a gauge without labels."""
        return self.gauge(name, description, mode=mode).labels()

    def histogram(self, name: str, description: str, label: str) -> Labelled[Observes]:
        """Return a histogram of seconds."""
        metric = _Metric("Histogram", PREFIX + name, description, (label,), _Observed)
        return self._added(metric)

    def _added(self, metric: _Metric[_S]) -> _Metric[_S]:
        self._metrics.append(metric)
        return metric

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> "Iterator[Metric]":
        """Yield the metrics as values of the Prometheus client, whose registry calls this."""
        for metric in self._metrics:
            yield metric.family()
