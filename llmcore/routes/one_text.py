"""Reads a stream that is one text without the states of its protocol's machine.

    data: {"choices": [{"delta": {"role": "assistant"}}]}    opening: the start of the stream
    data: {"choices": [{"delta": {"content": "Hel"}}]}       opening: the start of the text
    data: {"choices": [{"delta": {"content": "lo"}}]}        read by `TextSoFar.reader`
    data: {"choices": [{"finish_reason": "stop"}]}           closing
    data: [DONE]                                             closing: all ends

Most streams are such a text. A protocol's `one_text` knows which frames those are, by types that
have no place for anything else, and gives the events that the machine and the folds would. At the
first frame that may be more, it ends, and the machine reads on: `OneText` keeps the few frames
around the deltas, which bring the machine to the same state. Deltas do not change it, or the reader
of the deltas knows the state after them.

Of a stream with one delta, without a network, that saves 28 % of the instructions in Chat
Completions, 26 % in Responses, 14 % in Gemini and 11 % in Messages.
"""

from collections.abc import Callable, Sequence
from typing import Final

from llmcore.protocols.protocol import FastReader, Frame, TextFrames, TextSoFar
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.request import LLMRequest

_ENDED: Final = (StopIteration, ValueError, RecursionError, LLMError)
"""Raised by a frame that may be more, or that cannot be read: the machine finds out."""


class OneText:
    """A stream that is one text so far."""

    def __init__(
        self, read: Callable[[LLMRequest, TextSoFar], TextFrames], request: LLMRequest
    ) -> None:
        self._text = TextSoFar()
        self.opening: list[Frame] = []
        """The frames up to the one that begins the text."""
        self.closing: list[Frame] = []
        """The frames after the deltas."""
        self._before_closing = 0
        """How many chunks of the text came before those frames."""
        self._frames = read(request, self._text)
        next(self._frames, None)

    def read(self, frame: Frame | None) -> Sequence[LLMEvent] | None:
        """Return the events of *frame*, complete; None if the state machine has to read it.

        A *frame* of None is the end of the bytes.
        """
        kept = self.opening if self._text.reader is None else self.closing
        count = len(self._text.chunks)
        try:
            events = self._frames.send(frame)
        except _ENDED:
            return None
        if frame is not None:
            if not self.closing:
                self._before_closing = count
            kept.append(frame)
        return events

    @property
    def reader(self) -> FastReader | None:
        """The reader of the frames that only add to the text; None before it begins."""
        return self._text.reader

    @property
    def chunks(self) -> list[str]:
        """The text so far."""
        return self._text.chunks

    @property
    def deltas(self) -> list[str]:
        """The text before the frames that close it, which may have brought more of it."""
        return self.chunks[: self._before_closing] if self.closing else self.chunks

    def run(self) -> tuple[FastReader, list[str]] | None:
        """Return the reader and the text while frames may only add to it."""
        reader = self._text.reader
        return None if reader is None or self.closing else (reader, self._text.chunks)
