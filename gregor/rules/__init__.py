"""May a URL be crawled? One rule in one place, for the extractor, the frontier, explain, replay and seeds alike."""
