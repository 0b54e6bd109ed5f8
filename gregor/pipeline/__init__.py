"""The wiring: which stages exist, who runs them, when a crawl is done."""
