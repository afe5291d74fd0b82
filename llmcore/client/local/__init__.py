"""The model that runs on this machine.

In reading order: `model_files` (finding, downloading and checking its file), `embedded` (its
server in this process, and the servers of a client).
"""
