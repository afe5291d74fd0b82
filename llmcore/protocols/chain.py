"""A list that grows at its head: what a stream keeps until it is whole.

States are values, so that appending to a tuple would copy all that came before, once per token.
"""

from typing import Any

import msgspec


class Chain(msgspec.Struct, frozen=True, eq=False):
    """A list that grows at its head, so that appending copies nothing.

    A Struct, which is made in a third of the time: there is one for each token.
    """

    value: Any
    rest: "Chain | None"

    def __repr__(self) -> str:
        """Return the last value only: chains are as long as answers."""
        return f"Chain({self.value!r}, ...)"


def unchain(chain: Chain | None) -> list[Any]:
    """Return the values of *chain*, oldest first."""
    values: list[Any] = []
    while chain is not None:
        values.append(chain.value)
        chain = chain.rest
    return values[::-1]
