"""With LangChain."""

from langchain.chat_models import init_chat_model
from langchain_community.cache import SQLiteCache

model = init_chat_model("openai:gpt-5.2", cache=SQLiteCache("answers.db"))
for _ in range(10):
    print(model.invoke("Name a river.").text)
