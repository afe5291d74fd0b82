"""Any server with the Chat Completions API."""

from llmcore import OpenAICompatible, sync

acme = OpenAICompatible(name="acme", base_url="https://llm.acme.example/v1")
print(sync.generate(acme.model("acme-large"), "Hello").text)  # the key is ACME_API_KEY
