"""The transport on a Kafka cluster: consumer groups, transactions, changelogs."""
