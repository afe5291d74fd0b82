"""The use and the cost of answers.

- `row`: one answer
- `writer`: the queue of answers that ended, and the thread that writes them
- `report`: rows added up by key, model or day
"""
