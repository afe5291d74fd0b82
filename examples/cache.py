"""A response cache in a SQLite file: equal requests are sent only once."""

from llmcore import Client, ResponseCache, SqliteCache, sync

client = Client.from_env(middleware=[ResponseCache(SqliteCache("cache.db"), ttl_s=3600)])
for _ in range(10):
    print(sync.generate("openai:gpt-5.2", "Name a river.", client=client).text)
