"""GitHub: the login and the tokens of Copilot.

In reading order: `api` (requests to GitHub), `device_flow` (the login in a browser), `login` (its
file), `copilot` (the short-lived tokens that a login is exchanged for).
"""
