"""Where the state of gateways is kept: responses and accounts.

- `call_states`: sealed state of calls, for clients that drop it
- `store`: the interface, and records as bytes
- `sqlite` (a file, or memory), `redis`, `postgres`: the backends
- `ledger`: the interface of the store of accounts: keys, budgets, rates, spend
- `ledger_sql`, `ledger_redis`: its backends
- `stores`: the ones that the settings ask for
"""
