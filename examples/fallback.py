"""Retries, another model if the first one fails, and a log of every call.

Both providers need a key. The log goes to standard error: `LLMCORE_LOG=info python fallback.py`.
"""

from llmcore import sync

print(
    sync.generate(
        "openai:gpt-5.2", "Name a river.", max_retries=3, fallbacks=["anthropic:claude-sonnet-4-6"]
    ).text
)
