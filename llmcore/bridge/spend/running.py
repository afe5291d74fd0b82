"""Notes of what running responses have used, so that they are charged if their process is killed.

The journal has them as of a second ago. A response that ends is charged by its own settlement, and
its note is withdrawn before.
"""

import logging
import time
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakSet

import anyio
from anyio.lowlevel import checkpoint

from llmcore.bridge.http.logs import LOGGER, FailureLog
from llmcore.bridge.spend.journal import SpendJournal
from llmcore.bridge.state.ledger import Settlement

_NOTED_S: Final = 1.0
"""The time between two notes."""
_SHARE: Final = 50
"""How many times as long as the making of a note took the pause after it is at least."""


class _Named(Protocol):
    @property
    def id(self) -> str: ...


_Charge = TypeVar("_Charge", bound=_Named)


class RunningResponses(Generic[_Charge]):
    """The responses of one process that are not settled yet. Not for several threads."""

    def __init__(
        self, journal: SpendJournal | None, settlement: Callable[[_Charge], Settlement | None]
    ) -> None:
        """Note in *journal* what *settlement* returns for a response: its use so far, if any."""
        self._journal = journal
        self._settlement = settlement
        self._open: WeakSet[_Charge] = WeakSet()
        self._failures = FailureLog(OSError, logging.ERROR, "spend_not_journaled")
        """Of the journal: responses go on without notes."""

    def begin(self, charge: _Charge) -> None:
        """Note the response of *charge* from now on."""
        if self._journal is not None:
            self._open.add(charge)

    def end(self, charge: _Charge) -> None:
        """Withdraw the note of a response that is about to be settled."""
        self._open.discard(charge)
        if self._journal is not None and self._journal.has_noted(charge.id):
            with self._failures:
                self._journal.ended(charge.id)

    async def note(self) -> None:
        """Keep the notes up to date until cancelled."""
        pause_s = _NOTED_S
        while self._journal is not None:
            await anyio.sleep(pause_s)
            pause_s = max(_NOTED_S, _SHARE * await self._note_all(self._journal))

    async def _note_all(self, journal: SpendJournal) -> float:
        """Write a note of all responses; return how many seconds that took."""
        spent_s = 0.0
        notes: list[tuple[_Charge, Settlement]] = []
        for charge in tuple(self._open):
            await checkpoint()  # others run in between
            if charge not in self._open:
                continue
            began = time.perf_counter()
            settlement = self._of(charge)
            spent_s += time.perf_counter() - began
            if settlement is not None:
                notes.append((charge, settlement))
        with self._failures:
            journal.note_running([note for charge, note in notes if charge in self._open])
        return spent_s

    def _of(self, charge: _Charge) -> Settlement | None:
        try:
            return self._settlement(charge)
        except Exception:  # noqa: BLE001  a fault of the gateway; the others must be noted
            LOGGER.exception("spend_not_noted")
            return None
