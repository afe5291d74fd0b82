"""The use and the cost of responses.

- `row`: one response
- `journal`: rows on their way to the store, in a file that outlives its process
- `running`: notes in it of what running responses have used
- `writer`: the queue of responses that ended, and the thread that writes them
- `report`: rows added up by key, model or day
"""
