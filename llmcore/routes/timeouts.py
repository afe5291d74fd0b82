"""All time limits in one value."""

from attrs import field, frozen, validators

from llmcore.schema.errors import ConfigurationError


def _seconds(_instance: object, attribute: object, value: float | None) -> None:
    if value is not None and not value > 0:
        name = getattr(attribute, "name", "timeout")
        raise ConfigurationError(f"the time limit {name} must be more than 0 seconds, not {value}")


def _limit(default: float | None) -> float | None:
    limit: float | None = field(default=default, validator=validators.optional(_seconds))
    return limit


@frozen(kw_only=True)
class Timeouts:
    """Time limits, in seconds; None disables a limit.

    `first_event` and `idle` count events, not bytes: a server that only sends keep-alives
    has stalled. A limit that runs out is a RequestTimeoutError whose `error_code` is the
    limit's name and whose `partial` is what had arrived.
    """

    connect: float | None = _limit(10.0)
    """Getting a connection, TLS included."""
    first_event: float | None = _limit(600.0)
    """From sending the request to the first event (to the whole answer, if not streamed)."""
    idle: float | None = _limit(300.0)
    """Between two events of a stream."""
    step: float | None = _limit(None)
    """One call of a model."""
    total: float | None = _limit(None)
    """A whole call, over all steps and retries."""
    tool: float | None = _limit(None)
    """One run of a tool."""
