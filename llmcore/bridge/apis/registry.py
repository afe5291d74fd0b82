"""The fronts that the gateway serves; the only place that names each of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmcore.bridge.api import Api

if TYPE_CHECKING:
    from llmcore.bridge.service import Service


def fronts(service: "Service") -> Sequence[Api]:
    """Return every front, over *service*. Errors of unknown paths are in the form of the first."""
    from llmcore.bridge.apis.responses import responses_front

    return (responses_front(service),)
