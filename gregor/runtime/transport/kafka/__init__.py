"""The transport on a Kafka cluster: consumer groups, transactions, changelogs. Stages and loops import no Kafka client."""
