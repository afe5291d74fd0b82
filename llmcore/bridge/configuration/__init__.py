"""How the gateway is configured: by variables, a `.env` file, and `openbridge.toml`.

- `settings`: the values, and how they are read from variables
"""
