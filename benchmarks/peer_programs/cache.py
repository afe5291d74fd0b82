"""With LiteLLM."""

import litellm

litellm.cache = litellm.Cache(type="disk", ttl=3600)
for _ in range(10):
    print(
        litellm.completion(
            model="gpt-5.2", messages=[{"role": "user", "content": "Name a river."}], caching=True
        )
        .choices[0]
        .message.content
    )
