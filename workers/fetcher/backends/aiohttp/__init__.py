"""HTTP/1.1 by aiohttp: one request, one exchange, every phase within its caps."""
