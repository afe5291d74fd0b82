"""The gateway's pages for people, below `/ui`: requests as they happen, plots, a playground.

- `feed`: the last requests, in memory
- `capture`: the middleware that writes them there
- `operations`: the page, and the JSON that it reads
- `ui.js`, `playground.js`: the page's script, after that of `llmcore.inspector`
"""
