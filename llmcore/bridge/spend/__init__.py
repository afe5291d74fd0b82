"""The use and the cost of answers.

- `row`: one answer
- `journal`: rows on their way to the store, in a file that outlives its process
- `writer`: the queue of answers that ended, and the thread that writes them
- `report`: rows added up by key, model or day
"""
