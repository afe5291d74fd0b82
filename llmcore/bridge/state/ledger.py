"""The interface of the store of accounts: issued keys, levels of use, reservations, spend.

All workers of a gateway share one ledger, on however many machines they run. Use is an integer:
requests, tokens, or nano-dollars (a billionth of a US dollar), so that sums are exact.

    reserve("ans_1", "w1", [Increment(Meter("budget:usd:k1:2026-11", ...), 8_000_000)])
    settle([Settlement("ans_1", uses=[Increment(the same meter, 1_250_000)], row=b"...", at=...)])

A reservation holds its amount until it is settled, or until the lease of its worker has ended:
then the amount is given back. A settlement replaces what the reservation still holds by what was
used and writes the row of the response, both or neither; the second settlement of an id does
nothing, so that it can be sent again after a failure.

The calls block, are safe for any number of threads, and raise StateUnavailableError.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from llmcore.schema.frozen import frozen

NANO: Final = 1_000_000_000
"""Nano-dollars of a US dollar."""


@frozen(kw_only=True)
class Meter:
    """A level of use with a limit."""

    name: str
    limit: int
    drains_per_s: float = 0.0
    """How fast the level falls: a rate per minute drains within a minute, a budget never."""
    keep_s: float
    """Seconds after which a level that nothing changes is forgotten."""


class Increment(msgspec.Struct, frozen=True):
    """An amount that is added to the level of a meter."""

    meter: Meter
    amount: int


@frozen(kw_only=True)
class ExceededMeter:
    """The meter that a reservation does not fit in."""

    meter: Meter
    level: float
    """Used and reserved, before the reservation."""
    amount: int

    @property
    def wait_s(self) -> float | None:
        """Seconds after which it fits; None where it never will."""
        drains = self.meter.drains_per_s
        if not drains or self.amount > self.meter.limit:
            return None
        return max(0.0, (self.level + self.amount - self.meter.limit) / drains)


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """The use of a response that has ended."""

    id: str
    """The id of its reservation, if it had one."""
    worker: str
    at: float
    """When it ended, in seconds since 1970."""
    uses: tuple[Increment, ...]
    row: bytes
    """The response's row of spend, as JSON."""


class StoredRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of spend as it is stored."""

    id: str
    at: float
    data: bytes


class Ledger(Protocol):
    """Keeps the accounts of a gateway."""

    def check(self) -> None:
        """Raise StateUnavailableError if the store cannot be reached."""
        ...

    def key(self, name: str) -> bytes | None:
        """Return an issued key; None if there is none."""
        ...

    def keys(self) -> Mapping[str, bytes]:
        """Return all issued keys by their names."""
        ...

    def swap_key(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Write an issued key if it is *old*, None for a missing one; return whether it was."""
        ...

    def reserve(
        self, reservation: str, worker: str, increments: Sequence[Increment]
    ) -> ExceededMeter | None:
        """Add every amount to its level, or none of them; return the one that does not fit.

        Reserving again under the same id raises what it holds to the amounts, and never lowers it.
        The amounts of a reservation without an id stay: they are not settled.
        """
        ...

    def settle(self, settlements: Sequence[Settlement]) -> None:
        """Write the rows of responses, with the use of each in place of its reservation."""
        ...

    def release(self, reservation: str, worker: str, meters: Sequence[Meter]) -> None:
        """Give back what *reservation* still holds of *meters*; nothing the second time."""
        ...

    def renew(self, worker: str, lease_s: float) -> None:
        """Extend the lease of *worker*; give back the reservations of those whose lease ended."""
        ...

    def levels(self, meters: Sequence[Meter]) -> Sequence[float]:
        """Return the level of each meter, used and reserved, as of now."""
        ...

    def rows(self, since: float, until: float, after: tuple[float, str]) -> Sequence[StoredRow]:
        """Return a page of rows from *since* on and before *until*, by time and id.

        It begins behind the row *after*, given by its time and id; it is empty after the last.
        """
        ...

    def forget(self, before: float) -> int:
        """Delete rows that are older than *before*, some at a time; return how many."""
        ...

    def close(self) -> None:
        """Close all connections and files. Idempotent."""
        ...
