"""The frontier: decides which URLs are new, in which order they are fetched, and when."""
