"""The usage of responses whose upstream has not counted all of it."""

from collections.abc import Sequence
from typing import Any

import pytest

from llmcore.bridge.accounts.prices import PriceList
from llmcore.bridge.accounts.usage import uses_of
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.response_run import RequestSize, RunLabels
from llmcore.schema.content import TextPart
from llmcore.schema.events import FinishReason
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.token_estimate import estimated_tokens
from llmcore.schema.usage import Usage

REASONS = "o3"
"""A model that the catalog knows to reason."""


class Run:
    """A response as it ended."""

    def __init__(
        self,
        *,
        outcome: str = "cancelled",
        usage: Usage | None = None,
        text: str = "",
        prompt: str = "Hi",
        begun: bool = True,
        streamed: bool = True,
        model: str = "m-1",
        choices: int = 1,
        limit: int | None = 1000,
    ) -> None:
        self.outcome, self.choices, self.is_sent = outcome, choices, True
        self.repeated: Sequence[LLMResponse] = ()
        self.calls, self.failed_calls = (self,), ()
        target = UpstreamModel("openai", model)
        self.info = RunLabels(
            id="r-1", model=model, provider="openai", upstream=target, streamed=streamed
        )
        content: Sequence[TextPart] = (TextPart(text),) if text else ()
        self.response = LLMResponse(
            message=Message("assistant", tuple(content)),
            finish_reason=FinishReason("stop"),
            provider="openai" if begun else "",
            model=model,
            usage=usage or Usage(),
        )
        self._request = LLMRequest(
            model=Model(model, "openai"),
            messages=(Message.user(prompt),),
            generation=GenerationOptions(max_tokens=limit),
        )

    def request(self) -> LLMRequest:
        return self._request

    def size(self) -> RequestSize:
        return RequestSize(estimated_tokens(self._request), self._request.generation.max_tokens)


def used(run: Any, seconds: float = 0.0) -> tuple[int | None, int | None]:
    """Return the input and the output that *run* is charged for."""
    (use,) = uses_of(run, seconds, PriceList())
    return use.usage.input_tokens, use.usage.output_tokens


def test_counts_of_the_upstream_are_used_as_they_are() -> None:
    counted = Usage.make(input_tokens=30, output_tokens=20)

    (use,) = uses_of(Run(outcome="completed", usage=counted), 60.0, PriceList())  # type: ignore[arg-type]

    assert use.usage == counted


def test_nothing_is_used_by_a_response_that_failed_before_it_began() -> None:
    assert list(uses_of(Run(outcome="failed", begun=False), 60.0, PriceList())) == []  # type: ignore[arg-type]


def test_a_prompt_that_was_not_counted_is_estimated_as_it_was_reserved() -> None:
    """Four characters to a token are far too few in Chinese."""
    run = Run(prompt="漢" * 1000, text="字" * 100)

    assert used(run) == (estimated_tokens(run.request()), 130)


def test_a_count_of_the_prompt_is_kept_where_the_rest_is_estimated() -> None:
    counted = Usage(input_tokens=7, output_tokens=1, estimated=True)

    assert used(Run(usage=counted, text="word " * 100)) == (7, 167)


def test_prompts_of_choices_that_did_not_end_are_estimated() -> None:
    """The sum of those that did lacks what the others read."""
    run = Run(choices=4, usage=Usage(input_tokens=30, output_tokens=20))

    assert used(run)[0] == 4 * estimated_tokens(run.request())


@pytest.mark.parametrize(
    ("run", "output"),
    [
        (Run(model=REASONS), 600),
        (Run(model=REASONS, limit=50), 50),
        (Run(model=REASONS, outcome="failed"), 0),
        (Run(streamed=False, begun=False), 600),
        (Run(), 0),
    ],
    ids=["reasoning", "up to the limit", "failed", "in one piece", "shown as it came"],
)
def test_what_a_client_that_left_did_not_see_is_estimated_by_the_time(
    run: Run, output: int
) -> None:
    """The reasoning of a stream, and a whole response, are generated before anything is sent."""
    assert used(run, 20.0)[1] == output
