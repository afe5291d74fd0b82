"""Tool call ids: legal, stable, and still telling calls apart."""

import re
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.tools import ANY_CALL_ID, CallIdRule, is_synthetic_call_id, synthetic_call_id
from llmcore.routes.mistral import MISTRAL_CALL_IDS as MISTRAL
from llmcore.schema.errors import ConfigurationError
from tests.support.programs.fresh_interpreter import run_fresh

RULES: dict[str, CallIdRule] = {
    id_: import_module(f"llmcore.protocols.{id_.replace('-', '_')}.names").CALL_IDS
    for id_ in PROTOCOL_IDS
} | {"any": ANY_CALL_ID, "mistral": MISTRAL}
OPENAI_CHAT, ANTHROPIC = RULES["openai-chat"], RULES["anthropic-messages"]

DOCUMENTED = {
    "openai-chat": r"(?s).{1,40}",
    "openai-responses": r"(?s).{1,64}",
    "anthropic-messages": r"[a-zA-Z0-9_-]{1,64}",
    "bedrock-converse": r"[a-zA-Z0-9_-]{1,64}",
    "mistral": r"[a-zA-Z0-9]{9}",
}
"""The rules of some APIs once more, written as one expression each."""
LEGAL = {name: (rule, DOCUMENTED.get(name, rule.pattern)) for name, rule in RULES.items()}

ODD_IDS = ["", "a", "call|fc_1", "функция:0", "x" * 2000, "a b\nc", "toolu_01", "functions.get:0"]


@pytest.mark.parametrize("target", LEGAL)
@pytest.mark.parametrize("call_id", ODD_IDS)
def test_an_odd_id_becomes_legal_everywhere(target: str, call_id: str) -> None:
    """Whatever comes in, what goes out is what the provider's rule says."""
    rule, pattern = LEGAL[target]

    assert re.fullmatch(pattern, rule.fit(call_id))


@pytest.mark.parametrize(
    ("call_id", "rule"),
    [
        ("toolu_01AbC-_9", ANTHROPIC),
        ("call_12345678901234567890123456789012345", OPENAI_CHAT),
        ("x" * 64, RULES["openai-responses"]),
        ("D681PevKs", MISTRAL),
        ("functions.get_weather:0", OPENAI_CHAT),
        ("anything | at all", ANY_CALL_ID),
    ],
)
def test_a_legal_id_stays_as_it_is(call_id: str, rule: CallIdRule) -> None:
    """Ids that need no change get none; some models read meaning into theirs."""
    assert rule.fit(call_id) == call_id


def test_a_made_id_keeps_what_can_be_read() -> None:
    """The legal part of an id stays at its head, for readers of logs."""
    made = ANTHROPIC.fit("call_weather|fc_1")

    assert made.startswith("call_weather_fc_1_")


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_ids_that_share_a_long_prefix_stay_apart(rule: CallIdRule) -> None:
    """Cutting alone would make one id of them; the hash keeps all of each."""
    ids = [f"{'p' * 500}{number}" for number in range(500)]

    assert len({rule.fit(call_id) for call_id in ids}) == len(ids)


@given(st.text(max_size=300), st.sampled_from(sorted(LEGAL)))
def test_fitted_call_id_is_unchanged_by_fitting_again(call_id: str, target: str) -> None:
    """A made id is legal, so it comes through unchanged the next time."""
    rule, pattern = LEGAL[target]
    made = rule.fit(call_id)

    assert re.fullmatch(pattern, made)
    assert rule.fit(made) == made


@given(st.lists(st.text(max_size=120), unique=True, max_size=20), st.sampled_from(sorted(LEGAL)))
def test_different_ids_stay_different(ids: list[str], target: str) -> None:
    """No two ids of a conversation become one."""
    rule, _ = LEGAL[target]

    assert len({rule.fit(call_id) for call_id in ids}) == len(ids)


def test_the_same_id_fits_alike_in_every_process() -> None:
    """Python's own hash differs between processes; ids do not."""
    program = (
        "from llmcore.protocols.tools import CallIdRule, synthetic_call_id\n"
        "print(CallIdRule(r'[a-zA-Z0-9_-]+', 64).fit('ä|' * 90),"
        " CallIdRule(r'[a-zA-Z0-9]{9}', 9).fit('x'), synthetic_call_id('resp', 1, 2))"
    )
    runs = {run_fresh(program, PYTHONHASHSEED=seed, PYTHONPATH=".").stdout for seed in ("0", "1")}

    assert len(runs) == 1
    assert MISTRAL.fit("x") in runs.pop()


def test_a_rule_without_a_match_is_an_error() -> None:
    """A rule that only its provider's own ids match cannot be met by an invented one."""
    with pytest.raises(ConfigurationError, match="no tool call id"):
        CallIdRule(r"=\d=", 3).fit("a")


def test_synthetic_ids_differ_by_response_turn_and_index() -> None:
    """One id a call, whichever of the three tells two calls apart."""
    keys = [(response, turn, index) for response in (None, "r1", "r2") for turn in (0, 1, 11)
            for index in (0, 1, 11)]  # fmt: skip
    ids = [synthetic_call_id(*key) for key in keys]

    assert len(set(ids)) == len(keys)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,32}", call_id) for call_id in ids)
    assert all(map(is_synthetic_call_id, ids))
    assert ids == [synthetic_call_id(*key) for key in keys]
