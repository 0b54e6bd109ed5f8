"""What bench/sites.py measures beside the coordinator: coverage, the extractor's table, the way from a link to an order."""
