"""Today: what every threshold does to the people of the table, with intervals and with what missing labels hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.aims import Aims
from fairgate.advice.intervals import gap_interval
from fairgate.amounts import amount
from fairgate.counts import Counts
from fairgate.estimates import Estimate, quantile_of, wilson
from fairgate.people.applicants import Applicants
from fairgate.people.labels import tail
from fairgate.problem import is_feasible
from fairgate.settings import Array


class Figures(NamedTuple):
    """A figure of each threshold, and the ends of its 95% interval."""

    value: Array
    low: Array
    high: Array

    def at(self, place: int) -> Estimate:
        """Return the figure of one threshold."""
        return Estimate(float(self.value[place]), float(self.low[place]), float(self.high[place]))


@dataclass(frozen=True, eq=False, repr=False)
class Today:
    """Figures of each threshold (K,) for the people of the table as they are; intervals have level 95%.

    In `reward`, missing labels are shared out among people of similar score and the same group.
    """

    thresholds: Array  # as they read in the table
    acceptance: Figures  # share of everybody accepted
    rates: Figures  # share of each group accepted, (G, K)
    gap: Figures  # largest minus smallest rate of a group
    reward: Figures  # per person
    worst: Array  # reward if every missing label were 0
    best: Array  # reward if every missing label were 1
    known: NDArray[np.bool_]  # whether labels tell the reward: at most 1% of all people are accepted in the dark
    residuals: Array  # by constraint, (J, K)
    feasible: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"Today({amount(len(self.thresholds), 'threshold')}, {int(self.feasible.sum())} feasible)"


def counted(applicants: Applicants) -> Counts:
    """Count the people of the table whom each threshold accepts, by group, label and decision."""
    taken = tail(applicants.filled)
    return Counts(np.moveaxis(np.stack((taken[:, :1] - taken, taken), axis=-1), 1, 0))


def look(applicants: Applicants, aims: Aims) -> Today:
    """Work out every threshold's figures for the people of the table.

    >>> import pyarrow as pa
    >>> import fairgate as fg
    >>> table = pa.table({"score": [1, 2, 3, 4], "label": [0, 1, 0, 1], "group": ["a", "b", "a", "b"]})
    >>> people = fg.from_frame(table, score="score", label="label", group="group")
    >>> found = look(people, Aims(cost=1.0, constraints=[fg.DemographicParity(0.1)]))
    >>> found.rates.value
    array([[1. , 0.5, 0.5, 0. ],
           [1. , 1. , 0.5, 0.5]])
    >>> found.reward.value, found.feasible
    (array([0.  , 0.25, 0.  , 0.25]), array([ True, False,  True, False]))
    """
    accepted = applicants.above.sum(axis=2)
    sizes = np.broadcast_to(applicants.sizes[:, None], accepted.shape)
    reward, error = reward_of(applicants, aims.unit_cost)
    reach = quantile_of() * error
    counts = counted(applicants)
    found = aims.problem.assess(counts)
    acceptance = Figures(counts.overall, *wilson(accepted.sum(axis=0), applicants.people))
    least = np.maximum(reward - reach, -aims.unit_cost * acceptance.high)
    most = np.minimum(reward + reach, acceptance.high)  # nobody accepted is worth more than 1
    _, positive, missing = np.moveaxis(applicants.above.sum(axis=0), -1, 0)
    everybody = accepted.sum(axis=0)
    worst = ((1.0 + aims.unit_cost) * positive - aims.unit_cost * everybody) / applicants.people
    return Today(
        thresholds=np.asarray(applicants.shown(applicants.cuts)),
        acceptance=acceptance,
        rates=Figures(counts.rates.T, *wilson(accepted, sizes)),
        gap=Figures(counts.gap, *gap_interval(accepted.T, sizes.T)),
        reward=Figures(reward, least, most),
        worst=worst,
        best=worst + (1.0 + aims.unit_cost) * missing / applicants.people,
        known=applicants.known,
        residuals=found.residuals,
        feasible=is_feasible(found.residuals),
    )


def reward_of(applicants: Applicants, cost: float) -> tuple[Array, Array]:
    r"""Return the reward per person at each cut and its standard error, (B,).

    With m missing labels among those accepted of a band whose L known labels have the mean q, a known label counts for
    itself, if accepted, and for m / L of those missing. Each person's part in the estimate,

    .. math:: \psi = d\,((1 + c)\,y - c) + (1 + c) \frac{m}{L} (y - q) \quad\text{or}\quad
              \psi = d\,((1 + c)\,q - c) \text{ if y is missing},

    has the mean r, and its variance over n people gives the standard error. One good and one bad person more are
    supposed to have been accepted, so that nobody accepted is not taken for certainty.
    """
    model = applicants.label_model
    rates = model.rates(applicants.counts)
    hidden = ~model.lit * applicants.counts[..., 2]
    dark = tail(hidden).sum(axis=0)
    total, squares = -cost * dark, cost**2 * dark  # of whom nothing is known, all count as bad
    lit = applicants.counts - np.stack((0 * hidden, 0 * hidden, hidden), axis=-1)
    for counts, band, rate in zip(lit, model.bands, rates, strict=True):
        for each in np.unique(band):
            inside = (band == each)[:, None] * counts
            accepted = tail(inside, axis=0).astype(np.float64)  # (B, 3)
            rejected = inside.sum(axis=0) - accepted
            share = rate[band == each][0]
            if not inside[:, 2].any():
                good, bad = accepted[:, 1], accepted[:, 0]
                total += good - cost * bad
                squares += good + cost**2 * bad
                continue
            known = max(inside[:, :2].sum(), 1.0)
            lent = (1.0 + cost) * accepted[:, 2] / known
            filled = (1.0 + cost) * share - cost
            total += accepted[:, 1] - cost * accepted[:, 0] + filled * accepted[:, 2]
            squares += accepted[:, 2] * filled**2
            for label, own in ((1, 1.0), (0, -cost)):
                borrowed = lent * (label - share)
                squares += accepted[:, label] * (own + borrowed) ** 2 + rejected[:, label] * borrowed**2
    people = applicants.people
    reward = total / people
    spread = np.maximum((squares + 1.0 + cost**2) / people - reward**2, 0.0)
    return reward, np.sqrt(spread / people)
