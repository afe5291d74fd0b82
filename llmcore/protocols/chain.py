"""A list that grows at its head: what a stream keeps until it is whole.

States are values, so that appending to a tuple would copy all that came before, once per token.
"""

from typing import Any

from attrs import field, frozen


@frozen(eq=False)
class Chain:
    """A list that grows at its head, so that appending copies nothing."""

    value: Any
    rest: "Chain | None" = field(repr=False)


def unchain(chain: Chain | None) -> list[Any]:
    """Return the values of *chain*, oldest first."""
    values: list[Any] = []
    while chain is not None:
        values.append(chain.value)
        chain = chain.rest
    return values[::-1]
