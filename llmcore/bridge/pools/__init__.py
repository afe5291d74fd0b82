"""Several upstreams behind one name: keys, health, the choice of a target, and fallback.

- `keys`: keys that change while the gateway runs
- `providers`: the client of all configured upstreams
- `health`: cool-downs and the circuit as values; `upstream_health`: those of this worker;
  `shared_health`: those of all workers of one store
- `shared_limits`: the places at upstreams that all workers of one ledger share
- `affinity`: the conversation of a request; `choice`: the target that it gets
- `pooled_run`: a response that is requested from one target after the other
"""
