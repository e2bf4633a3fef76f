"""Nature: the random numbers of whatever is not the learner, a function of seed, replicate and round alone.

A stream of random numbers is cut into stretches, so long that no call ever uses one up. Numbers are drawn row by row
from the beginning of a stretch, one row per replicate, so the first rows are the same however many there are.
"""

from __future__ import annotations

import functools
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.bins import decide, decided, tally_cells
from fairgate.counts import draw, over_bins
from fairgate.errors import unknown_name
from fairgate.policy import Policy
from fairgate.settings import Array

STRETCH = (1 << 48) + 1
"""Random numbers of a stretch: odd, since streams that lie a power of two apart are related."""

COUPLINGS = ("common", "independent")
"""How loops of the same seed are related: the same people come to all, or other people to each."""

COMMON = 1000
"""Largest batch that is drawn person by person unless told otherwise: beyond, a batch's noise hardly matters."""

LARGEST = np.uint32(2**32 - 1)
"""The largest number that stands for a person."""

BLOCK = 16
"""Numbers that :func:`tally_by_blocks` looks at together: two words, whose bytes are added up at once."""

EACH_BYTE, TOP_BYTE = np.uint64(0x0101010101010101), np.uint64(56)
"""A word times the first has the sum of its bytes in the top one, which a shift by the second brings down."""

MANY = 150
"""Replicates from which on :func:`tally_by_blocks` is faster than :func:`tally`, which makes fewer calls."""

LOWER = 0 if sys.byteorder == "little" else 1
"""Which half of a number of 64 bits is its lower one."""

PEOPLE, DELAYS, WORLD, KINDS = range(4)
"""What a round draws random numbers for, each in a stretch of its own."""


class Strided(np.random.Generator):
    """A generator whose every call begins a new stretch, so that the first rows do not depend on how many are drawn.

    >>> one, other = (Strided(np.random.SeedSequence(1)) for _ in range(2))
    >>> bool((one.random(3) == other.random(5)[:3]).all()), bool((one.random(3) == other.random(5)[:3]).all())
    (True, True)
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        super().__init__(np.random.PCG64DXSM(seed))
        self.beginning: Any = self.bit_generator.state
        self.calls = 0

    def at(self, stretch: int) -> Strided:
        """Go to the beginning of a stretch."""
        self.bit_generator.state = self.beginning
        self.bit_generator.advance(stretch * STRETCH)  # type: ignore[attr-defined]  # which numpy's types do not know
        return self

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return generators of their own, the first of them the same however many there are."""
        seeds: Any = self.bit_generator.seed_seq
        return [np.random.default_rng(each) for each in seeds.spawn(n_children)]

    def _next(self) -> Strided:
        self.calls += 1
        return self.at(self.calls)

    def __reduce__(self) -> Any:
        return restored, (self.beginning, self.calls)


def _strided(name: str) -> Any:
    """Return a method of a generator that begins a new stretch."""
    plain = getattr(np.random.Generator, name)

    def method(self: Strided, *given: Any, **options: Any) -> Any:
        return plain(self._next(), *given, **options)

    method.__doc__ = f"Begin a new stretch, and do what ``numpy.random.Generator.{name}`` does."
    return method


for _name in set(dir(np.random.Generator)) - {"bit_generator", "spawn"}:
    if not _name.startswith("_"):
        setattr(Strided, _name, _strided(_name))


class Waiting(Strided):
    """A generator that goes to a stretch when it is first used, and stays there: most environments draw nothing."""

    due: int | None = None
    spawn = np.random.Generator.spawn

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        """What the numbers come from, in its place."""
        self._next()
        return super().bit_generator

    def _next(self) -> Strided:
        due, self.due = self.due, None
        return self if due is None else self.at(due)

    def __reduce__(self) -> Any:
        return Waiting, (self.bit_generator.seed_seq,)  # nature tells it again where to go


class NotByRowError(Exception):
    """Random numbers were asked for that are not one row per replicate: such replicates are played by themselves."""


class Refusing(Strided):
    """A generator that has no numbers but those by row which a subclass gives."""

    def __init__(self) -> None:
        super().__init__(np.random.SeedSequence(0))

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Refuse."""
        raise NotByRowError

    def _next(self) -> Strided:
        raise NotByRowError


class Repeated(Refusing):
    """A generator whose numbers, one row per replicate, are the same for each of `parts` parts of the replicates.

    >>> drawn = Repeated(np.random.SeedSequence(1), parts=2, replicates=6).random(6)
    >>> bool((drawn[:3] == drawn[3:]).all()), len(set(drawn))
    (True, 3)
    """

    def __init__(self, seed: np.random.SeedSequence, parts: int, replicates: int) -> None:
        super().__init__()
        self.one, self.parts, self.replicates = Strided(seed), parts, replicates

    def random(self, size: Any = None, *given: Any, **options: Any) -> Any:
        """Draw numbers below 1."""
        return self._repeat(self.one.random(self._part(size), *given, **options))

    def integers(self, low: Any, high: Any = None, size: Any = None, *given: Any, **options: Any) -> Any:
        """Draw whole numbers."""
        return self._repeat(self.one.integers(low, high, self._part(size), *given, **options))

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return generators of their own, those of each part alike."""
        (count,) = self._part(n_children)
        seeds: Any = self.one.bit_generator.seed_seq
        return [np.random.default_rng(each) for each in seeds.spawn(count) * self.parts]

    def __reduce__(self) -> Any:
        return _again, (self.one, self.parts, self.replicates)

    def _part(self, size: Any) -> tuple[int, ...]:
        rows, *others = np.atleast_1d(size).tolist()
        if rows != self.replicates:
            raise NotByRowError
        return (rows // self.parts, *others)

    def _repeat(self, drawn: Any) -> Any:
        return np.concatenate([drawn] * self.parts)


def _again(one: Strided, parts: int, replicates: int) -> Repeated:
    made = Repeated(np.random.SeedSequence(0), parts, replicates)
    made.one = one
    return made


def restored(beginning: Any, calls: int) -> Strided:
    """Return a generator as it was after so many calls."""
    made = Strided(np.random.SeedSequence(0))
    made.beginning, made.calls = beginning, calls
    return made


class Nature:
    """Who comes, whose label is late, and what else happens by chance, round after round.

    Parameters
    ----------
    seed
        Root of all random numbers.
    block
        Number of the block of replicates.
    coupling
        ``"common"``: every person is a random number, shared by all loops of a replicate and round, which an
        environment turns into group, decision, label and score. So two policies meet the same people, as far as their
        states allow. ``"independent"``: batches are drawn as counts, at a cost that hardly depends on their size.
    parts
        Equal parts of the replicates that all meet the same people; common coupling only.

    Examples
    --------
    >>> half = np.full((2, 1, 2, 2), 0.25)
    >>> one, more = (Nature(seed=1).draw(half[:rows], people=1000) for rows in (1, 2))
    >>> int(one.sum()), bool((one == more[:1]).all())
    (1000, True)
    """

    def __init__(self, seed: int | None = 0, block: int = 0, coupling: str = "common", parts: int = 1) -> None:
        if coupling not in COUPLINGS:
            raise unknown_name("coupling", coupling, COUPLINGS)
        self.coupling, self.parts = coupling, parts
        source = np.random.SeedSequence(seed, spawn_key=(block, 0))
        self.generator = np.random.Generator(np.random.PCG64DXSM(source))
        self._beginning: Any = self.generator.bit_generator.state
        self._world = Waiting(source)
        self._keys = Keys()
        self.round = 0

    def draw(self, probabilities: Array, people: int) -> NDArray[np.int64]:
        """Draw the people of a round by cells (replicates, groups, …, label, decision); the same law either way."""
        if self.coupling == "independent":
            return draw(probabilities, people, self._at(PEOPLE))
        return count_people(probabilities, self.people(len(probabilities) // self.parts, people), self._keys)

    def draw_bins(self, labelled: Array, policy: Policy, edges: Array, people: int) -> tuple[NDArray[np.int64], Array]:
        """Draw the people of a round by score bin, and return them and P(group, label, decision).

        `labelled` is P(group, bin, label), (replicates, groups, bins, 2); people are by decision as well. They are
        those of :meth:`draw`, but are drawn faster where the policy is no lottery.
        """
        share = policy.accepted_share(edges)
        if self.coupling == "independent":
            cells = decided(labelled, share)
            return self.draw(cells, people), over_bins(cells)
        return decide(labelled, share, policy.is_certain, self.everybody(len(labelled), people))

    def everybody(self, replicates: int, people: int) -> NDArray[np.uint32]:
        """Return the people of a round in any order, the same for all parts, (replicates, people)."""
        numbers = self._numbers(replicates // self.parts, people)
        return np.tile(numbers, (self.parts, 1)) if self.parts > 1 else numbers

    def people(self, replicates: int, people: int) -> NDArray[np.uint32]:
        """Draw the people of a round as numbers below 2³² in increasing order, (replicates, people)."""
        numbers = self._numbers(replicates, people)
        numbers.sort(axis=1)
        return numbers

    def _numbers(self, replicates: int, people: int) -> NDArray[np.uint32]:
        bits = self._at(PEOPLE).bit_generator
        return bits.random_raw((replicates, (people + 1) // 2)).view(np.uint32)[:, :people]

    def delays(self, accepted: NDArray[np.int64], people: int, arrival: float, loss: float = 0.0) -> NDArray[np.int64]:
        """Draw for how many rounds labels are late, of so many accepted (replicates,) of a batch, one after the other.

        A label arrives in any round with the same probability; −1 stands for one that is lost.
        """
        rng = self._at(DELAYS)
        drawn = rng.random((len(accepted) // self.parts, people))
        late = np.tile(drawn, (self.parts, 1))[np.arange(people) < accepted[:, None]]
        kept = np.maximum(late - loss, 0.0) / (1.0 - loss) if loss else late
        with np.errstate(divide="ignore"):  # labels that all arrive at once
            delays = np.asarray(np.log1p(-kept) / np.log1p(-arrival), dtype=np.int64)  # rounded down
        return np.where(late < loss, -1, delays) if loss else delays

    def world(self) -> np.random.Generator:
        """Return the random numbers with which the environment moves."""
        if self.parts > 1:
            return Refusing()
        self._world.due = self.round * KINDS + WORLD
        return self._world

    def _at(self, kind: int) -> np.random.Generator:
        self.generator.bit_generator.state = self._beginning
        bits: Any = self.generator.bit_generator  # numpy's types do not know that one can advance it
        bits.advance((self.round * KINDS + kind) * STRETCH)
        return self.generator


class Keys:
    """Room for numbers that tell the people of all replicates apart, used again in every round: it stays in the cache.

    A key's upper half is its replicate, its lower half the person's number.
    """

    def __init__(self) -> None:
        self.rows = np.empty((0, 1), dtype=np.uint64)
        self.room = np.empty((0, 0), dtype=np.uint64)

    def fill(self, numbers: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the keys of people (replicates, people), until the next are asked for."""
        if self.room.shape != numbers.shape:
            self.rows = np.arange(len(numbers), dtype=np.uint64)[:, None] << np.uint64(32)
            self.room = self.rows.repeat(numbers.shape[1], axis=1)
        self.room.view(np.uint32)[:, LOWER::2] = numbers
        return self.room.ravel()


def count_people(probabilities: Array, numbers: NDArray[np.uint32], keys: Keys | None = None) -> NDArray[np.int64]:
    """Count people by cells, as :func:`tally` does; the same people come to every equal part of the replicates."""
    replicates, (rows, people) = len(probabilities), numbers.shape
    if probabilities.ndim == 4 and replicates >= MANY and people <= BLOCK * 256:
        return tally_by_blocks(probabilities, numbers)
    return tally(probabilities, np.tile(numbers, (replicates // rows, 1)) if replicates > rows else numbers, keys)


def tally(probabilities: Array, numbers: NDArray[np.uint32], keys: Keys | None = None) -> NDArray[np.int64]:
    """Count people, given by increasing numbers below 2³² (replicates, people), by the cells that they fall into.

    Cells lie side by side by group, label, decision and score. So a person has the same group and label under every
    policy, a higher threshold rejects more of those who were nearest to it, and counts are the same whether score bins
    are told apart or not. A cell's probability is kept to within 2⁻³², far closer than any environment's tables.
    """
    if probabilities.ndim == 5:
        return tally_cells(probabilities, numbers)
    keys = keys or Keys()
    people = keys.fill(numbers)
    ends = probabilities.reshape(len(probabilities), -1).cumsum(axis=1)
    ends *= 2.0**32
    np.minimum(ends, 2.0**32, out=ends)[:, -1] = 2.0**32  # beyond everybody
    places = ends.astype(np.uint64)
    places += keys.rows
    below = people.searchsorted(places.ravel())
    below[1:] = below[1:] - below[:-1]  # twice as fast as in place, where they overlap
    return below.reshape(probabilities.shape)


def tally_by_blocks(probabilities: Array, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Do what :func:`tally` does without score bins, faster for many replicates: `numbers` are repeated for all parts.

    Numbers below the end of a cell are found in two looks, without the branches of a binary search, which a processor
    cannot foresee: how many blocks of 16 lie below as a whole, then how many numbers of the next block do.
    """
    (replicates, *shape), (rows, people) = probabilities.shape, numbers.shape
    if people % BLOCK:  # fill up with what is below nothing
        given, numbers = numbers, np.full((rows, people + -people % BLOCK), LARGEST)
        numbers[:, :people] = given
    first = _first_blocks(rows, numbers.shape[1] // BLOCK)
    ends = np.empty((math.prod(shape) - 1, replicates // rows, rows))
    np.multiply(probabilities.reshape(replicates, -1).T[:-1].reshape(ends.shape), 2.0**32, out=ends)
    np.add.accumulate(ends, axis=0, out=ends)
    places = np.minimum(ends, LARGEST).astype(np.uint32)
    last = numbers.T[BLOCK - 1 : -1 : BLOCK].copy()  # of all blocks but the last, replicates side by side
    blocks = np.add.reduce(last < places[:, :, None], axis=2, dtype=np.uint8)
    inside = numbers.reshape(-1, BLOCK).take(blocks + first, axis=0) < places[..., None]
    halves = inside.view(np.uint64)
    more = (halves[..., 0] + halves[..., 1]) * EACH_BYTE >> TOP_BYTE  # what sum(axis=-1) tells, seven times as fast
    below = np.zeros((len(ends) + 2, *ends.shape[1:]), dtype=np.int64)
    np.multiply(blocks, BLOCK, out=below[1:-1], dtype=np.int64)
    below[1:-1] += more.view(np.int64)
    np.copyto(below[1:-1], people, where=ends >= 2.0**32)
    below[-1] = people
    return (below[1:] - below[:-1]).reshape(*shape, replicates).transpose(3, 0, 1, 2)


@functools.lru_cache(maxsize=8)
def _first_blocks(replicates: int, blocks: int) -> NDArray[np.intp]:
    """Return the place of the first block of each replicate, if all lie side by side."""
    return np.arange(0, replicates * blocks, blocks)
