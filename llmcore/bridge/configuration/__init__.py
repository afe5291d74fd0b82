"""How the gateway is configured: by variables, a `.env` file, and `openbridge.toml`.

- `settings`: the values
- `document`: the configuration file, with the line of each key
- `tables`: upstreams, models and clients of the file
- `values`: one setting after another, from its variable or the file
- `reading`: all settings
- `show`: the effective settings as text
- `example.toml`: the commented file that `openbridge config init` writes
"""
