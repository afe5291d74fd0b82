"""A user's program: type checkers know the native body of each provider's request."""

# pyright: standard

from typing import assert_type

from llmcore import (
    AmazonBedrock,
    Anthropic,
    Client,
    Google,
    LLMError,
    LLMRequest,
    Model,
    OpenAI,
    Result,
    Success,
    request,
)
from llmcore.protocols.anthropic_messages import MessagesBody
from llmcore.protocols.bedrock_converse import ConverseBody
from llmcore.protocols.gemini import GeminiBody
from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_responses import ResponsesBody
from llmcore.routes.route import PreparedRequest

client = Client()

claude = Anthropic.configure(api_key="k").model("claude-sonnet-4-5")
prepared = client.prepare(request(model=claude, prompt="Hello"))
assert_type(prepared, Result[PreparedRequest[MessagesBody], LLMError])
if isinstance(prepared, Success):
    assert_type(prepared.value.body["max_tokens"], int)

openai = OpenAI.configure(api_key="k")
assert_type(openai.chat("gpt-5.2"), Model[ChatBody])
assert_type(openai.responses("gpt-5.2"), Model[ResponsesBody])
assert_type(openai.model("gpt-5.2"), Model[ResponsesBody])
assert_type(request(model=Google.configure().model("g"), prompt=""), LLMRequest[GeminiBody])
assert_type(AmazonBedrock.configure().model("m"), Model[ConverseBody])


def ask(model: Model, question: str) -> LLMRequest:
    """Accept any model: the parameter needs no annotation."""
    return request(model=model, prompt=question)


ask(claude, "Hello")
ask(openai.chat("gpt-5.2"), "Hello")
anything: PreparedRequest = client.prepare(request(model="gpt-5.2", prompt="Hello")).unwrap()
print(anything.body["model"])
