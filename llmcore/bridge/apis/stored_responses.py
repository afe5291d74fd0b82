"""The operations on stored responses: those of the gateway's own store, for their owners.

Source: https://developers.openai.com/api/reference/resources/responses, read November 2026.
"""

import re

from llmcore.bridge.api import OperationRequest
from llmcore.bridge.background.replay import ReplayRun
from llmcore.bridge.response_run import SentResponse
from llmcore.bridge.service import Service
from llmcore.fronts.errors import invalid
from llmcore.fronts.openai_responses import front
from llmcore.fronts.openai_responses.errors import response_not_found
from llmcore.fronts.openai_responses.state import Record, page
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject


@frozen
class StoredResponses:
    """The responses that the service has stored. Raises FrontError."""

    _service: Service

    async def get(self, call: OperationRequest) -> JsonObject | SentResponse:
        """`GET /responses/{response_id}`, with `stream=true` the events of a background one."""
        record = await self._existing(call)
        if call.query.get("stream", "").lower() != "true":
            return record.response
        if record.response.get("background") is not True:
            message = "only a background response can be streamed again; leave out stream=true"
            raise invalid(message, "stream")
        return self.replay(record, _starting_after(call.query.get("starting_after")))

    async def delete(self, call: OperationRequest) -> JsonObject:
        """`DELETE /responses/{response_id}`."""
        record = await self._existing(call)
        if record.response.get("background") is True:
            await self._service.from_store(self._service.background.delete(record))
        await self._service.from_store(self._service.store.delete(record.id))
        return {"id": record.id, "object": "response.deleted", "deleted": True}

    async def cancel(self, call: OperationRequest) -> JsonObject:
        """`POST /responses/{response_id}/cancel`; one that has ended is returned as it is."""
        record = await self._existing(call)
        if record.response.get("background") is not True:
            message = "Only a background response can be cancelled: close the connection instead."
            raise invalid(message, "response_id")
        cancelled = await self._service.from_store(self._service.background.cancel(record))
        return cancelled.response

    async def input_items(self, call: OperationRequest) -> JsonObject:
        """`GET /responses/{response_id}/input_items`, in pages."""
        return page((await self._existing(call)).input_items, call.query)

    async def _existing(self, call: OperationRequest) -> Record:
        name = call.path["response_id"]
        record = await self.record(name, call.caller.owner)
        if record is None:
            raise response_not_found(name)
        return record

    async def record(self, response_id: str, owner: str) -> Record | None:
        """Return a stored response of *owner*; None if there is none."""
        if not may_be_ours(response_id):
            return None
        return await self._service.from_store(self._record(response_id, owner))

    async def _record(self, response_id: str, owner: str) -> Record | None:
        background = self._service.background
        record = await self._service.store.get(response_id)
        if record is None:
            record = await background.unstored(response_id)
        if record is None or record.owner != owner:
            return None
        return await background.current(record)

    def replay(self, record: Record, after: int) -> SentResponse:
        """Return the events of a background response that follow the one with number *after*."""
        return ReplayRun(self._service.background, record, after, front.error)


def may_be_ours(name: str) -> bool:
    """Return whether a response or an item may have this id; PostgreSQL looks up no NUL."""
    return name.isascii() and name.isprintable()


def _starting_after(text: str | None) -> int:
    """Return the sequence number after which a stream begins; -1 for its beginning."""
    if text is None:
        return -1
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise invalid(f"starting_after is {text[:40]!r}, not a sequence number", "starting_after")
    return int(text)
