"""Upstreams that fronts read requests for."""

from itertools import count

from llmcore.fronts.front import NewId, Upstream
from llmcore.fronts.opaque_state import KeptState
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.schema.model import Model
from llmcore.testing.fronts import SEALER


def upstream_of(
    protocol_id: str | None = None,
    model: Model | str = "m",
    *,
    policy: TranslationPolicy | None = None,
    sealer: Sealer = SEALER,
    new_id: NewId = "{}_1".format,
    kept_state: KeptState | None = None,
) -> Upstream:
    """Return an upstream that speaks a protocol; None is one that no front knows."""
    return Upstream(
        model=model,
        protocol_id=protocol_id,
        policy=policy or TranslationPolicy(),
        sealer=sealer,
        new_id=new_id,
        kept_state=kept_state,
    )


def numbered_ids() -> NewId:
    """Return a function that makes ids of a prefix and a number: `call_1`, then `call_2`."""
    numbers = count(1)
    return lambda prefix: f"{prefix}_{next(numbers)}"
