"""URLs: canonical form, fingerprints and placement, registered domains. Whether one may be crawled is decided in gregor/rules."""
