"""Retries, another model if the first one fails, and a log of every call."""

import logging

from llmcore import Anthropic, CallLog, Client, Fallback, OpenAI, sync

logging.basicConfig(level=logging.INFO)
client = Client(
    providers={"openai": OpenAI(), "anthropic": Anthropic()},
    default_provider="openai",
    middleware=[CallLog(), Fallback(("anthropic", "claude-sonnet-4-5"))],
)
print(sync.generate("gpt-5.2", "Name a river.", client=client, max_retries=3).text)
