"""Whether anybody is there at the brokers' addresses, before a command waits for an answer.

A worker waits for its brokers as long as `kafka.give_up_after_s` says: they may be starting too. A person who asks something wants to hear
soon that nobody is there. A broker that takes the connection and is slow to let us in, by TLS or a password, is there.
"""

import socket
import threading
from queue import Empty, SimpleQueue
from typing import Final

from gregor.config.sections import KafkaSection
from gregor.errors import BrokerUnreachable

NOBODY_S: Final = 5.0
_RETRY_S: Final = 0.2


def require_somebody(kafka: KafkaSection) -> None:
    """Raises BrokerUnreachable when no address of `kafka.bootstrap` takes a connection within five seconds."""
    patience = min(NOBODY_S, kafka.give_up_after_s)
    there: SimpleQueue[None] = SimpleQueue()
    over = threading.Event()
    for address in kafka.bootstrap.split(","):
        # A name server that does not answer holds up its own thread alone.
        threading.Thread(target=_knock, args=(address.strip(), there, over), daemon=True).start()
    try:
        there.get(timeout=patience)
    except Empty:
        raise BrokerUnreachable(f"no Kafka broker answered at {kafka.bootstrap} within {patience:g} s") from None
    finally:
        over.set()


def _knock(address: str, there: "SimpleQueue[None]", over: threading.Event) -> None:
    """Until somebody opens, or it is over."""
    host, _, port = address.rpartition(":")
    while not over.is_set():
        try:
            with socket.create_connection((host.strip("[]"), int(port)), NOBODY_S):
                there.put(None)
                return
        except OSError:
            over.wait(_RETRY_S)
