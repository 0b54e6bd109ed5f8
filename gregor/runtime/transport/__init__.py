"""What carries records between stages: one port, two engines (Kafka and the embedded log). Neither looks into a record."""
