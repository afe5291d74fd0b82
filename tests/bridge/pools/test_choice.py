"""The choice of a target, for any pool, health and conversation."""

from collections import Counter

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.model_map import ModelPool, UpstreamModel
from llmcore.bridge.pools.choice import choose

NOW = 100.0

targets = st.builds(
    UpstreamModel,
    st.sampled_from("abcdefgh"),
    st.just("m"),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)


@st.composite
def pools(draw: st.DrawFn) -> ModelPool:
    found = draw(st.lists(targets, min_size=1, max_size=8, unique_by=lambda one: one.provider))
    ranks: list[tuple[UpstreamModel, ...]] = []
    while found:
        size = draw(st.integers(1, len(found)))
        ranks.append(tuple(found[:size]))
        found = found[size:]
    return ModelPool(tuple(ranks))


free_times = st.fixed_dictionaries(
    {name: st.sampled_from([0.0, 100.0, 130.0]) for name in "abcdefgh"}
)
conversations = st.text(max_size=8)


@given(pools(), free_times, conversations, st.sets(targets))
def test_no_target_in_cool_down_is_chosen_while_another_is_free(
    pool: ModelPool,
    free: dict[str, float],
    conversation: str,
    without: set[UpstreamModel],
) -> None:
    choice = choose(
        pool, lambda one: free[one.provider], now=NOW, conversation=conversation, without=without
    )
    usable = [one for one in pool.targets if one.weight > 0 and one not in without]

    assert (choice is None) == (not usable)
    if choice is None:
        return
    assert choice.target in usable
    assert choice.wait_s == max(0.0, free[choice.target.provider] - NOW)
    if any(free[one.provider] <= NOW for one in usable):
        assert choice.wait_s == 0
    else:
        assert choice.wait_s == min(free[one.provider] for one in usable) - NOW


@given(pools(), free_times, conversations)
def test_a_lower_rank_is_chosen_only_when_no_higher_one_is_free(
    pool: ModelPool, free: dict[str, float], conversation: str
) -> None:
    choice = choose(pool, lambda one: free[one.provider], now=NOW, conversation=conversation)
    if choice is None or choice.wait_s:
        return
    for rank in pool.ranks:
        if choice.target in rank:
            break
        assert not any(one.weight > 0 and free[one.provider] <= NOW for one in rank)


@given(pools(), conversations)
def test_a_conversation_stays_and_moves_only_while_its_target_is_away(
    pool: ModelPool, conversation: str
) -> None:
    first = choose(pool, lambda _: 0.0, now=NOW, conversation=conversation)
    assert first == choose(pool, lambda _: 0.0, now=NOW, conversation=conversation)
    if first is None:
        return
    for away in pool.targets:
        if away == first.target:
            continue
        free = {away: NOW + 1}
        found = choose(pool, lambda one: free.get(one, 0.0), now=NOW, conversation=conversation)  # noqa: B023
        assert found == first


def test_the_shares_of_a_rank_follow_its_weights() -> None:
    weights = {"a": 1.0, "b": 2.0, "c": 5.0, "off": 0.0}
    pool = ModelPool((tuple(UpstreamModel(name, "m", w) for name, w in weights.items()),))
    counts: Counter[str] = Counter()
    for number in range(8000):
        choice = choose(pool, lambda _: 0.0, now=NOW, conversation=f"conversation-{number}")
        assert choice is not None
        counts[choice.target.provider] += 1

    assert counts["off"] == 0
    for name, share in (("a", 1000), ("b", 2000), ("c", 5000)):
        assert abs(counts[name] - share) < 0.1 * share + 50


def test_a_change_of_weight_moves_only_what_it_must() -> None:
    pool = ModelPool((tuple(UpstreamModel(name, "m") for name in "abc"),))
    heavier = ModelPool(((evolve(pool.ranks[0][0], weight=2.0), *pool.ranks[0][1:]),))
    for number in range(500):
        before = choose(pool, lambda _: 0.0, now=NOW, conversation=str(number))
        after = choose(heavier, lambda _: 0.0, now=NOW, conversation=str(number))
        assert before is not None
        assert after is not None
        same = before.target.provider == after.target.provider
        assert same or after.target.provider == "a"
