"""Streaming an answer to the terminal."""

from llmcore import sync

with sync.stream("openai:gpt-5.2", "Tell me a story.") as story:
    for text in story.text_stream:
        print(text, end="", flush=True)
