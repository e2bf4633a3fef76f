"""``fairgate live serve``: the service and the page of a gate."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from fairgate.cli.live.options import Config
from fairgate.cli.options import Allow, say
from fairgate.errors import InputError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    config: Config = Path("gate.toml"),
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; that of the file, 127.0.0.1 if it has none.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; that of the file, 8000 if it has none.")] = None,
    workers: Annotated[int, typer.Option(help="Processes; each keeps metrics of its own.")] = 1,
    tls_certificate: Annotated[Path | None, typer.Option(help="File of a certificate, to serve HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="File of its key.")] = None,
    allow: Allow = None,
) -> None:
    """Serve a gate and its page until told to stop; what was acknowledged is on disk by then."""
    from fairgate.live.config import read_config
    from fairgate.live.service.server import run

    if not 1 <= workers <= 64:
        raise InputError(f"--workers must be 1 to 64, got {workers}")
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"--port must be 0 to 65535, got {port}")
    if (tls_certificate is None) != (tls_key is None):
        only = "--tls-key" if tls_certificate is None else "--tls-certificate"
        raise InputError(f"--tls-certificate and --tls-key must be given together, got only {only}")
    for name, file in (("--tls-certificate", tls_certificate), ("--tls-key", tls_key)):
        if file is not None and not file.is_file():
            raise InputError(f"{name} must be a file, got {file}")
    asked = {"host": host, "port": port}
    settings = read_config(config, allow or ())
    settings = settings.model_copy(update={name: value for name, value in asked.items() if value is not None})

    log = logging.getLogger("fairgate.live")
    inform, warn = (say, say) if settings.log == "text" else (log.info, log.warning)  # nothing beside the JSON

    def tell(address: str) -> None:
        names = ", ".join(spec.name for spec in settings.gates)
        inform(f"Gate {names}: page {address}/, API {address}/v1/gates/{settings.gates[0].name}")
        inform(f"The API is described at {address}/docs; stop it with Ctrl-C")
        if settings.host not in LOOPBACK and tls_certificate is None and not settings.behind_proxy:
            warn(
                f"Warning: {settings.host} can be reached from other machines, and keys are sent in the clear: put a "
                "proxy that ends TLS in front and set behind_proxy, or give --tls-certificate and --tls-key"
            )

    run(settings, tell, workers=workers, certificate=tls_certificate, key=tls_key)
