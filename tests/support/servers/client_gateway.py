"""The gateway as the tests of real clients have it."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from tests.support.servers.bridge_process import Gateway
from tests.support.servers.loopback import Loopback

SEAL_KEY = "the key of recorded conversations"
"""The key of the recordings, which reads sealed state when they are replayed."""


@frozen
class Bridge:
    """The gateway as clients reach it, and what its upstream got."""

    url: str
    gateway: Gateway
    upstream: Loopback
    before: int = 0
    """How many lines its log had when the test began."""

    def lines(self) -> Sequence[Any]:
        """Return the lines of its log since the test began."""
        return self.gateway.lines[self.before :]
