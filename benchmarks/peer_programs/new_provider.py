"""With openai."""

import os

from openai import OpenAI

print(
    OpenAI(base_url="https://llm.acme.example/v1", api_key=os.environ["ACME_API_KEY"])
    .chat.completions.create(model="acme-large", messages=[{"role": "user", "content": "Hello"}])
    .choices[0]
    .message.content
)
