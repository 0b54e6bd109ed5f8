"""Who carries out a request: backend.py is the contract, registry.py leads from a name to its folder, each one way to keep it."""
