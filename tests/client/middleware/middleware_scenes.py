"""Shared by the tests of middleware: a clock that does not wait, and a scripted provider."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import anyio.lowlevel
from attrs import define, field

from llmcore import Client, LLMError, LLMRequest, LLMResponse, OpenAICompatible, request
from llmcore.client.middleware import Middleware
from llmcore.client.middleware.clock import Clock
from llmcore.schema.result import Result
from llmcore.schema.usage import Usage
from llmcore.testing import scripted
from llmcore.testing.script import ScriptedTransport
from tests.support.servers.loopback import chat_chunk, chat_stream, chat_whole

KEY = "sk-very-secret-1"
PROVIDER = OpenAICompatible.configure(
    name="loop", base_url="https://api.example.com/v1", api_key=KEY
)
OTHER = OpenAICompatible.configure(name="other", base_url="https://o.example.com", api_key=KEY)
WANTED = request(model=PROVIDER.model("m"), prompt="Tell me a secret")

STREAM = b"".join(piece for piece in chat_stream() if isinstance(piece, bytes))
CUT = chat_chunk(delta={"content": "Half an answer."})
Refusal: TypeAlias = tuple[int, Mapping[str, str], Any]

OVERLOADED: Refusal = (529, {}, {"error": {"message": "Tell me a secret? No."}})
LIMITED: Refusal = (429, {"retry-after": "7"}, {"error": {"message": "slow down"}})
INVALID: Refusal = (400, {}, {"error": {"message": "bad"}})


@define
class FakeClock:
    """Time passes only by sleeping, or by hand."""

    now: float = 1000.0
    slept: list[float] = field(factory=list)

    async def sleep(self, seconds: float) -> None:
        await anyio.lowlevel.checkpoint()
        self.slept.append(seconds)
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now, wall=lambda: self.now, sleep=self.sleep)


def answer(streaming: bool, text: str = "Hello") -> bytes:
    """Return the body of a response of three tokens in and two out."""
    return STREAM if streaming else chat_whole(text)


def client_of(
    middleware: Sequence[Middleware], *responses: Any
) -> tuple[Client, ScriptedTransport]:
    """Return a client of two providers, whose requests get *responses* in order."""
    transport = scripted(*responses)
    providers = {"loop": PROVIDER, "other": OTHER}
    client = Client(
        middleware=middleware, transport=transport, providers=providers, default_provider="loop"
    )
    return client, transport


async def run(
    client: Client, streaming: bool, wanted: LLMRequest = WANTED
) -> Result[LLMResponse, LLMError]:
    """Run a call to its end."""
    if not streaming:
        return await client.generate(wanted)
    async with client.stream(wanted) as stream:
        return await stream.result()


def cent_a_token(provider: str, model: str, usage: Usage) -> float | None:
    """Price every model but `free` at a cent for each token."""
    assert provider
    return None if model == "unlisted" else (usage.total_tokens or 0) / 100
