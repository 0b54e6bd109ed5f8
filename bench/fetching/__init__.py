"""The parts of the fetcher's benchmark: servers to fetch from, and what fetches."""
