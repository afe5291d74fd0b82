"""The APIs that the gateway serves: the operations of each.

- `responses`: OpenAI's Responses API, stored responses included
- `chat`: Chat Completions, with several choices
- `embeddings`: embeddings, as OpenAI and Google have them
- `registry`: which there are
"""
