"""The frontier: which URLs are new, in which order they are fetched, and when. Who looks in from outside comes through inspect.py."""
