"""Errors and lists of models in OpenAI's form."""

import openai
import pytest

from llmcore.fronts.errors import FrontError, from_llm_error, invalid
from llmcore.fronts.front import ListedModel
from llmcore.fronts.openai_forms import failure_response, listed_model, model_list
from llmcore.schema.errors import error_types


@pytest.mark.parametrize("kind", error_types().values(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_all_four_fields(kind: type) -> None:
    """A status that says whose fault it is, and the message."""
    error = from_llm_error(kind("words"))
    response = failure_response(error)

    assert response.status == error.status >= 400
    assert response.body == {
        "error": {"message": "words", "type": error.type, "param": None, "code": error.code}
    }


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (invalid("no"), {"x-should-retry": "false"}),
        (
            FrontError(status=429, message="slow", retry_after=2.6),
            {"x-should-retry": "true", "retry-after": "3"},
        ),
        (
            FrontError(status=429, message="empty", code="insufficient_quota"),
            {"x-should-retry": "false"},
        ),
        (from_llm_error(error_types()["AuthenticationError"]("bad")), {"x-should-retry": "false"}),
        (
            FrontError(status=503, message="full", retry_after=0.1),
            {"x-should-retry": "true", "retry-after": "1"},
        ),
    ],
)
def test_headers_say_whether_and_when_to_try_again(
    error: FrontError, headers: dict[str, str]
) -> None:
    """The vendors' SDKs obey them, and retry most errors without."""
    assert failure_response(error).headers == headers


def test_a_model_is_what_the_sdk_reads_with_its_window_where_that_is_known() -> None:
    """Both forms: alone, and in the list."""
    bare = ListedModel(id="m/1", owner="openai")
    known = ListedModel(id="m2", owner="us", max_input_tokens=1000)

    assert openai.types.Model.model_validate(listed_model(bare), strict=True).id == "m/1"
    assert listed_model(known)["max_model_len"] == 1000
    assert model_list([bare, known], {}) == {
        "object": "list",
        "data": [listed_model(bare), listed_model(known)],
    }
