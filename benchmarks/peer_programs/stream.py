"""With pydantic-ai."""

from pydantic_ai import Agent

for text in Agent("openai:gpt-5.2").run_stream_sync("Tell me a story.").stream_text(delta=True):
    print(text, end="", flush=True)
