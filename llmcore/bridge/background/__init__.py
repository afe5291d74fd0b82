"""Background responses: made while no client waits, polled, streamed again, cancelled.

Source: https://developers.openai.com/api/docs/guides/background, read November 2026.

- `event_log`: the events of one response, in memory and in the store
- `lifecycle`: who makes a response and how it ended, for all processes that share a store
- `places`: which of those that wait is made next
- `responses`: the responses that this process makes
- `replay`: a stream of a response's events, from the first one or after a given one
"""
