"""Work whose outcome is one file each: what is done is found again, what is missing or stale is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fairgate.progress import progress
from fairgate.store.files import file_hash, write_text

Say = Callable[[str], None]


@dataclass(frozen=True)
class Work:
    """A piece of work: `make` writes `file` and whatever is `beside` it, or leaves none if that failed.

    `digest` is a fingerprint of the settings and the code that make the files; of the highest `cost` is begun first.
    """

    name: str
    digest: str
    file: Path
    cost: float
    make: Callable[[], None]
    beside: tuple[Path, ...] = ()

    def hash(self) -> str:
        """Return the hash of its files, or nothing if one is missing."""
        found = [file_hash(path) for path in (self.file, *self.beside)]
        return " ".join(found) if all(found) else ""

    def done(self) -> tuple[Work, str]:
        """Do it, and return it with the hash of its files."""
        self.make()
        return self, self.hash()


def complete(folder: Path, work: Iterable[Work], workers: int, say: Say) -> None:
    """Do all work whose file is not in `folder` yet, the longest first, and say which files had to be made again.

    What is done is noted in ``index.json``; work that failed is not, and is tried again the next time.
    """
    from joblib import Parallel, delayed

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.json"
    try:
        index: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        index = {}
    missing: list[Work] = []
    work = list(work)
    for each in work:
        known = index.get(each.name, {})
        found = each.hash()
        if found and known.get("digest") == each.digest and known.get("sha256") == found:
            continue
        if found and known.get("sha256") != found:
            say(f"{each.file} is not what was written there: it is made again")
        missing.append(each)
    if len(missing) < len(work):
        say(f"{len(work) - len(missing)} of {len(work)} simulations are done already")
    if not missing:
        return
    missing.sort(key=lambda each: -each.cost)
    with progress(int(sum(each.cost for each in missing))) as start:
        start(f"{len(missing)} simulations on {workers} process{'es' if workers > 1 else ''}")
        calls = (delayed(each.done)() for each in missing)
        finished = Parallel(n_jobs=workers, return_as="generator_unordered")(calls)
        for count, (each, sha256) in enumerate(finished, 1):
            if sha256:
                index[each.name] = {"digest": each.digest, "sha256": sha256}
                write_text(path, json.dumps(index, indent=1, sort_keys=True) + "\n")
            start(f"{count} of {len(missing)} simulations done: {each.name}")(int(each.cost))
