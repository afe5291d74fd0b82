"""OpenBridge: a gateway that speaks the Responses API in front of any route.

A client that speaks only `POST /v1/responses` talks to the bridge, the bridge to whatever upstream
a route reaches. In reading order:

- `config`, `policy`, `tools_file`: what is configured; `errors`: why a request has no answer
- `model_map`, `upstream`, `model_names`: which provider answers to a model's name
- `drop_rejected_parameters`, `response_run`: one answer under way
- `front`: one API that clients speak: operations that return JSON, or an answer to run
- `fronts/`: what fronts share, and which there are
- `responses/`: the front of OpenAI's Responses API
- `state/`: where responses are kept
- `service`, `build`: what all fronts are built on
- `http/`: the fronts over HTTP

Nothing of OpenAI's format is read or written outside of `responses/` and
`llmcore.protocols.openai_responses`, which is the client's side of the same.
"""
