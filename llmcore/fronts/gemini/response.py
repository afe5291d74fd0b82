"""From events to the chunks of a stream, and to the response that they add up to.

Source: https://ai.google.dev/api/generate-content#GenerateContentResponse, read November 2026.
Each chunk holds the next parts. Text and thoughts may be cut anywhere, a function call is whole,
the last chunk has the finish reason, the usage and the grounding. A response that is not streamed
has the same parts, texts in a row joined. Google sends `usageMetadata` in every chunk, and BAML
(0.226) skips one without it: before the last it has the count of the prompt, 0 where the upstream
has not stated it yet, since the AI SDK 3.4 refuses chunks without this number.

    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}, "index": 0}],
     "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}, "modelVersion": "m",
     "responseId": "r1"}
    {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0,
                     "finishReason": "STOP"}],
     "usageMetadata": {...}, "modelVersion": "m", "responseId": "r1"}

What the client does not see is sealed (`carrier`): in the signature of the next function call, or
of an empty text in the last chunk; in a response that is not streamed, of the text that ends it.
The last chunk always has a part, because `google-genai` forgets a turn of a chat with a chunk that
has none (`chats._validate_response`).
"""

from collections.abc import Mapping

from llmcore.fronts.errors import from_llm_error
from llmcore.fronts.front import FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.gemini.carrier import joined_texts
from llmcore.fronts.gemini.content import logprobs_result
from llmcore.fronts.gemini.errors import envelope
from llmcore.fronts.gemini.finish import candidate_end, finish_reason, response_end, usage_metadata
from llmcore.fronts.gemini.output import GeminiOutput
from llmcore.fronts.gemini.request import ReadGeminiRequest
from llmcore.fronts.places import with_place
from llmcore.protocols.gemini.names import METADATA_KEY, PROTOCOL_ID, ROLES, SERVICE_TIERS
from llmcore.schema.errors import LLMError
from llmcore.schema.events import Finish, StepFinish, StreamStart
from llmcore.schema.json import JsonObject, NativeObject
from llmcore.schema.native_json import object_or_empty


class GeminiWriter(FrontWriter):
    """Writes one `GenerateContentResponse`."""

    _protocol_id = PROTOCOL_ID
    _tiers = SERVICE_TIERS
    _own_facts = None

    def __init__(
        self, info: ResponseIdentity, request: ReadGeminiRequest, upstream: Upstream
    ) -> None:
        self._output = GeminiOutput(info, request, upstream)
        self._messages = request.request.messages
        super().__init__(request, self._output)
        self._last: NativeObject = {}

    @property
    def sealed_calls(self) -> Mapping[str, str]:
        """The sealed state by a key of each call, and by the place of the response."""
        return with_place(super().sealed_calls, self._output.record.shown, self._messages)

    def whole(self) -> JsonObject:
        """Return the response object, once it has ended without an error."""
        parts = joined_texts(self._output.parts) or [{"text": ""}]
        tokens = self._output.tokens
        logprobs = {"logprobsResult": logprobs_result(tokens)} if tokens else {}
        candidates = [
            {**candidate, "content": {"role": ROLES["assistant"], "parts": parts}, **logprobs}
            for candidate in self._last.get("candidates", ())
        ]
        return {**self._last, **({"candidates": candidates} if candidates else {})}

    def _begin_response(self, event: StreamStart) -> None:
        frame = self._output.frame
        read = None if event.usage is None else event.usage.input_tokens
        if read is not None:
            frame["usageMetadata"] = {"promptTokenCount": read, "totalTokenCount": read}
        frame["modelVersion"] = frame["modelVersion"] or event.model

    def _end_step(self, event: StepFinish) -> None:
        self._output.end_held(cut=event.finish_reason.reason == "length")

    def _end_response(self, event: Finish) -> None:
        output = self._output
        output.end_held(cut=False)
        native = object_or_empty(event.provider_metadata.get(METADATA_KEY)) if output.native else {}
        word = finish_reason(event.finish_reason, native=output.native, called=output.called)
        if word is None:
            self._fail_by_reason(event)
            return
        end = candidate_end(word, native, output.grounding.metadata())
        content = {"role": ROLES["assistant"], "parts": [output.end()]}
        feedback = object_or_empty(native.get("promptFeedback"))
        blocked = bool(feedback.get("blockReason")) and not output.parts
        self._last = {
            **({} if blocked else {"candidates": [{"content": content, "index": 0, **end}]}),
            **response_end(native),
            **output.frame,
        }
        if counts := usage_metadata(self.usage, native=output.native):
            self._last["usageMetadata"] = counts
        self._events.append(self._last)
        self._cut = event.finish_reason.reason in ("length", "content_filter")
        self.ended = True

    def _write_failure(self, error: LLMError) -> None:
        self._events.append(dict(envelope(from_llm_error(error))))
