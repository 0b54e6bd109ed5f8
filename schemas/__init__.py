"""The records that travel through Kafka, one file a topic."""
