"""The APIs that the gateway serves: the operations of each.

- `responses`: OpenAI's Responses API; `stored_responses`: its operations on stored responses
- `chat`: Chat Completions, with several choices
- `embeddings`: embeddings, as OpenAI and Google have them
- `registry`: which there are, and the lists of models of all
"""
