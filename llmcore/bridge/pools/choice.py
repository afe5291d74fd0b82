"""Chooses a target, as a pure function of which targets are free.

A conversation keeps its target, since prompt caches and signatures belong to an account: each
conversation orders the free targets of a rank by weighted rendezvous hashing. So every worker makes
the same choice without shared state, the shares follow the weights, and only the conversations of a
target that is not free move to another.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Sequence
from typing import Final

from llmcore.bridge.model_map import ModelPool, UpstreamModel
from llmcore.schema.frozen import frozen

_STEPS: Final = 2**64


@frozen
class Choice:
    """A target, and how long to wait before it is free."""

    target: UpstreamModel
    wait_s: float = 0.0


def choose(
    pool: ModelPool,
    free_at: Callable[[UpstreamModel], float],
    *,
    now: float,
    conversation: str,
    without: Collection[UpstreamModel] = (),
) -> Choice | None:
    """Return the target for *conversation*; None if every one is in *without*.

    The first rank with a free target is taken. If none is free, it is the one that will be first.
    Targets of weight 0 get nothing.
    """
    waiting: list[UpstreamModel] = []
    for rank in pool.ranks:
        candidates = [target for target in rank if target.weight > 0 and target not in without]
        free_now = [target for target in candidates if free_at(target) <= now]
        if free_now:
            return Choice(_preferred(free_now, conversation))
        waiting += candidates
    if not waiting:
        return None
    soonest = min(waiting, key=free_at)
    return Choice(soonest, free_at(soonest) - now)


def _preferred(targets: Sequence[UpstreamModel], conversation: str) -> UpstreamModel:
    if len(targets) == 1:
        return targets[0]
    return max(targets, key=lambda target: _score(target, conversation))


def _score(target: UpstreamModel, conversation: str) -> float:
    """Return the target's score for a conversation: the highest of independent draws wins.

    With u uniform in (0, 1), -w / ln u makes each win with a chance in proportion to its weight w.
    """
    text = f"{conversation}\0{target.provider}\0{target.model}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -target.weight / math.log((int.from_bytes(digest) + 0.5) / _STEPS)
