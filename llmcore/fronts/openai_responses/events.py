"""Events and the response around them: numbers, ids, status and usage.

    {"type": "response.output_item.added", "sequence_number": 2, "output_index": 0, "item": {...}}
    {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
     "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 30}

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.finishing import token_counts
from llmcore.fronts.front import Event, NewId, ResponseIdentity
from llmcore.fronts.openai_forms import RESPONSES_TIERS, service_tier
from llmcore.fronts.openai_responses.calls import is_of_model
from llmcore.fronts.response_record import ResponseRecord
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.schema.content import Citation
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import Finish, Source
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.usage import Usage

# -- events in order


class EventWriter:
    """Adds to the events of one response, and collects the items that are done."""

    def __init__(
        self, events: list[Event], new_id: NewId, record: ResponseRecord, diagnostics: Diagnostics
    ) -> None:
        self._events = events
        self.new_id = new_id
        self.record = record
        """The parts that the items represent."""
        self.diagnostics = diagnostics
        self.sequence = 0
        """The number of the next event."""
        self.index = 0
        """The index of the open item, or else of the next one."""
        self.output: list[dict[str, Any]] = []
        """Items that are done, as the client saw them."""
        self.stored: list[dict[str, Any]] = []
        """The same with their sealed state, also where the client does not see it."""

    def write(self, type_: str, **fields: Any) -> None:
        """Add an event."""
        self._events.append({"type": type_, "sequence_number": self.sequence, **fields})
        self.sequence += 1

    def add(self, event: Event) -> None:
        """Add an event that has all but its number."""
        event["sequence_number"] = self.sequence
        self.sequence += 1
        self._events.append(event)

    def item_added(self, item: dict[str, Any]) -> None:
        """Begin an item."""
        self.write("response.output_item.added", output_index=self.index, item=item)

    def item_done(self, item: dict[str, Any], stored: dict[str, Any] | None = None) -> None:
        """End the open item."""
        self.write("response.output_item.done", output_index=self.index, item=item)
        self.output.append(item)
        self.stored.append(item if stored is None else stored)
        self.index += 1

    def store_state(self) -> bool:
        """Store the state since the last reasoning with the last item; False if it takes none."""
        if not self.stored or not is_of_model(self.stored[-1]):
            return False
        self.stored[-1] = {**self.stored[-1], **self.record.seal()}
        return True


# -- usage


_DETAILS: Final = "input_tokens_details"
_WRITTEN: Final = "cache_write_tokens_details"
"""Tokens written to the cache by how long it keeps them, which only an upstream of the same API
states."""


def usage_of(usage: Usage | None) -> JsonObject | None:
    """Return `usage`; None if the upstream counted nothing.

    The form requires all numbers: one that the upstream did not state is 0.
    """
    counts = token_counts(usage)
    if counts is None:
        return None
    stated = object_or_empty(object_or_empty(None if usage is None else usage.raw).get(_DETAILS))
    written = stated.get(_WRITTEN)
    return {
        "input_tokens": counts.input,
        _DETAILS: {
            "cached_tokens": counts.cache_read,
            "cache_write_tokens": counts.cache_write,
            **({_WRITTEN: written} if isinstance(written, Mapping) else {}),
        },
        "output_tokens": counts.output,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning},
        "total_tokens": counts.total,
    }


# -- the response object


STATED: Final = (
    "access_programs", "content_filters", "image", "moderation", "prompt_cache_diagnostics",
    "tool_usage",
)  # fmt: skip
"""Facts that an upstream of the same API states beside its response."""
_REMOVED: Final = "input_transformations"


class ResponseFrame:
    """The fields of a response besides its output."""

    def __init__(self, info: ResponseIdentity, echo: JsonObject) -> None:
        self._info = info
        self._echo = echo
        self.model = info.model
        """The model's name in the response."""
        self._tier: str | None = None
        self._stated: JsonObject = {}

    def finish(self, event: Finish, diagnostics: Diagnostics, *, same_api: bool) -> None:
        """Read the service tier, and facts of an upstream of the *same_api*, from the end.

        Reasoning of the request that the upstream removed is reported: its ids there are not those
        of the client.
        """
        self._tier = service_tier(event, RESPONSES_TIERS)
        native = object_or_empty(event.provider_metadata.get(METADATA_KEY)) if same_api else {}
        self._stated = {name: native[name] for name in STATED if name in native}
        removals = objects(native.get(_REMOVED))
        for reason in dict.fromkeys(str_or_none(removal.get("reason")) for removal in removals):
            why = f"the upstream removed reasoning ({reason or 'it states no reason'})"
            diagnostics.at("input").dropped("opaque-data-dropped", why)

    def response(
        self, status: str, output: Sequence[Any], usage: Usage | None = None, **fields: Any
    ) -> JsonObject:
        """Return the response object as it is now.

        The time of its end is not known here; OpenRouter's SDK refuses responses without the field.
        """
        return {
            "id": self._info.id,
            "object": "response",
            "created_at": self._info.created_at,
            "completed_at": None,
            "status": status,
            "error": None,
            "incomplete_details": None,
            **self._echo,
            "model": self.model,
            **({"service_tier": self._tier} if self._tier else {}),
            **self._stated,
            "output": list(output),
            "usage": usage_of(usage),
            **fields,
        }


class Sources:
    """The sources of a response: one is shown where a text cites it, or by a search."""

    def __init__(self) -> None:
        self._cited: set[str | None] = set()
        """Those that are shown."""
        self._sources: list[Source] = []

    def cite(self, citations: Iterable[Citation]) -> None:
        """Record the citations of a text."""
        self._cited |= {cited.url or cited.document_id for cited in citations}

    def add(self, source: Source) -> None:
        """Add a source of the response."""
        self._sources.append(source)

    def found_by_search(self) -> list[str]:
        """Return the addresses of all sources, for the search that shows them."""
        urls = list(dict.fromkeys(source.url for source in self._sources if source.url))
        self._cited |= set(urls)
        return urls

    def note(self, diagnostics: Diagnostics) -> None:
        """Report the sources that no text cites."""
        for source in self._sources:
            name = source.url or str_or_none(
                object_or_empty(source.provider_metadata.get(METADATA_KEY)).get("file_id")
            )
            if name not in self._cited:
                why = f"no text cites the source {name}, and no search shows it"
                diagnostics.at("output").dropped("source-dropped", why)
