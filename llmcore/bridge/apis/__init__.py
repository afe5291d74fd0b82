"""The APIs that the gateway serves: the operations of each.

- `responses`: OpenAI's Responses API, stored responses included
- `chat` and `messages`: Chat Completions and Messages, with state for clients that drop it
- `embeddings`: embeddings, as OpenAI and Google have them
- `registry`: which there are
"""
