"""OpenBridge: a gateway that speaks the APIs of OpenAI, Anthropic and Google in front of any route.

A client uses its own API, and the gateway calls whatever upstream a route
reaches. In reading order:

- `configuration/`, `tools_file`: what is configured
- `model_map`, `upstream`, `model_names`: which provider answers to a model's name
- `pools/`: several upstreams behind one name
- `upstream_call`, `drop_rejected_parameters`, `rejected_betas`: one call of an upstream
- `response_run`: one response under way; `translated_run`: one that is translated; `paused_turn`:
  one that its upstream has paused, and that is continued; `relay`: one that passes as it came,
  `relayed_request`: its request, `relayed_bytes`: its bytes; `choices`: several responses as one
- `api`: one API that clients speak: operations that return JSON, or a response to run
- `counting`: counts of tokens
- `generation`: the operations that all fronts have; `apis/`: the APIs that are served
- `accounts/`, `spend/`: who may use the gateway and how much; what responses used and cost
- `savings`: responses that are given again, and marks for caches of prompts
- `background/`: responses that no client waits for
- `websocket/`: the Responses API over WebSockets
- `state/`: where responses and accounts are kept
- `reload`: settings that are read again while the gateway runs
- `service`, `health_check`: what all APIs are built on; `build`: its version
- `http/`: the APIs over HTTP; `ui/`: the page for people
"""
