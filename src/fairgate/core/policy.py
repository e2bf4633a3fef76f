"""Policy: acceptance rules, as thresholds with weights."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record


@record
class Policy:
    """Accept an applicant whose score reaches a threshold, which a lottery draws for each applicant.

    Attributes
    ----------
    thresholds
        Thresholds, (options, groups), or (options, 1) if all groups share them; −inf accepts all, inf none.
    weights
        Probability of each option, (options,).
    """

    thresholds: Array
    weights: Array

    @classmethod
    def at(cls, threshold: Array) -> Policy:
        """Return a policy with one threshold for all groups."""
        xp = namespace(threshold)
        threshold = xp.asarray(threshold) * 1.0  # whole numbers are thresholds, too
        return cls(xp.reshape(threshold, (1, 1)), xp.ones((1,), dtype=threshold.dtype))

    @classmethod
    def per_group(cls, thresholds: Array) -> Policy:
        """Return a policy with a threshold for each group, (groups,)."""
        xp = namespace(thresholds)
        return cls(xp.reshape(thresholds, (1, -1)), xp.ones((1,), dtype=thresholds.dtype))

    @classmethod
    def lottery(cls, thresholds: Array, weights: Array) -> Policy:
        """Return a lottery of thresholds (options,) that are the same for all groups."""
        return cls(namespace(thresholds).reshape(thresholds, (-1, 1)), weights)

    def accepts(self, edges: Array) -> Array:
        """Return the probability of acceptance by group and score bin, (groups or 1, bins).

        Bin k holds the scores of at least edge k − 1 and below edge k, so there is one more bin than edges. A threshold
        that does not equal an edge counts as the next higher edge.
        """
        xp = namespace(self.thresholds, edges)
        first = xp.searchsorted(edges, xp.reshape(self.thresholds, (-1,)), side="left")
        first = xp.reshape(xp.where(xp.isneginf(xp.reshape(self.thresholds, (-1,))), -1, first), self.thresholds.shape)
        reached = xp.arange(edges.shape[0] + 1) > first[..., None]  # (options, groups, bins)
        return (xp.astype(reached, self.weights.dtype) * self.weights[:, None, None]).sum(axis=0)
