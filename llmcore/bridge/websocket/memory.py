"""The conversations that a connection remembers: the latest one of each lane.

Requests with `store: false` can continue them by `previous_response_id`, although no response is
stored. They are deleted when the connection ends.
"""

from collections.abc import Iterator, Mapping

from llmcore.fronts.openai_responses.state import StoredConversation


class SocketMemory(Mapping[str, StoredConversation]):
    """Conversations by the ids of responses. A lane's next response takes the place of its last.

    *max_messages* bounds a conversation: a longer one is not remembered, so that its client sends
    it whole.
    """

    def __init__(self, max_messages: int) -> None:
        self._max_messages = max_messages
        self._latest: dict[str | None, tuple[str, StoredConversation]] = {}

    def remember(
        self, lane: str | None, response_id: str, conversation: StoredConversation
    ) -> None:
        """Keep the conversation up to a response of *lane*, and forget the last one there."""
        if len(conversation.messages) > self._max_messages:
            self._latest.pop(lane, None)
        else:
            self._latest[lane] = (response_id, conversation)

    def forget(self, response_id: object) -> None:
        """Forget a response, whose continuation failed."""
        for lane, (known, _) in list(self._latest.items()):
            if known == response_id:
                del self._latest[lane]

    def __getitem__(self, response_id: str) -> StoredConversation:
        for known, conversation in self._latest.values():
            if known == response_id:
                return conversation
        raise KeyError(response_id)

    def __iter__(self) -> Iterator[str]:
        return iter([known for known, _ in self._latest.values()])

    def __len__(self) -> int:
        return len(self._latest)
