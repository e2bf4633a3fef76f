"""Proxies: who asks and how, as the proxy in front says; what came to the proxy from outside is not believed."""

from __future__ import annotations

import ipaddress

from starlette.types import ASGIApp, Receive, Scope, Send


class Forwarded:
    """Takes address and scheme of a request from the headers that the proxy in front wrote.

    A proxy adds the address that it sees to the end of `X-Forwarded-For`; all before it is what the client sent, who
    may send anything. So only the last entry counts, also if there are further proxies behind that one. An entry that
    is no address of the Internet changes nothing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as one of the client."""
        if scope["type"] == "http":
            host, scheme = host_of(last_of(scope, b"x-forwarded-for")), last_of(scope, b"x-forwarded-proto")
            if is_address(host):
                scope["client"] = (host, 0)
            if scheme in ("http", "https"):
                scope["scheme"] = scheme
        await self._app(scope, receive, send)


def last_of(scope: Scope, name: bytes) -> str:
    """Return the last entry of a header that is a list, on one line or on several; nothing if it is not there."""
    lines: list[bytes] = [value for header, value in scope["headers"] if header == name]
    return lines[-1].decode("latin-1").rpartition(",")[2].strip() if lines else ""


def host_of(address: str) -> str:
    """Return an address without its port.

    >>> [host_of(each) for each in ("192.0.2.7", "192.0.2.7:4711", "[2001:db8::1]:4711", "2001:db8::1")]
    ['192.0.2.7', '192.0.2.7', '2001:db8::1', '2001:db8::1']
    """
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def is_address(host: str) -> bool:
    """Whether a text is an address, of IP version 4 or 6.

    >>> [is_address(each) for each in ("192.0.2.7", "2001:db8::1", "unknown", "")]
    [True, True, False, False]
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
