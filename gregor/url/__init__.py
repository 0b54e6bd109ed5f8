"""URLs: canonical form, fingerprints and placement, registered domains."""
