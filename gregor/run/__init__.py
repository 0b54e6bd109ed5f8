"""The wiring: which roles exist, who runs them where, when a crawl is done. What a role does is in its own folder, never here."""
