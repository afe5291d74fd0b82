"""The states of background responses, for all processes that share a store.

    queued -> running -> ended          by the process that makes it
    queued | running  -> ended          by a client that cancels it
    queued | running  -> ended, failed  by any process that finds the first one gone

The state is a named value of the store, and changes by `swap`: a response ends once, and the first
end counts. That of an ended response is its final record, until that is written in its place:
a process that is killed in between leaves nothing that another one could not complete.

A second value is the lease of the process that makes the response. It is written every
`BEAT_S` seconds and lasts `LEASE_S`. Without it the response has failed, unless it is written again
within `_GRACE_S`: a lease is also gone where the clock of the store was set on, the machine slept
or the store was away for a while. Its value is the number of the oldest piece of events that is
kept.
"""

import zlib
from typing import Any, Final

import anyio
from attrs import asdict, evolve

from llmcore.bridge.background.event_log import EVENTS_TTL_S, EventLog, forget_events
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.fronts.errors import SERVER_ERROR
from llmcore.fronts.openai_responses.state import Record
from llmcore.schema import json

BEAT_S: Final = 5.0
LEASE_S: Final = 30.0
"""Several times `BEAT_S`, for a store that was away for a moment and a process that was busy."""
_GRACE_S: Final = BEAT_S + 1.0
_LOOK_S: Final = 1.0

_QUEUED: Final = b"queued"
_RUNNING: Final = b"running"
_ENDED: Final = b"ended "
_STATUSES: Final = {_QUEUED: "queued", _RUNNING: "in_progress"}
_UNFINISHED: Final = frozenset(_STATUSES.values())
_MAX_STATE_S: Final = 30 * 24 * 3600.0
_UNFINISHED_MORE_S: Final = 24 * 3600.0
"""How much longer the record of an unfinished response is kept. Stores delete for space what
expires first, so later responses of its owner are deleted before it."""
_LOST: Final = "The gateway that was making this response has stopped."


def is_finished(record: Record) -> bool:
    """Return whether a record is that of a response which has ended."""
    return record.response.get("status") not in _UNFINISHED


def cancelled(record: Record) -> Record:
    """Return the record of a response that its client has cancelled."""
    return evolve(record, response={**record.response, "status": "cancelled"})


def failed(record: Record, message: str) -> Record:
    """Return the record of a response that did not come to its end."""
    error = {"code": SERVER_ERROR, "message": message}
    return evolve(record, response={**record.response, "status": "failed", "error": error})


class Lifecycle:
    """The states of background responses in *store*. Raises StateUnavailableError."""

    def __init__(self, store: ResponseStore) -> None:
        self._store = store

    async def begin(self, record: Record) -> None:
        """Store *record*, whose response is queued."""
        await self._store.swap(_state(record.id), None, _QUEUED, _MAX_STATE_S)
        await self._store.keep(_life(record.id), b"0", LEASE_S)
        # Last: who finds the record finds its state.
        await self._store.put(record, more_s=_UNFINISHED_MORE_S)

    async def run(self, response_id: str) -> bool:
        """Record that the response is being made; return False if it was cancelled."""
        return await self._store.swap(_state(response_id), _QUEUED, _RUNNING, _MAX_STATE_S)

    async def beat(self, response_id: str, log: EventLog) -> bool:
        """Renew the lease of the response; return False if it was cancelled."""
        await self._store.keep(_life(response_id), b"%d" % log.first_piece, LEASE_S)
        return await self._store.value(_state(response_id)) in _STATUSES

    async def end(self, final: Record) -> Record:
        """Make *final* the end of its response, unless it has one; return how it ended."""
        ended = _ENDED + _packed(final)
        for old in (_RUNNING, _QUEUED, _RUNNING):
            if await self._store.swap(_state(final.id), old, ended, _MAX_STATE_S):
                return await self._written(final)
        state = await self._store.value(_state(final.id))
        if state is not None:
            return await self._written(_unpacked(state))
        record = await self._store.get(final.id)
        return record if record is not None and is_finished(record) else final

    async def keep_place(self, response_id: str, log: EventLog) -> None:
        """Note where the events of an ended response begin, as long as they are kept."""
        await self._store.keep(_life(response_id), b"%d" % log.first_piece, EVENTS_TTL_S)

    async def current(self, record: Record, *, is_made_here: bool = False) -> Record:
        """Return *record*, which may be unfinished, as it is by now.

        One that *is_made_here*, by this process, needs no lease.
        """
        if is_finished(record):
            return record
        state = await self._store.value(_state(record.id))
        if state is None:
            again = await self._store.get(record.id)
            if again is None:
                return cancelled(record)  # it was deleted, or has expired: no state will follow
            if is_finished(again):
                return again
            lost = failed(record, _LOST)  # its state was forgotten
            await self._store.put(lost)
            return lost
        if state not in _STATUSES:
            return await self._written(_unpacked(state))
        if not is_made_here and not await self._has_lease(record.id):
            return await self.end(failed(record, _LOST))
        return evolve(record, response={**record.response, "status": _STATUSES[state]})

    async def _has_lease(self, response_id: str) -> bool:
        """Return whether the response has a lease, or gets one again."""
        deadline = anyio.current_time() + _GRACE_S
        while await self._store.value(_life(response_id)) is None:
            if anyio.current_time() >= deadline:
                return False
            await anyio.sleep(_LOOK_S)
        return True

    async def first_piece(self, response_id: str) -> int:
        """Return the number of the oldest piece of events that is kept, if there is any."""
        return int(await self._store.value(_life(response_id)) or b"0")

    async def forget(self, record: Record) -> None:
        """End the response if it is under way, and remove its events."""
        if not is_finished(await self.current(record)):
            await self.end(cancelled(record))
        await forget_events(self._store, record.id, await self.first_piece(record.id))
        await self._store.forget([_life(record.id)])

    async def _written(self, final: Record) -> Record:
        """Write the record of an ended response in place of its state."""
        await self._store.put(final)
        await self._store.forget([_state(final.id)])
        return final


def _state(response_id: str) -> str:
    return f"background:{response_id}"


def _life(response_id: str) -> str:
    return f"background:{response_id}:life"


def _packed(record: Record) -> bytes:
    return zlib.compress(json.dumps(asdict(record, recurse=False)), 1)


def _unpacked(state: bytes) -> Record:
    try:
        fields: Any = json.loads(zlib.decompress(state.removeprefix(_ENDED)))
        return Record(**{**fields, "input_items": tuple(fields["input_items"])})
    except (zlib.error, ValueError, TypeError, KeyError) as error:
        raise StateUnavailableError("the state of a background response is damaged") from error
