"""The one error of this package: something that Kafka needs here is missing or did not start."""


class KafkaError(Exception):
    """Says what was expected, what was found and what to do; programs print it without a traceback."""


class PortTaken(KafkaError):
    """A broker could not bind its port; with ports of our own choice another try may succeed."""
