"""With LiteLLM."""

import litellm

litellm.max_budget = 5.0
result = litellm.completion(model="gpt-5.2", messages=[{"role": "user", "content": "Hi"}])
print(result.choices[0].message.content, litellm.completion_cost(result))
