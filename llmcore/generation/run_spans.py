"""OpenTelemetry spans of runs, steps and tools, for clients that have a `Telemetry`.

The names are those of the conventions for generative AI: `invoke_agent` for a run and
`execute_tool {name}` for a call of a tool; steps, for which they have none, are `step {number}`.
The span of each call of a model, which `Telemetry` makes, is below that of its step.
https://github.com/open-telemetry/semantic-conventions-genai (model/gen-ai/spans.yaml)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Self

from llmcore.client.client import Client
from llmcore.client.middleware.telemetry import Telemetry
from llmcore.client.middleware.telemetry_attributes import PROVIDER_NAMES, usage_attributes
from llmcore.generation.results import StepResult, total_usage
from llmcore.generation.tool import Tool
from llmcore.schema import json
from llmcore.schema.codec import to_json
from llmcore.schema.content import ToolCallPart, ToolResultPart
from llmcore.schema.errors import LLMError
from llmcore.schema.json import text_or_json
from llmcore.schema.request import LLMRequest

if TYPE_CHECKING:
    from opentelemetry.trace import Span

SetOutcome = Callable[[ToolResultPart | None, str | None], None]
"""Called with the result of a tool, if there is one, and the message of its failure."""


class RunSpans:
    """The spans of one run; none without a *telemetry*."""

    def __init__(
        self, telemetry: Telemetry | None = None, provider: str = "", model: str = ""
    ) -> None:
        self._telemetry = telemetry
        self._provider = provider
        self._model = model
        self._run: Span | None = None
        self._step: Span | None = None
        self._ended = False

    @classmethod
    def of(cls, client: Client, request: LLMRequest) -> Self:
        """Return the spans of a run of *request*, by the `Telemetry` of *client*."""
        installed = (item for item in client.middleware if isinstance(item, Telemetry))
        telemetry = next(installed, None)
        model = None if telemetry is None else client.resolve(request).value_or(None)
        if model is None:
            return cls(telemetry, request.provider_id, request.model_id)
        return cls(telemetry, model.provider, model.id)

    def current(self) -> AbstractContextManager[object]:
        """Return a context in which the span of the step, or else of the run, is the current."""
        if self._telemetry is None or self._ended:
            return nullcontext()
        if self._run is None:
            self._run = self._telemetry.start_span("invoke_agent", self._attributes())
        return self._telemetry.current(self._step or self._run)

    def _attributes(self) -> dict[str, str]:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": PROVIDER_NAMES.get(self._provider, self._provider),
            "gen_ai.request.model": self._model,
        }
        return {name: value for name, value in attributes.items() if value}

    def start_step(self, number: int) -> None:
        """Start the span of the step *number*."""
        if self._telemetry is not None and self._run is not None:
            with self._telemetry.current(self._run):
                attributes = {"llmcore.step.number": number}
                self._step = self._telemetry.start_span(f"step {number}", attributes)

    def end_step(self, error: LLMError | None = None) -> None:
        """End the span of the step, if there is one."""
        if self._step is not None:
            _end(self._step, None if error is None else type(error).__name__)
            self._step = None

    def end(self, steps: Sequence[StepResult], error: LLMError | None) -> None:
        """End the span of the run, with the usage of its *steps*. Idempotent."""
        self.end_step(error)
        if self._run is None or self._ended:
            return
        self._ended = True
        for name, value in usage_attributes(total_usage(steps)).items():
            if value is not None:
                self._run.set_attribute(name, value)
        _end(self._run, None if error is None else type(error).__name__)

    @contextmanager
    def tool(self, tool: Tool, call: ToolCallPart) -> Iterator[SetOutcome]:
        """Make the span of a *call*, and yield a function that is called with the outcome."""
        if self._telemetry is None:
            yield lambda _result, _problem: None
            return
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
        }
        if tool.description:
            attributes["gen_ai.tool.description"] = tool.description
        content = self._telemetry.content
        if content:
            attributes["gen_ai.tool.call.arguments"] = text_or_json(call.arguments)
        span = self._telemetry.start_span(f"execute_tool {tool.name}", attributes)
        failure: str | None = "AbortError"  # unless the outcome is set

        def set_outcome(result: ToolResultPart | None, problem: str | None) -> None:
            nonlocal failure
            failure = None if problem is None else "tool_error"
            if content and result is not None:
                span.set_attribute("gen_ai.tool.call.result", json.dumps(to_json(result)).decode())

        try:
            with self._telemetry.current(span):
                yield set_outcome
        finally:
            _end(span, failure)


def _end(span: "Span", failure: str | None) -> None:
    """End *span*; *failure* is the type of the error, if there was one."""
    from opentelemetry.trace import StatusCode

    if failure is not None:
        span.set_attribute("error.type", failure)
        span.set_status(StatusCode.ERROR, failure)
    span.end()
