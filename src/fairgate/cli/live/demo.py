"""``fairgate live demo``: a made-up lender against a real service, beside what a simulation says."""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import ExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

import fairgate as fg
from fairgate.cli.options import Allow, Batch, Seed, check_size, say
from fairgate.errors import InputError
from fairgate.importing import allowed_names
from fairgate.places import find_task
from fairgate.tail import TAIL

if TYPE_CHECKING:
    from fairgate.live.comparison import Final, Standing
    from fairgate.live.demo import Lender

SEEDS = 50
"""Loops of the simulation that the lender is compared with."""

RECENT = 20
"""Rounds whose means are shown while it runs."""


def demo(
    task: Annotated[str, typer.Option(help="Whose people apply: see `fairgate list`.")] = "interior",
    learner: Annotated[str, typer.Option(help="Who learns, such as safe-forecast or mixture.")] = "safe-forecast",
    rounds: Annotated[int, typer.Option(help="Rounds to play.")] = 400,
    batch: Batch = 200,
    late: Annotated[int, typer.Option(help="Rounds after which an outcome is reported.")] = 30,
    seed: Seed = 0,
    pace: Annotated[float, typer.Option(help="Least seconds per round.")] = 0.15,
    port: Annotated[int, typer.Option(help="Port of the service; 0 is any that is free.")] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="Go on serving in the end, and leave the database.")] = False,
    url: Annotated[str | None, typer.Option(help="A running service to use instead of one of its own.")] = None,
    gate: Annotated[str, typer.Option(help="The gate's name there.")] = "demo",
    key: Annotated[str | None, typer.Option(help="A key of it: decide, rounds, outcomes, read.")] = None,
    allow: Allow = None,
) -> None:
    """Watch a gate learn: a made-up lender sends applicants and late outcomes over HTTP, and people respond."""
    from fairgate.live.client import Client
    from fairgate.live.comparison import best_standing, finals
    from fairgate.live.demo import Lender, Population, rounded, spec_of, task_of
    from fairgate.live.demo_service import Place, own_service
    from fairgate.live.prediction import predict
    from fairgate.live.spec import Spec

    chosen = rounded(find_task(task))
    check_size(rounds=rounds, tail=1, seed=seed, batch=batch)
    if late < 0 or pace < 0:
        raise InputError(f"--late and --pace must be at least 0, got {late} and {pace:g}")
    if url is not None and key is None:
        raise InputError("--key must be given with --url: a key of scopes decide, rounds, outcomes and read")
    with ExitStack() as stack:
        if url is None or key is None:
            own = spec_of(chosen, learner, seed=seed)
            place, named = stack.enter_context(own_service(own, port, keep)), own.trust.allow
        else:
            place, named = Place(url, gate, key), allowed_names(allow or ())
        client = stack.enter_context(Client(place.url, place.gate, place.key))
        spec = Spec.stored(client.log(limit=1)[0].body["spec"], named)
        chosen = task_of(chosen, spec)
        say(f"Page: {place.url}/" + (f"\nKey:  {place.page_key}" if place.page_key else ""))
        say(f"What {SEEDS} loops of fg.simulate and the oracle say of {chosen.name} …", errors=True)
        expected = predict(chosen, spec.make_learner(), rounds, SEEDS, batch=batch, late=late, seed=seed)
        best = fg.oracle(chosen.at(rounds - 1)).best
        people = Population(chosen, seed, late)
        prefix = f"demo-{uuid.uuid4().hex[:8]}" if url else "demo"
        closes = spec.rounds.people is None and spec.rounds.seconds is None
        lender = Lender(client, people, spec.groups, batch, closes=closes, prefix=prefix)
        with suppress(KeyboardInterrupt):
            watch(lender, chosen, expected, best_standing(chosen, best), pace)
        if lender.round:
            run = lender.record.run(chosen)
            show_finals(finals(run, expected, best), lender, late)
        if keep and url is None:
            say(f"The service goes on at {place.url}/ until Ctrl-C; its database stays in {place.folder}")
            with suppress(KeyboardInterrupt):
                threading.Event().wait()


def watch(lender: Lender, task: fg.Task, expected: fg.Run, best: Standing, pace: float) -> None:
    """Play all rounds of the simulation, and show how it goes: on a terminal a table, elsewhere ten lines."""
    from fairgate.live.comparison import standing

    console = Console(highlight=False)
    rounds, shown = expected.rounds, 0.0
    with Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else nullcontext() as live:
        while lender.round < rounds:
            begun = time.perf_counter()
            lender.play()
            recent = slice(max(0, lender.round - RECENT), lender.round)
            if live is not None and (begun - shown > 0.2 or lender.round == rounds):
                shown = begun
                rows = {
                    "played": standing(lender.record.run(task, last=RECENT)),
                    f"simulated, {expected.replicates} loops": standing(expected, recent),
                    "best threshold, in the long run": best,
                }
                live.update(show_progress(rows, lender, rounds), refresh=True)
            elif live is None and lender.round % max(1, rounds // 10) == 0:
                now = standing(lender.record.run(task, last=RECENT))
                rates = " and ".join(f"{rate:.0%}" for rate in now.acceptance)
                what = f"{now.policy}: accepted {rates}, gap {now.gap:.3f}, reward {now.reward:.3f}"
                said = f"{standing(expected, recent).reward:.3f} simulated, {best.reward:.3f} best"
                console.print(f"round {lender.round}: {what} ({said})", soft_wrap=True)
            time.sleep(max(0.0, pace - (time.perf_counter() - begun)))


def show_progress(rows: dict[str, Standing], lender: Lender, rounds: int) -> Table:
    """Return the table of how it goes."""
    title = f"round {lender.round} of {rounds}, means of the last {RECENT}; {lender.awaited} outcomes awaited"
    table = Table(title=title, box=box.SIMPLE_HEAD)
    table.add_column("")
    for heading in ("threshold", *lender.groups, "gap", "reward"):
        table.add_column(heading, justify="right")
    for name, row in rows.items():
        rates = [f"{rate:.1%}" for rate in row.acceptance]
        table.add_row(name, row.policy, *rates, f"{row.gap:.4f}", f"{row.reward:.4f}")
    return table


def show_finals(rows: list[Final], lender: Lender, late: int) -> None:
    """Print what came of it."""
    size = f"{lender.round} rounds of {lender.batch} people, outcomes {late} rounds late"
    table = Table(title=size, box=box.SIMPLE_HEAD)
    table.add_column("")
    for heading in ("played", "simulated", "nine of ten", "best"):
        table.add_column(heading, justify="right")
    for row in rows:
        best = "" if row.oracle is None else f"{row.oracle:.4f}"
        low, high = row.range
        table.add_row(row.name, f"{row.played:.4f}", f"{row.simulated.mean():.4f}", f"{low:.4f} to {high:.4f}", best)
    console = Console(highlight=False)
    console.print(table)
    tail = min(TAIL, lender.round)
    console.print(
        f"Exact figures of the made-up population: means of the last {tail} rounds, the violation summed over all. "
        f"Simulated: the mean of {SEEDS} loops with other people, and where nine of ten of them lie; one run of ten is "
        "expected outside. Best: the best threshold, in the long run."
    )
