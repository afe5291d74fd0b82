"""The message and delta contract: the frozen, versioned form in which conversations are stored.

A `MessageEntry` is one stored message, a stream of `MessageDelta`s is a response that is still
coming. Everything here is pure; in reading order:

- `entries`: entries and their parts; `deltas`: deltas and their payloads
- `errors`: one class for each rule that can be broken
- `delta_fold`: from the events of a response to deltas; `assembly`: from deltas to an entry
- `run_rules`: what holds across the entries of a run
- `codec`: entries and deltas as JSON; `json_schema`: the JSON Schema of both
"""
