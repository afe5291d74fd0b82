"""Retries, another model if the first one fails, and a log of every call."""

import logging

from llmcore import Anthropic, CallLog, Client, Fallback, OpenAI, sync

logging.basicConfig(level=logging.INFO)
providers = {"openai": OpenAI.configure(), "anthropic": Anthropic.configure()}
middleware = [CallLog(), Fallback(("anthropic", "claude-sonnet-4-5"))]
client = Client(providers=providers, default_provider="openai", middleware=middleware)
print(sync.generate("gpt-5.2", "Name a river.", client=client, max_retries=3).text)
