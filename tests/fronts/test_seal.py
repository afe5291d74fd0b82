"""Sealed state: what comes back is what went out, or nothing."""

import base64
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.fronts import opaque_state as answer_state
from llmcore.fronts.opaque_state import sealed_state, unsealed_state
from llmcore.fronts.sealer import PREFIX, Sealer
from llmcore.schema.json import JsonValue
from llmcore.schema.messages import Origin
from tests.fronts.openai_responses.responses_kit import SEALER, codes, refused, translated
from tests.support.strategies.requests import json_values


@given(json_values(), st.binary(min_size=1, max_size=8))
def test_sealed_state_is_unsealed_unchanged_with_any_key(state: JsonValue, key: bytes) -> None:
    """Whatever the key."""
    sealer = Sealer(key)

    assert sealer.unseal(sealer.seal(state)) == state


@given(st.data())
def test_damaged_seal_is_rejected(data: st.DataObject) -> None:
    """One character that is another, or a part that is missing."""
    sealed = SEALER.seal({"a": "b" * 20})
    place = data.draw(st.integers(0, len(sealed) - 1))
    other = data.draw(st.sampled_from("Aa0_").filter(lambda c: c != sealed[place]))
    damaged = sealed[:place] + data.draw(st.sampled_from(["", other])) + sealed[place + 1 :]

    try:
        state = SEALER.unseal(damaged)
    except ValueError:
        return
    assert state == {"a": "b" * 20}  # the last character holds bits that mean nothing


@pytest.mark.parametrize(
    "text",
    ["", "gAAAAA", PREFIX, f"{PREFIX}!!", f"{PREFIX}AAAA", Sealer(b"another").seal({}), "é"],
)
def test_what_is_not_ours_is_dropped_and_said(text: str) -> None:
    """Never a crash, and the words of the item stay."""
    item = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
    made = translated(
        {"input": [{"role": "user", "content": "x"}, {**item, "encrypted_content": text}]}
    )

    assert made.messages[1].reasoning == "hm"
    assert codes(made) == (["opaque-data-dropped"] if text else [])


def test_a_bomb_is_not_unpacked() -> None:
    """Data that unpacks to more than the limit is refused before all of it is unpacked."""
    packed = zlib.compress(b"0" * (64 * 1024 * 1024))
    data = SEALER._signature(packed) + packed
    text = PREFIX + base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    with pytest.raises(ValueError, match="too large"):
        SEALER.unseal(text)


def test_the_state_of_one_request_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item is small, and unpacks to much: what is too much together is dropped, and said."""
    monkeypatch.setattr(answer_state, "_MAX_STATE_BYTES", 50_000)
    part = {"part": {"type": "reasoning", "text": "x" * 20_000}}
    origin = {"provider": "p", "model": "m"}
    items = [
        {
            "type": "reasoning",
            "encrypted_content": SEALER.seal(
                {"v": 1, "response": f"r{number}", "origin": origin, "parts": [part]}
            ),
        }
        for number in range(5)
    ]
    made = translated({"input": [*items, {"role": "user", "content": "x"}]})

    assert len(made.messages) == 3
    assert codes(made) == ["opaque-data-dropped"] * 3


def test_sealed_parts_name_no_local_files() -> None:
    """A holder of the key can write state, but cannot make the gateway read local files."""
    part = {"part": {"type": "image", "path": "/etc/passwd"}}
    state: Any = {
        "v": 1,
        "response": "r",
        "origin": {"provider": "p", "model": "m"},
        "parts": [part],
    }
    sealed = SEALER.seal(state)

    with pytest.raises(ValueError, match="local file"):
        unsealed_state(sealed, SEALER)


@pytest.mark.parametrize("state", [5, {}, {"v": 1}, {"v": 2}, {"v": 1, "origin": {"x": 1}}])
def test_state_of_another_form_is_refused(state: JsonValue) -> None:
    """Also where the key is ours: versions differ."""
    with pytest.raises(ValueError, match=r"version|valid|Origin"):
        unsealed_state(SEALER.seal(state), SEALER)


def test_a_state_without_parts_changes_nothing() -> None:
    """A response that consists of a state has no parts."""
    origin = Origin(provider="p", model="m")
    sealed = sealed_state([], origin=origin, response_id="r", sealer=SEALER)
    item = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": sealed}

    assert refused({"input": [item]}).param == "input"
