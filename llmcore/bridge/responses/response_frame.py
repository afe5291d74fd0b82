"""The response around its items: ids, status, usage, and what it repeats of the request."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from llmcore.bridge.responses.response_usage import usage_of
from llmcore.protocols.loose_json import mapping, string
from llmcore.protocols.notes import Notes
from llmcore.schema.content import Citation
from llmcore.schema.events import Finish, Source
from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage

_TIERS: Final = frozenset({"auto", "default", "flex", "scale", "priority"})


class ResponseFrame:
    """What a response says besides its output."""

    def __init__(self, response_id: str, created_at: int, echo: JsonObject) -> None:
        self._id = response_id
        self._created_at = created_at
        self._echo = echo
        self._tier: str | None = None
        self.usage: Usage | None = None
        """Tokens, as far as the upstream has counted them."""

    def finish(self, event: Finish) -> None:
        """Take what the end of an answer says of all of it."""
        self.usage = self.usage or event.usage
        tier = string(mapping(event.provider_metadata.get("openai")).get("service_tier"))
        self._tier = tier if tier in _TIERS else None

    def response(self, status: str, output: Sequence[Any], **fields: Any) -> JsonObject:
        """Return the response object as it is now."""
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created_at,
            "status": status,
            "error": None,
            "incomplete_details": None,
            **self._echo,
            **({"service_tier": self._tier} if self._tier else {}),
            "output": list(output),
            "usage": usage_of(self.usage),
            **fields,
        }


class Sources:
    """What an answer rests on: a source is shown where a text cites it, and nowhere else."""

    def __init__(self) -> None:
        self._cited: set[str | None] = set()
        self._sources: list[Source] = []

    def cite(self, citations: Iterable[Citation]) -> None:
        """Take what a text cites."""
        self._cited |= {cited.url or cited.document_id for cited in citations}

    def add(self, source: Source) -> None:
        """Take a source of the answer."""
        self._sources.append(source)

    def note(self, notes: Notes) -> None:
        """Name those that nothing cites."""
        for source in self._sources:
            name = source.url or string(
                mapping(source.provider_metadata.get("openai")).get("file_id")
            )
            if name not in self._cited:
                why = f"the source {name} is cited nowhere, and there is no other place for it"
                notes.dropped("source-dropped", "output", why)
