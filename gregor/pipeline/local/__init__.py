"""A whole small cluster on this machine: brokers, and workers of every role as processes."""
