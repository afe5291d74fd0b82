"""Streaming an answer to the terminal."""

from llmcore import OpenAI, sync

with sync.stream(OpenAI().responses("gpt-5.2"), "Tell me a story.") as story:
    for text in story.text_stream:
        print(text, end="", flush=True)
