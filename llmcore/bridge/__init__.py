"""OpenBridge: a Responses API server in front of any route.

A client that speaks only `POST /v1/responses` talks to the bridge, the bridge to whatever upstream
a route reaches. In reading order:

- `config`, `policy`: what is configured; `errors`: why a request has no answer
- `model_map`, `upstream`, `model_names`: which provider answers to a model's name
- `responses/`: requests and answers in the form of OpenAI's Responses API
- `fronts/`: what such forms share
- `drop_rejected_parameters`, `response_run`: one answer under way
- `state/`: where responses are kept
- `service`, `build`: the calls of the gateway
- `http/`: the same over HTTP

Nothing of OpenAI's format is read or written outside of `responses/` and
`llmcore.protocols.openai_responses`, which is the client's side of the same.
"""
