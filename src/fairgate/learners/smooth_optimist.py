"""prototype"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scipy.special import ndtr, ndtri

from fairgate.learners.base import Learner, arm_of, arms_of
from fairgate.learners.epochs import note
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.shapes import filled, sizes_of
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, Positive, PositiveShare

TYPICAL_PRECISION = 0.6
PACES = np.array([0.25, 0.08, 0.025, 0.008])
DRIFTS = np.array([0.0, 0.0015, 0.006])


@dataclass
class SmoothState(State):
    basis: Annotated[Array, "K M"]
    information: Annotated[Array, "B R G F F"]
    evidence: Annotated[Array, "B R G F"]
    label_information: Annotated[Array, "R G F F"]
    label_evidence: Annotated[Array, "R G F"]
    inverse: Annotated[Array, "M K"]
    likelihood: Annotated[Array, "B R"]
    memory: Annotated[NDArray[np.int64], "R"]
    probe: Annotated[Array, "R"]
    look: Annotated[Array, "R"]
    decisions: Annotated[NDArray[np.int64], "R"]
    resting: Annotated[NDArray[np.bool_], "R"]
    last: Annotated[NDArray[np.int64], "R"]
    average: Annotated[Array, "R G P"]
    rates: Annotated[Array, "R G K"]
    precisions: Annotated[Array, "R G K"]
    arrivals: Annotated[Array, "R G"]
    arm: Annotated[NDArray[np.int64], "R"]
    age: Annotated[NDArray[np.int64], "R"]
    waited: Annotated[NDArray[np.int64], "R"]
    infeasible: Annotated[NDArray[np.bool_], "R"]
    theta: Annotated[Array, "B R G F"]
    # epoch sums for lack of fit
    residue: Annotated[Array, "B R G"]
    binomial: Annotated[Array, "R G"]
    guess: Annotated[Array, "B R G"]  # variance of prediction error at the beginning
    misfit: Annotated[Array, "B R G"]
    epochs: Annotated[Array, "R G"]
    probability: Annotated[Array, "R"]


@dataclass(frozen=True)
class SmoothOptimist(Learner[SmoothState]):
    optimism: Positive = 2.0
    margin: NonNegative = 0.5
    risk: PositiveShare = 0.02
    growth: NonNegative = 0.0
    rough: NonNegative = 0.0
    short: Positive = 0.04
    cut: Positive = 1e-5
    gap: NonNegative = 0.0
    decay: NonNegative = 1.0
    left: NonNegative = 14.0
    nats: Positive = 4.0
    length: Positive = 0.15
    spread: PositiveShare = 0.3
    answer: Positive = 0.2
    begin: Positive = 0.1
    price: NonNegative = 2.0
    lottery: bool = True
    floor: NonNegative = 1.0
    share: Positive = 0.05
    shortest: int = 3
    longest: int = 25
    scaled: bool = True
    fade: Positive = 0.97

    traces: ClassVar[tuple[str, ...]] = ("infeasible",)
    version: ClassVar[int] = 4

    def remember(self, setting, common):
        arms = len(setting.thresholds)
        steps = np.arange(arms) / max(arms - 1, 1)
        apart = (steps[:, None] - steps) ** 2
        kernel = self.spread**2 * ((1 - self.rough) * np.exp(-0.5 * apart / self.length**2) + self.rough * np.exp(-0.5 * apart / self.short**2))
        values, vectors = np.linalg.eigh(kernel)
        kept = values > self.cut * values.max()
        basis = vectors[:, kept] * np.sqrt(values[kept])
        P = len(PACES)
        M = basis.shape[1]
        F = M + 2 * P
        sizes = sizes_of(setting, common["replicates"]) | {"M": M, "P": P, "F": F, "B": len(DRIFTS)}
        prior = np.diag(np.r_[np.ones(M), np.full(P, self.answer**-2.0), np.full(P, self.begin**-2.0)])
        line = np.linspace(0.98, 0.02, arms) if arms > 1 else np.full(1, 0.5)
        low, high = acceptance_window(setting.problem, setting.groups)
        state = filled(
            SmoothState, sizes, **common, basis=basis, inverse=np.linalg.pinv(basis, rcond=1e-2), likelihood=np.array([1.0,0.0,-1.0])[:, None]*self.nats, last=self.shortest, information=prior, label_information=prior, average=0.5,
            rates=line, precisions=TYPICAL_PRECISION, arrivals=1.0, arm=arms // 2, probability=0.5 * (low + high),
        )
        return state

    def features(self, basis: Array, average: Array, age: Array, sensitivity: Array) -> Array:
        """(…, G, F)"""
        start = ((1.0 - PACES) ** age[..., None])[..., None, :] * sensitivity[..., None]
        wide = np.broadcast_to(basis[..., None, :], (*average.shape[:-1], basis.shape[-1]))
        return np.concatenate((wide, (average - 0.5) * sensitivity[..., None], start), axis=-1)

    def sens(self, rates):
        return np.ones_like(rates)

    def propose(self, state: SmoothState) -> Policy:
        over = state.waited >= state.last
        if over.any():
            value = self.value(state)
            w = self.optimism * (np.sqrt(self.growth * np.log1p(state.age)) if self.growth else 1.0)
            possible = value.residual - w * value.residual_error <= 0.0
            z = value.residual / np.maximum(value.residual_error, 1e-9)
            loss = value.residual_error * (np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) + z * ndtr(z))
            price = self.price * np.minimum(1.0, self.longest / (self.share * state.age)) ** self.decay
            score = value.reward + w * value.reward_error - price * loss
            hoped = np.where(possible, score, -np.inf).argmax(axis=0)
            state.decisions += over
            strong = -ndtri(self.risk / (np.log2(2.0 + state.age) * np.log2(4.0 + 2 * state.age)))
            arm = np.where(over, np.where(possible.any(axis=0), hoped, z.argmin(axis=0)), state.arm)
            infeasible = np.where(over, z.min(axis=0) > strong, state.infeasible)
            state.probe = np.where(over & infeasible & (~state.infeasible | (state.age >= state.probe)), 2.0 * state.age, state.probe)
            due = over & infeasible & state.infeasible & (state.probe == 2.0 * state.age)
            unsure = ~infeasible & ~possible.any(axis=0)
            look = unsure & (state.age >= state.look)
            state.look = np.where(over & look, (1.0 + self.gap) * state.age, state.look)
            state.resting = np.where(over, (infeasible & ~due) | (unsure & ~look), state.resting)
            state.infeasible = infeasible
            state.arm, state.waited = arm, np.where(over, 0, state.waited)
            state.last = np.where(over, np.clip(np.ceil(self.share * state.age), self.shortest, self.longest).astype(int), state.last)
        return self.policy(state, state.arm, state.resting & self.lottery)

    def learn(self, state: SmoothState, played: Policy, feedback: Feedback) -> None:
        people, accepted = feedback.observation.people, feedback.observation.accepted
        state.arrivals += people - PACES[-1] * state.arrivals
        arm, known = arm_of(state.grid, played)
        rows = np.arange(state.replicates)
        sens = np.ones_like(state.average[..., 0])
        phi = self.features(state.basis[arm], state.average, state.age, sens)
        fresh = state.waited == 0
        if fresh.any():
            state.residue[:, fresh] = 0.0
            state.binomial[fresh] = 0.0
            # drift
            step = DRIFTS[:, None, None] ** 2 * state.last[:, None]
            v = np.zeros_like(phi)
            v[..., : state.basis.shape[1]] = (4.0 * state.rates * (1 - state.rates) if self.scaled else np.ones_like(state.rates)) @ state.inverse.T
            av = (state.information @ v[..., None])[..., 0]  # B R G F
            scale = np.where((fresh & ~state.resting)[:, None], step / (1.0 + step * (av * v).sum(-1)), 0.0)
            state.evidence -= (scale * (state.evidence * v).sum(-1))[..., None] * av
            state.information -= (scale[..., None] * av)[..., None] * av[..., None, :]
            both = np.stack((np.broadcast_to(phi, state.evidence.shape), state.evidence), axis=-1)
            solved = np.linalg.solve(state.information, both)
            variance = (phi * solved[..., 0]).sum(-1)
            state.guess = np.where(fresh[:, None], variance, state.guess)
            state.theta = np.where(fresh[:, None, None], solved[..., 1], state.theta)
        line = np.linspace(0.98, 0.02, len(state.grid)) if len(state.grid) > 1 else np.full(1, 0.5)
        p = np.clip(state.rates[rows, :, arm], 0.02, 0.98)
        weight = known[:, None] * people / (p * (1 - p))
        rate = accepted / np.maximum(people, 1.0)
        y = rate - line[arm][:, None]
        state.information += (weight[..., None] * phi)[..., None] * phi[..., None, :]
        state.evidence += (weight * y)[..., None] * phi
        # misfit
        state.residue += weight * (y - (phi * state.theta).sum(-1))
        state.binomial += weight
        note(state, feedback.round, (arm, known, state.average.copy(), state.age.copy(), sens))
        self.credit(state, feedback, feedback.credited(played))
        state.average += np.where(people > 0, 1.0, 0.0)[..., None] * PACES * (rate[..., None] - state.average)
        state.waited += 1
        state.age += 1
        over = (state.waited >= state.last)[:, None] & (state.binomial > 0)
        if over.any():
            noise = 1.0 / np.maximum(state.binomial, 1e-9)
            mean = state.residue * noise
            total = state.guess + noise
            z2 = mean**2 / total
            keep = 1 - 1 / 20
            c = np.maximum((state.misfit + 5.0) / (state.epochs + 5.0), 1.0)
            nats = np.where(over, -0.5 * (np.minimum(z2, 50.0) / c + np.log(total * c)), 0.0).sum(-1)
            state.misfit = np.where(over, keep * state.misfit + np.minimum(z2, 25.0), state.misfit)
            state.epochs = np.where(over, keep * state.epochs + 1.0, state.epochs)
            state.likelihood = np.where(over.any(-1), self.fade * state.likelihood + (1-self.fade) * self.nats * np.array([1.0,0.0,-1.0])[:,None] + nats, state.likelihood)
            state.likelihood -= state.likelihood.max(0)
            state.memory = state.likelihood.argmax(0)
            if self.left:
                for b in range(len(DRIFTS)):
                    rows_b = np.flatnonzero(state.likelihood[b] < -self.left)
                    best = state.memory[rows_b]
                    for field in (state.information, state.evidence, state.misfit):
                        field[b, rows_b] = field[best, rows_b]
                    state.likelihood[b, rows_b] = -0.5 * self.left

    def credit(self, state, feedback, credited):
        noted = list(state.noted(credited))
        if not noted:
            return
        arm, known, average, age, sens = (np.stack(each) for each in zip(*(what for _, what in noted)))
        labels = np.stack([each.labels for each, _ in noted])  # B R G 2
        total = labels.sum(axis=-1) * known[..., None]
        phi = self.features(state.basis[arm], average, age, sens)  # B R G F
        q = np.clip(state.precisions[np.arange(state.replicates), :, arm], 0.05, 0.95)
        weight = total / (q * (1 - q))
        y = labels[..., 1] / np.maximum(labels.sum(axis=-1), 1.0) - TYPICAL_PRECISION
        left = np.moveaxis(phi * weight[..., None], 0, -1)  # R G F B
        right = np.moveaxis(phi, 0, -2)  # R G B F
        state.label_information += left @ right
        state.label_evidence += (left @ np.moveaxis(y, 0, -1)[..., None])[..., 0]

    def recommend(self, state):
        value = self.value(state)
        arm, _ = value.best(np.asarray(self.margin))
        hopeless = (value.residual > self.optimism * value.residual_error).all(axis=0)
        return self.policy(state, arm, hopeless & self.lottery)

    def policy(self, state, arm, drawn):
        single = Policy.shared(state.grid[arm], state.groups)
        if not drawn.any():
            return single
        ends = np.array([-np.inf, np.inf])
        thresholds = np.where(drawn[None, :, None], ends[:, None, None], single.thresholds)
        weights = np.where(drawn, np.stack((state.probability, 1 - state.probability)), np.array([1.0, 0.0])[:, None])
        return Policy(thresholds, weights)

    def value(self, state: SmoothState) -> Value:
        arms, M, P = len(state.grid), state.basis.shape[1], len(PACES)
        line = np.linspace(0.98, 0.02, arms) if arms > 1 else np.full(1, 0.5)
        rows = np.arange(state.replicates)
        information, evidence, misfit = (each[state.memory, rows] for each in (state.information, state.evidence, state.misfit))
        cov = np.linalg.inv(information)
        theta = np.einsum("rgij,rgj->rgi", cov, evidence)
        sens = self.sens(state.rates)
        for _ in range(2):
            slope = np.clip(theta[..., M : M + P].sum(axis=-1)[..., None] * sens, -2.0, 0.9)
            rates = np.clip((line + theta[..., :M] @ state.basis.T - 0.5 * slope) / (1.0 - slope), 0.0, 1.0)
            sens = self.sens(rates)
        factor = np.maximum((misfit + 5.0) / (state.epochs + 5.0), self.floor)
        shape = (*rates.shape, M)
        phi = np.concatenate((np.broadcast_to(state.basis, shape), np.repeat(((rates - 0.5) * sens)[..., None], P, axis=-1)), axis=-1)
        F = M + P
        variance = ((phi @ cov[..., :F, :F]) * phi).sum(axis=-1) * factor[..., None] / (1.0 - slope) ** 2
        lcov = np.linalg.inv(state.label_information)
        ltheta = np.einsum("rgij,rgj->rgi", lcov, state.label_evidence)
        precision = np.clip(TYPICAL_PRECISION + (phi @ ltheta[..., :F, None])[..., 0], 0.0, 1.0)
        lvariance = ((phi @ lcov[..., :F, :F]) * phi).sum(axis=-1)
        state.rates, state.precisions = rates, precision
        positives = rates * precision
        shares = state.arrivals / state.arrivals.sum(axis=1, keepdims=True)
        return Prediction(shares, rates, positives, positives, np.sqrt(np.maximum(variance, 1e-12)), rates * np.sqrt(np.maximum(lvariance, 1e-12))).value(state.problem)

