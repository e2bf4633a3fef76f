"""What happened in an episode so far, as pictures and as text."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.plots import COLOURS, FONT, add_legend, panels
from fairgate.settings import Array

Frame = NDArray[np.uint8] | str

MODES = ("rgb_array", "ansi")
"""How an episode can be shown."""

FPS = 10
"""Rounds per second of a video."""

INCHES, DPI = (6.0, 4.0), 100


class Film:
    """Keeps what an episode's rounds were like, and shows it one loop at a time.

    Parameters
    ----------
    mode
        ``"rgb_array"`` for pictures, ``"ansi"`` for a line of text.
    name, rounds
        Name of the task, and length of an episode.
    """

    def __init__(self, mode: str, name: str, rounds: int) -> None:
        if mode not in MODES:
            raise InputError(f"render_mode must be one of {', '.join(MODES)} or None, got {mode!r}")
        self.mode, self.name, self.rounds = mode, name, rounds
        self.start()

    def start(self) -> None:
        """Forget the last episode."""
        self._kept: list[tuple[Array, ...]] = []

    def add(self, info: dict[str, Any], paid: Array) -> None:
        """Keep a round: its info, and the rewards (loops,) that were paid."""
        self._kept.append((info["thresholds"], info["acceptance"], info["gap"], info["cost"], paid))

    def frame(self, loop: int) -> Frame:
        """Show the episode of a loop so far."""
        rounds = [np.array([each[loop] for each in kept]) for kept in zip(*self._kept, strict=True)]
        return self._line(*rounds) if self.mode == "ansi" else self._picture(*rounds)

    def _title(self) -> str:
        return f"{self.name}: round {len(self._kept)} of {self.rounds}"

    def _line(self, *rounds: Array) -> str:
        """Say in a line of text how the last round went."""
        if not rounds:
            return self._title()
        thresholds, acceptance, gap, cost, paid = rounds
        one_for_all = (thresholds[-1] == thresholds[-1, 0]).all()
        return (
            f"{self._title()}, {'threshold' if one_for_all else 'thresholds'} "
            f"{_listed(thresholds[-1, :1] if one_for_all else thresholds[-1])}, accepted {_listed(acceptance[-1])}, "
            f"gap {gap[-1]:.3f}, cost {cost[-1]:.3f}, reward {paid[-1]:.3f}, mean reward {paid.mean():.3f}"
        )

    def _picture(self, *rounds: Array) -> NDArray[np.uint8]:
        """Draw the rounds so far: thresholds, acceptance by group, gap and cost, reward."""
        figure, axes = panels(2, 2, *INCHES)
        figure.suptitle(self._title(), fontsize=FONT + 1)
        names = ("threshold", "acceptance rate", "gap and cost", "reward")
        for ax, name in zip(axes, names, strict=True):
            ax.set_title(name, fontsize=FONT, loc="left")
            ax.set_xlim(0, max(len(self._kept), 10))
        axes[1].set_ylim(0, 1)
        if rounds:
            thresholds, acceptance, gap, cost, paid = rounds
            at = np.arange(1, len(paid) + 1)
            look: dict[str, Any] = {"marker": ".", "markersize": 3} if len(at) < 10 else {}
            for group in range(thresholds.shape[1]):
                colour: dict[str, Any] = {"color": COLOURS[group % len(COLOURS)], "label": f"group {group}"}
                axes[0].plot(at, thresholds[:, group], linewidth=1.0 if group else 2.0, **colour, **look)
                axes[1].plot(at, acceptance[:, group], linewidth=1.0, **colour, **look)
            axes[2].plot(at, gap, color="black", linewidth=1.0, label="gap", **look)
            axes[2].plot(at, cost, color="black", linewidth=1.0, linestyle=":", label="cost", **look)
            axes[3].plot(at, paid, color="0.7", linewidth=0.8, label="reward", **look)
            axes[3].plot(at, np.cumsum(paid) / at, color="black", linewidth=1.6, label="mean reward so far", **look)
            axes[2].legend(fontsize=FONT - 1, frameon=False)
            axes[3].legend(fontsize=FONT - 1, frameon=False)
            add_legend(figure, axes[:1], columns=6)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="rgba", dpi=DPI)
        width, height = (round(DPI * inches) for inches in INCHES)
        return np.frombuffer(buffer.getvalue(), dtype=np.uint8).reshape(height, width, 4)[..., :3].copy()


def _listed(values: Array) -> str:
    return " ".join(f"{value:.3f}" for value in values)
