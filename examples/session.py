"""A conversation that is kept in a SQLite file, and continues when the program starts again."""

import asyncio

from llmcore import Conversation, OpenAI
from llmcore.sessions.sqlite_store import SQLiteStore

model = OpenAI.configure().responses("gpt-5.2")


async def main() -> None:
    async with SQLiteStore("chats.db") as store:
        chat = await Conversation.open(store, "trip")
        print((await chat.generate(model, "Where is Oslo?")).text, len(chat.entries))


asyncio.run(main())
