"""Answers that are kept in a SQLite file: an equal request is sent once."""

from llmcore import Client, OpenAI, ResponseCache, SqliteCache, sync

model = OpenAI().responses("gpt-5.2")
client = Client(middleware=[ResponseCache(SqliteCache("answers.db"), ttl_s=3600)])
for _ in range(10):
    print(sync.generate(model, "Name a river.", client=client).text)
