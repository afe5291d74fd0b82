"""A conversation that is stored in a SQLite file, and continues when the program starts again.

The file is closed when the program ends; a `with` block closes it earlier.
"""

from llmcore import sync

print(sync.Conversation.open("chats.db", "trip").generate("openai:gpt-5.2", "Where is Oslo?").text)
