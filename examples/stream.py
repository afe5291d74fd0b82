"""Streams a response to the terminal."""

from llmcore import sync

for text in sync.stream("openai:gpt-5.2", "Tell me a story.").text_stream:
    print(text, end="", flush=True)
