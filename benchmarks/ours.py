"""llmcore as the benchmarks use it: models of the five protocols, and a reader of typed events.

No HTTP library is imported here, so that memory can be measured over one engine alone.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from llmcore import Client, Model, OpenAICompatible, request
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.framing import Framing
from llmcore.routes.route import Route
from llmcore.schema.events import TextDelta

if TYPE_CHECKING:
    from benchmarks.raw import Reader

_PROTOCOL_IDS: Final = {
    "responses": "openai-responses",
    "messages": "anthropic-messages",
    "gemini": "gemini",
    "converse": "bedrock-converse",
}


@cache
def model_at(url: str) -> Model:
    """Return a model at *url*, whose path names the protocol."""
    name = url.split("/")[3]
    if name == "chat":
        return OpenAICompatible(name="bench", base_url=url, api_key="k").model("m")
    framing = Framing.aws_event_stream() if name == "converse" else Framing.sse()
    return Route.make(
        id=name,
        provider="x",
        protocol=protocol_by_id(_PROTOCOL_IDS[name]),
        endpoint=Endpoint.path("/answer", base_url=url),
        framing=framing,
    ).model("m")


def over_llmcore(client: Client) -> "Reader":
    """Return a reader of typed events. A program configures its models once."""

    async def read(url: str, first: Callable[[], object] | None = None) -> int:
        seen = 0
        question = request(model=model_at(url), prompt="x")
        if "/plain/" in url:
            (await client.generate(question)).unwrap()
            return 1
        async with client.stream(question) as stream:
            async for event in stream:
                seen += 1
                if first is not None and type(event) is TextDelta:
                    first()
                    first = None
        return seen

    return read
