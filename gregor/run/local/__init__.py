"""A whole small cluster on this machine: brokers, and workers of every role as processes. It starts and watches, and reads no record."""
