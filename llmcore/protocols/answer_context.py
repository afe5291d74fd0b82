"""Old names of `answering`."""

from llmcore.protocols.answering import StreamContext as AnswerContext
from llmcore.protocols.answering import StreamContext as FunctionsContext
from llmcore.protocols.answering import StreamContext as PlannedContext
from llmcore.protocols.answering import stream_context as planned_context

__all__ = ["AnswerContext", "FunctionsContext", "PlannedContext", "planned_context"]
