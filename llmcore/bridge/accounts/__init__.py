"""Access of clients: issued keys, rates and budgets.

In reading order:

- `issued_key`: a key and its limits
- `issued_keys`: keys in the ledger, and finding the one that a client shows
- `prices`: what responses cost
- `largest_use`: the most that a response can use
- `usage`: what a response used
- `meters`: the rates and budgets that limit a response, and the amount it takes of each
- `charges`: the reservation before each response, and the charge after it
- `admin`: the operations that manage keys, for holders of the admin key

What is used of a limit is the level of a meter in the ledger (`state.ledger`), which `levels`
reads. The gateway's own rate is counted there only if workers share their state (`charges`), and
else by the process itself (`http.access.CallerRates`).
"""
