"""With LiteLLM; `LITELLM_LOG=INFO` writes the log."""

from litellm import completion

print(
    completion(
        model="gpt-5.2",
        messages=[{"role": "user", "content": "Name a river."}],
        num_retries=3,
        fallbacks=["anthropic/claude-sonnet-4-6"],
    )
    .choices[0]
    .message.content
)
