"""A real Kafka, one broker or three, on this machine without Docker."""
