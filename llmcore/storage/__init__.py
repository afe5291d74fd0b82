"""The parts that the stores of sessions, of cached responses and of the gateway share.

- `sqlite`: files that several processes and threads open, also across forks
- `redis`: connections to a Redis server
- `postgres`: connections to a PostgreSQL server
- `hung_server`: remembering that one of these servers does not answer

Each store keeps only its own tables, keys and errors.
"""
