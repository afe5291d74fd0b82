"""Parley: where its models differ."""

from attrs import frozen


@frozen(kw_only=True)
class ParleyRules:
    """The features of a model."""

    thinks: bool


def rules_of(model_id: str) -> ParleyRules:
    """Return the features of *model_id*: only models of the second generation think."""
    return ParleyRules(thinks=model_id.startswith("parley-2"))
