"""Whom a request's messages are lowered for."""

from attrs import frozen

from llmcore.protocols.history import HistoryPolicy
from llmcore.schema.request import LLMRequest


@frozen(kw_only=True)
class MessageTarget:
    """Whom messages are lowered for."""

    policy: HistoryPolicy
    keys: frozenset[str]
    """Under which ids native parts are this API's own."""

    @property
    def metadata_key(self) -> str:
        """Where replayed provider data stands."""
        return self.policy.metadata_key


def native_keys(request: LLMRequest, *ids: str) -> frozenset[str]:
    """Return the ids under which native parts are the target's own: *ids*, and its provider's."""
    return frozenset(filter(None, (*ids, request.provider_id)))
