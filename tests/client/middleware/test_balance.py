"""Spreading calls over several keys of one model."""

from collections import Counter
from typing import Any

import pytest

from llmcore import Client, ConfigurationError, Model, OpenAICompatible
from llmcore.client.middleware.balance import Balance
from llmcore.generation.generate import generate
from llmcore.schema.errors import AuthenticationError, InvalidRequestError, LLMError, RateLimitError
from llmcore.testing import scripted
from tests.client.middleware.middleware_scenes import FakeClock
from tests.support.wire.generation import text_of

pytestmark = pytest.mark.anyio


def at(key: str) -> Model:
    return OpenAICompatible.configure(name="any", base_url="https://x", api_key=key).model("m")


FIRST, SECOND = at("first"), at("second")


def keys_of(transport: Any) -> list[str]:
    return [one.headers["authorization"].removeprefix("Bearer ") for one in transport.requests]


async def asked(balance: Balance, *answers: Any, times: int, model: Model = FIRST) -> Any:
    transport = scripted(*answers)
    client = Client(transport=transport, middleware=[balance])
    for _ in range(times):
        await generate(model, "Hi", client=client, max_retries=0)
    return transport


async def test_calls_are_spread_by_weight_and_evenly() -> None:
    transport = await asked(Balance((FIRST, 3), SECOND), *[text_of()] * 8, times=8)

    keys = keys_of(transport)
    assert Counter(keys) == {"first": 6, "second": 2}
    assert keys[:4].count("second") == 1


LIMITED = (429, {"retry-after": "30"}, {"error": {"message": "Rate limit"}})


async def test_key_that_fails_is_passed_over_until_its_time_has_come() -> None:
    time = FakeClock()
    balance = Balance(FIRST, SECOND, clock=time.clock)

    first = await asked(balance, LIMITED, *[text_of()] * 3, times=3)
    await time.clock.sleep(31)
    later = await asked(balance, *[text_of()] * 2, times=2)

    assert keys_of(first) == ["first", "second", "second", "second"]
    assert set(keys_of(later)) == {"first", "second"}


@pytest.mark.parametrize(
    ("status", "kind", "sent"),
    [(401, AuthenticationError, 2), (429, RateLimitError, 2), (400, InvalidRequestError, 1)],
)
async def test_error_of_all_keys_is_raised(status: int, kind: type[LLMError], sent: int) -> None:
    transport = scripted(*[(status, {}, {"error": {"message": "no"}})] * sent)
    client = Client(transport=transport, middleware=[Balance(FIRST, SECOND)])

    with pytest.raises(kind):
        await generate(FIRST, "Hi", client=client, max_retries=0)

    assert len(transport.requests) == sent


async def test_all_keys_that_pause_are_asked_nevertheless() -> None:
    balance = Balance(FIRST, SECOND, clock=FakeClock().clock)
    with pytest.raises(RateLimitError):
        await asked(balance, LIMITED, LIMITED, times=1)

    assert len((await asked(balance, text_of(), times=1)).requests) == 1


async def test_another_model_is_passed_on() -> None:
    other = OpenAICompatible.configure(name="any", base_url="https://x", api_key="k").model("n")
    transport = await asked(Balance(FIRST, SECOND), text_of(), times=1, model=other)

    assert keys_of(transport) == ["k"]


@pytest.mark.parametrize("models", [(), ((FIRST, 0),)], ids=["none", "weight 0"])
def test_weights_must_be_above_0(models: Any) -> None:
    with pytest.raises(ConfigurationError, match="weights above 0"):
        Balance(*models)


def test_the_repr_has_models_and_weights_and_no_key() -> None:
    assert repr(Balance((FIRST, 3), SECOND)) == f"Balance(({FIRST!r}, 3), {SECOND!r})"
    assert "first" not in repr(Balance(FIRST))
