"""Errors of the Responses API alone: what is not stored, and `error` of a response.

Source: https://developers.openai.com/api/docs/guides/error-codes, read November 2026.
"""

from typing import Final

from llmcore.fronts import errors
from llmcore.fronts.openai_forms import message_of
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject


def previous_response_not_found(response_id: str) -> errors.FrontError:
    """Return the error of a request that continues a response that is not stored, 400."""
    return errors.FrontError(
        status=400,
        message=f"Previous response with id '{response_id}' not found. Responses are kept only "
        "for a time, and not at all with store: false; send the whole conversation as input.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def response_not_found(response_id: str) -> errors.FrontError:
    """Return the error of a response that is not stored, 404."""
    return errors.FrontError(status=404, message=f"Response with id '{response_id}' not found.")


def item_not_found(item_id: str) -> errors.FrontError:
    """Return the error of a reference to an item that is not stored, 404."""
    return errors.FrontError(
        status=404,
        message=f"Item with id '{item_id}' not found. Items are kept only for a time, and not "
        "at all with store: false; send the item itself instead of a reference.",
        param="input",
    )


_IN_RESPONSE: Final = (errors.CONTEXT_LENGTH, errors.NO_QUOTA, errors.RATE_LIMIT)


def response_error(error: LLMError) -> JsonObject:
    """Return `error` of a response that failed after it began.

    Of the codes, clients read those of too long a context, no quota and rate limits; all other
    upstream failures are `server_error`, and requests it refuses `invalid_prompt`. An overload is
    `server_error` too: Codex does not try a response again that failed as `server_is_overloaded`
    (https://github.com/openai/codex, `codex-rs/codex-api/src/sse/responses.rs`), and OpenAI's SDKs
    list no such code of a response.
    """
    failure = errors.from_llm_error(error)
    other = "invalid_prompt" if failure.type == errors.INVALID_REQUEST else errors.SERVER_ERROR
    code = failure.code if failure.code in _IN_RESPONSE else other
    return {"code": code, "message": message_of(failure)}


def error_fields(error: JsonObject) -> JsonObject:
    """Return the fields of the event `error`, which comes before `response.failed`.

    OpenAI documents them at the top, and sends them in `error`, which is where its SDKs look for a
    failure that they raise: of `response.failed` alone, clients keep the text as if it were whole.
    """
    fields = {**error, "param": None}
    return {**fields, "error": {"type": error["code"], **fields}}
