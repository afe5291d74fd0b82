"""Background answers: made while no client waits, polled, streamed again, cancelled.

Source: https://developers.openai.com/api/docs/guides/background, read November 2026.

- `event_log`: the events of one answer, in memory and in the store
- `lifecycle`: who makes an answer and how it ended, for all processes that share a store
- `answers`: the answers that this process makes
- `replay`: a stream of an answer's events, from the first one or after a given one
"""
