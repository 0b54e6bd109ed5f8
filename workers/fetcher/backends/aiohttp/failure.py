"""What an exception out of aiohttp means, as an exchange: the one place that knows its exceptions."""

import logging
import ssl
from typing import Final

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientConnectorSSLError,
    ClientError,
    ClientOSError,
    ClientPayloadError,
    InvalidURL,
    ServerDisconnectedError,
)
from aiohttp.http_exceptions import ContentLengthError, HttpProcessingError, TransferEncodingError

from gregor.runtime.unforeseen import tell_unforeseen
from schemas.fetched import Outcome
from workers.fetcher.addresses import AddressRefused
from workers.fetcher.backends.aiohttp.attempt import Attempt
from workers.fetcher.backends.backend import Exchange
from workers.fetcher.body import NO_BODY, TooDense

_INCOMPLETE: Final = (ContentLengthError, TransferEncodingError)
_log: Final = logging.getLogger("gregor.fetcher")


def failure_of(error: Exception, attempt: Attempt) -> Exchange:
    """The typed result of a request that raised. What was read of the body until then is kept."""
    if isinstance(error, AddressRefused) or (attempt.refused and not attempt.sockets):
        return attempt.ended("address-refused", attempt.refused or str(error))
    if isinstance(error, TimeoutError):
        return timeout_of(attempt)
    body = attempt.reader.so_far("disconnect") if attempt.reader is not None else NO_BODY
    outcome = _outcome(error)
    if outcome == "internal":
        tell_unforeseen(_log, "a request failed inside of gregor", attempt.request.server, error)
    return attempt.ended(outcome, _said(error), body)


def timeout_of(attempt: Attempt) -> Exchange:
    body = attempt.reader.so_far("time") if attempt.reader is not None else NO_BODY
    return attempt.ended("timeout", f"the time for {attempt.phase} was over", body)


def _outcome(error: Exception) -> Outcome:
    match error:
        case ClientPayloadError():
            # Broken chunks are a fault of the server, missing ones may be the network's.
            broken = isinstance(error.__cause__, HttpProcessingError) and not isinstance(error.__cause__, _INCOMPLETE)
            return "protocol" if broken else "disconnected"
        case ClientConnectorDNSError():
            return "dns"
        case ClientConnectorCertificateError() | ClientConnectorSSLError() | ssl.SSLError():
            return "tls"
        case ClientConnectorError():
            return "connect"
        case ServerDisconnectedError() | ClientOSError() | ConnectionError():
            return "disconnected"
        case HttpProcessingError() | TooDense() | InvalidURL() | ClientError():
            return "protocol"
    return "internal"


def _said(error: Exception) -> str:
    if isinstance(error, HttpProcessingError):
        return error.message
    return str(error.__cause__ or error) or type(error).__name__
