"""Old names of `answering`."""

from llmcore.protocols.answering import empty_response as no_answer
from llmcore.protocols.answering import finish_events as finished
from llmcore.protocols.answering import invalid_value_error as unreadable
from llmcore.protocols.answering import map_finish_reason as stated_reason
from llmcore.protocols.answering import truncated as cut_short

__all__ = ["cut_short", "finished", "no_answer", "stated_reason", "unreadable"]
