"""How `knell web` was started: where it listens, under which names, and what it may do."""

import os
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from knell.core.errors import BadRequest

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - it is refused
USUAL_PORTS = {"http": 80, "https": 443}  # which browsers leave out


class WebOptions(NamedTuple):
    env: Mapping[str, str] = os.environ
    host: str = "127.0.0.1"
    port: int = 0
    tls_cert: str = ""
    tls_key: str = ""
    behind_proxy: str = ""  # the origin under which a proxy serves it: https://agents.example
    readonly: bool = False
    fleet: bool = False  # other hosts too


class WebNames(NamedTuple):
    """Under which names browsers may reach the server."""

    hosts: frozenset[str]  # as the header Host has them
    origins: frozenset[str]
    address: str  # that is printed
    secure: bool  # browsers reach it by https only


def check(options: WebOptions) -> None:
    """Refuses an address that others reach, unless what they send and get is encrypted."""
    if options.host in EVERYWHERE:
        raise BadRequest(
            f"--host {options.host or repr('')} is no name that a browser could use",
            "name the one address or host name by which browsers reach this machine",
        )
    if bool(options.tls_cert) != bool(options.tls_key):
        raise BadRequest("--tls-cert and --tls-key belong together")
    if options.behind_proxy:
        _check_proxy(options.behind_proxy)
    elif options.host not in LOOPBACK and not options.tls_cert:
        raise BadRequest(
            f"other machines reach {options.host}: what they send and get must be encrypted",
            "add --tls-cert FILE --tls-key FILE, or --behind-proxy https://NAME",
        )
    if options.tls_cert:
        _check_tls(options)


def _check_proxy(origin: str) -> None:
    parts = urlsplit(origin)
    odd = parts.path or parts.query or parts.fragment or parts.username
    if parts.scheme not in USUAL_PORTS or not parts.hostname or odd:
        raise BadRequest(
            f"--behind-proxy needs the address that browsers see, not {origin!r:.80}",
            "for example --behind-proxy https://agents.example",
        )
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise BadRequest("the proxy must serve browsers by https", f"https://{parts.netloc}")


def _check_tls(options: WebOptions) -> None:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            options.tls_cert, options.tls_key, password=""
        )
    except (OSError, ValueError) as error:  # missing, no certificate, a key of another one
        told = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error)
        raise BadRequest(
            f"the TLS files cannot be used: {told}",
            "--tls-cert takes a certificate in PEM, --tls-key its own key without a password",
        ) from error


def names(options: WebOptions, port: int) -> WebNames:
    """`port`: on which it listens."""
    if options.behind_proxy:
        parts = urlsplit(options.behind_proxy)
        hosts = frozenset({parts.netloc.lower()})
        origin = f"{parts.scheme}://{parts.netloc}".lower()
        return WebNames(hosts, frozenset({origin}), origin, secure=parts.scheme == "https")
    scheme = "https" if options.tls_cert else "http"
    known = LOOPBACK if options.host in LOOPBACK else (options.host.lower(),)
    hosts = frozenset(f"{_bracketed(name)}:{port}" for name in known)
    if port == USUAL_PORTS[scheme]:
        hosts |= {_bracketed(name) for name in known}
    origins = frozenset(f"{scheme}://{host}" for host in hosts)
    address = f"{scheme}://{_bracketed(options.host)}:{port}"
    return WebNames(hosts, origins, address, secure=scheme == "https")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
