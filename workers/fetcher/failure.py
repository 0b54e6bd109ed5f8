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
    ClientResponseError,
    InvalidURL,
    ServerDisconnectedError,
)
from aiohttp.http_exceptions import HttpProcessingError

from schemas.fetched import Outcome
from workers.fetcher.addresses import AddressRefused
from workers.fetcher.attempt import Attempt
from workers.fetcher.body import NO_BODY
from workers.fetcher.decode import DecodingFailed
from workers.fetcher.port import Exchange

_log: Final = logging.getLogger("gregor.fetcher")


def failure_of(error: Exception, attempt: Attempt) -> Exchange:
    """The typed result of a request that raised. What was read of the body until then is kept."""
    if isinstance(error, AddressRefused) or (attempt.refused and not attempt.sockets):
        return attempt.ended("address-refused", attempt.refused or str(error))
    if isinstance(error, TimeoutError):
        return timeout_of(attempt)
    if isinstance(error, DecodingFailed):
        body = attempt.reader.so_far("length") if attempt.reader is not None else NO_BODY
        return attempt.ended("protocol", str(error), body)
    if isinstance(error, ClientPayloadError):
        broken = isinstance(error.__cause__, HttpProcessingError) and "length" not in str(error.__cause__).lower()
        body = attempt.reader.so_far("disconnect") if attempt.reader is not None else NO_BODY
        return attempt.ended("protocol" if broken else "disconnected", _said(error), body)
    outcome = _outcome(error)
    if outcome == "internal":
        _log.error("a request failed inside of gregor", exc_info=error, extra={"server": attempt.request.server})
    return attempt.ended(outcome, _said(error))


def timeout_of(attempt: Attempt) -> Exchange:
    body = attempt.reader.so_far("time") if attempt.reader is not None else NO_BODY
    return attempt.ended("timeout", f"the time for {attempt.phase} was over", body)


def _outcome(error: Exception) -> Outcome:
    match error:
        case ClientConnectorDNSError():
            return "dns"
        case ClientConnectorCertificateError() | ClientConnectorSSLError() | ssl.SSLError():
            return "tls"
        case ClientConnectorError():
            return "connect"
        case ServerDisconnectedError() | ClientOSError() | ConnectionError():
            return "disconnected"
        case ClientResponseError() | InvalidURL() | ClientError():
            return "protocol"
    return "internal"


def _said(error: Exception) -> str:
    text = str(error.__cause__ or error) or type(error).__name__
    return text if not isinstance(error, ClientResponseError) else error.message
