"""The cost of a response, and a budget after which nothing is sent."""

from llmcore import Client, CostBudget, sync

client = Client.from_env(middleware=[CostBudget(usd=5.0)])
result = sync.generate("openai:gpt-5.2", "Hi", client=client)
print(result.text, result.cost)
