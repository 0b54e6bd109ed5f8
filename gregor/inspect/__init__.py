"""A crawl's records looked at afterwards: one URL explained, all promises audited, the frontier replayed. Only reads."""
