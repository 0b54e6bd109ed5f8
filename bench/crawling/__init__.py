"""Crawlers side by side on one site: the sites, the server, and each crawler as a process of its own."""
