"""OpenAI Responses: resuming a background response whose stream was cut.

Source: https://developers.openai.com/api/docs/guides/background ("Streaming a background
response"), read November 2026: only a response that was created with `background` and `stream`
can be streamed again, from the event after a `sequence_number`.

The events that `resume` requests continue the same state, so that the answer is the one that
would have come without the cut.
"""

from urllib.parse import quote

from llmcore.protocols.native_json import int_or_none, object_or_empty, str_or_none
from llmcore.protocols.openai_responses.names import METADATA_KEY, NativeObject
from llmcore.protocols.openai_responses.state import ResponsesState
from llmcore.protocols.protocol import ResumeRequest
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import ProviderMetadata


def cursor(state: ResponsesState, event: NativeObject) -> ProviderMetadata:
    """Return the place to resume at after *event*, the last one; empty if there is none.

    It belongs into the metadata of a cut answer: `{"openai": {"resume": {"response_id": "resp_1",
    "sequence_number": 7}}}`.
    """
    info = state.info
    if not info.background or info.response_id is None or info.ended:
        return {}
    number = int_or_none(event.get("sequence_number"))
    place = {"response_id": info.response_id, "sequence_number": number}
    return {METADATA_KEY: {"resume": place}}


def resume(metadata: ProviderMetadata) -> ResumeRequest:
    """Return the request that resumes at the cursor in *metadata*.

    Without a sequence number the stream begins anew. InvalidRequestError if there is no cursor.
    """
    place = object_or_empty(object_or_empty(metadata.get(METADATA_KEY)).get("resume"))
    response_id = str_or_none(place.get("response_id"))
    if response_id is None:
        raise InvalidRequestError(
            "there is no response to resume: only those asked for with background=true "
            "and stream=true can be"
        )
    query = {"stream": "true"}
    number = int_or_none(place.get("sequence_number"))
    if number is not None:
        query["starting_after"] = str(number)
    return ResumeRequest(path=f"responses/{quote(response_id, safe='')}", query=query)
