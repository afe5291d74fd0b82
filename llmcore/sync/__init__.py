"""The library for code that is not asynchronous: the same functions and client, blocking.

    from llmcore import sync

    with sync.stream("gpt-5.2", "Hi", provider="openai") as events:
        for text in events.text_stream:
            print(text, end="")

They may be used inside of a running event loop, such as a notebook's, from any thread, and after
a fork. In reading order: `calls`, `client` and `conversation` (what callers use), `streams` (what
they get), `mcp` (servers of tools), `iterate` (reading a stream from outside),
`background` (the event loop).
"""

from typing import TYPE_CHECKING

from llmcore.generation.default_client import set_default_client as set_default_client
from llmcore.lazy_names import lazy_names
from llmcore.sync.background import shutdown as shutdown
from llmcore.sync.calls import embed as embed
from llmcore.sync.calls import embed_many as embed_many
from llmcore.sync.calls import generate as generate
from llmcore.sync.calls import generate_image as generate_image
from llmcore.sync.calls import generate_many as generate_many
from llmcore.sync.calls import generate_object as generate_object
from llmcore.sync.calls import generate_speech as generate_speech
from llmcore.sync.calls import rerank as rerank
from llmcore.sync.calls import retry as retry
from llmcore.sync.calls import run_batch as run_batch
from llmcore.sync.calls import stream as stream
from llmcore.sync.calls import stream_object as stream_object
from llmcore.sync.calls import stream_speech as stream_speech
from llmcore.sync.calls import transcribe as transcribe
from llmcore.sync.client import CachedContents as CachedContents
from llmcore.sync.client import Client as Client
from llmcore.sync.conversation import Conversation as Conversation
from llmcore.sync.streams import ByteStream as ByteStream
from llmcore.sync.streams import EventStream as EventStream
from llmcore.sync.streams import StreamObjectResult as StreamObjectResult
from llmcore.sync.streams import StreamResult as StreamResult

if not TYPE_CHECKING:  # type checkers report wrong names by themselves
    _others = {"TYPE_CHECKING", "lazy_names", "background", "calls", "client"}
    _others |= {"conversation", "iterate", "streams", "mcp"}
    _names = " ".join(name for name in globals() if name[0].isalpha() and name not in _others)
    __getattr__, __dir__, __all__ = lazy_names(
        __name__, {__name__: _names}, lambda: {"llmcore.sync.mcp": "McpServers"}
    )
