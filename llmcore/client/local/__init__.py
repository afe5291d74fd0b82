"""The model that runs on this machine.

In reading order: `model_files` (finding, downloading and checking its file), `embedded` (one
server process), `server` (the servers of a client: started on first use, stopped with it).
"""
