"""The model that runs on this machine.

In reading order: `model_files` (its file: found, fetched, checked), `embedded` (one
server process), `server` (those of a client: started on first use, stopped with it).
"""
