"""The APIs that the gateway serves: the operations of each.

- `responses`: OpenAI's Responses API, stored responses included
- `registry`: which there are
"""
