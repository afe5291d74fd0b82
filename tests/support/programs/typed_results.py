"""A user's program that matches results exhaustively: type-checked, not run."""

# pyright: standard

from typing import assert_never, assert_type

from llmcore import Client, Failure, LLMError, LLMResponse, Result, Success, request


async def answer(client: Client) -> str:
    """Return the response, or what went wrong, in words."""
    match await client.generate(request(model="gpt-5.2", prompt="Hi")):
        case Success(response):
            assert_type(response, LLMResponse)
            return response.text
        case Failure(error):
            assert_type(error, LLMError)
            return str(error)


def length(result: Result[LLMResponse, LLMError]) -> int:
    """Return the length of the response, 0 of a failure."""
    counted = result.map(lambda response: len(response.text))
    assert_type(counted.value_or(0), int)
    if isinstance(counted, Success):
        return counted.value
    assert_type(counted.error, LLMError)
    return 0


def text(result: Result[str, LLMError]) -> str:
    """Return the text, or raise the error."""
    if isinstance(result, Success):
        return result.value
    if isinstance(result, Failure):
        raise result.error
    assert_never(result)
