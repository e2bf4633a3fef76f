"""docs/guides/cluster.md works as it is written: on a laptop, on Dask here, and on a scheduler and workers by hand."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairgate.sweep import FIGURES, TRUTH
from scripts import passages
from tests.live.shell import Shell, Snippet, snippets

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "cluster.md"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path, OMP_NUM_THREADS="1")
    program = tmp_path / ".programs" / "dask"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m dask "$@"\n')
    program.chmod(0o755)
    yield made
    made.stop()


def titled(title: str) -> list[str]:
    return [body for found, body in snippets(PAGE) if found == title]


@pytest.mark.slow
def test_the_guide_works_from_beginning_to_end(shell: Shell) -> None:
    here, local, extended = titled("")
    assert "Written to first" in shell.run(here)
    assert "Written to local" in shell.run(local)  # and cmp finds no difference
    (scheduler,), (worker,), (yours,) = titled("on the first machine"), titled("on every machine"), titled("on yours")
    shell.start(scheduler)
    for _ in range(600):
        if (shell.folder / "cluster.json").is_file():
            break
        time.sleep(0.1)
    shell.start(worker)
    assert "Written to cluster" in shell.run(yours)
    said = shell.run(f"{extended.strip()} 2>&1")
    assert re.search(r"16 of 32 cells are done already", said)  # of 4 values of epsilon, 2 were there


def test_what_the_tests_do_not_run_says_so() -> None:
    ours = {"", "on the first machine", "on every machine", "on yours"}
    others = [each for each in snippets(PAGE) if each.title not in ours]
    assert len(others) == 2
    assert all("not run by the tests" in each.title for each in others)
    python = re.findall(r'^```py title="([^"]*)"$', PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(python) == 2
    assert all("not run by the tests" in title for title in python)


@pytest.mark.parametrize("snippet", [each for each in snippets(PAGE) if "not run" in each.title], ids=lambda s: s.title)
def test_commands_that_are_not_run_have_options_that_exist(snippet: Snippet) -> None:
    """Of fairgate and dask, which are here; not of srun, helm and docker."""
    from distributed.cli.dask_scheduler import main as scheduler
    from distributed.cli.dask_worker import main as worker

    known = {
        f"dask {name}": {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        for name, command in (("scheduler", scheduler), ("worker", worker))
    }
    lines = snippet.body.replace("\\\n", " ").splitlines()
    for program, options in known.items():
        for line in lines:
            if program in line:
                used = set(re.findall(r"(--[a-z-]+)", line.partition(program)[2]))
                assert used <= options, (line, used - options)


def test_a_script_rewrites_its_passage_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "DOCS", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- costs -->\nold\n<!-- end of costs -->\n\nafter\n")
    for _ in range(2):
        passages.rewrite("page.md", "costs", ["| a |", "|---|"])
        assert page.read_text() == "before\n\n<!-- costs -->\n\n| a |\n|---|\n\n<!-- end of costs -->\n\nafter\n"
    with pytest.raises(SystemExit, match="must have <!-- other -->"):
        passages.rewrite("page.md", "other", [])


@pytest.mark.parametrize("texts", [FIGURES, TRUTH], ids=["figures", "truth"])
def test_the_reference_has_every_figure_with_its_text(texts: dict[str, str]) -> None:
    page = (PAGE.parents[1] / "reference" / "sweep.md").read_text(encoding="utf-8")
    assert "\n".join(f"| `{name}` | {text} |" for name, text in texts.items()) in page
