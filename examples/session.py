"""A conversation that is kept in a SQLite file, and continues when the program starts again."""

from llmcore import sync

with sync.Conversation.open("chats.db", "trip") as chat:
    print(chat.generate("openai:gpt-5.2", "Where is Oslo?").text, len(chat.entries))
