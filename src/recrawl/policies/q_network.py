"""The network that values actions, and one step of its full-gradient training [icc2021, (9), appendix].

The network takes the state Z of K arms (2K numbers) through two hidden layers with ReLU to one value per arm,
Q(Z, k; θ). The value of choosing a set U of arms is the sum of theirs, which for one arm is the paper's Q(Z, u; θ).
With discount γ and the Bellman error::

    δ = r + γ·max_V Q(Z', V; θ) − Q(Z, U; θ),   the maximum over sets V as large as U

training descends ½δ² along its full gradient, δ·(γ∇Q(Z', V*; θ) − ∇Q(Z, U; θ)): both Z and Z' go through the network at
once, and the gradient of both is kept, where ordinary DQN holds the target fixed and descends its semi-gradient −δ∇Q.
Noise ξ, uniform on [−1, 1] and independent for every weight, is added::

    θ ← θ − a·mean over the batch of δ·(γ∇Q' − ∇Q) − b·ξ

In (9) a = b. Here the noise has its own step b, which may shrink faster: at a constant 0.001 it moves a weight by about
0.03 in 2000 steps, while weights of a neuron with 4000 inputs start within ±0.016.

Everything runs on one thread: the tensors are too small to be worth sharing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from recrawl.errors import require

Float32Array = npt.NDArray[np.float32]


def torch_for(what: str) -> Any:
    """The torch module, or an error that says what needs it and which extra brings it."""
    return require("torch", what, "deep")


class QNetwork:
    """Weights θ as float32 tensors: for each layer a matrix (outputs × inputs) and a column of biases.

    Parameters
        torch: the torch module
        weights: matrix and biases of each layer in turn
    """

    def __init__(self, torch: Any, weights: list[Float32Array]) -> None:
        self.torch = torch
        self.weights = [torch.tensor(weight, requires_grad=True) for weight in weights]

    @classmethod
    def random(cls, torch: Any, sizes: tuple[int, ...], random: np.random.Generator) -> Self:
        """A network with layers of these sizes; weights uniform on ±1/√inputs."""
        weights = []
        for inputs, outputs in pairwise(sizes):
            weights += [_drawn(random, (outputs, inputs), inputs), _drawn(random, (outputs, 1), inputs)]
        return cls(torch, weights)

    def values(self, states: Float32Array) -> Float32Array:
        """Q(Z, k; θ) for each row Z of `states`."""
        with one_thread(self.torch), self.torch.no_grad():
            out: Float32Array = self._forward(self.torch.from_numpy(states)).numpy()
        return out

    def descend(
        self,
        states: Float32Array,
        taken: Float32Array,
        rewards: Float32Array,
        next_states: Float32Array,
        discount: float,
        step: float,
        noise: Float32Array | None = None,
        averaged: Float32Array | None = None,
        full: bool = True,
    ) -> float:
        """One step along the full gradient over a batch; returns the mean squared Bellman error before it.

        `taken` marks the arms chosen in each row. `noise` is b·ξ, one number per weight in turn. `averaged`, where
        given, takes the place of δ in the product: the error averaged over traces of the same state and action. Without
        `full` the step is along the semi-gradient.
        """
        torch = self.torch
        with one_thread(torch):
            now, later = self._both(states, next_states)
            chosen = torch.from_numpy(taken)
            ahead = discount * _best_sets(torch, later if full else later.detach(), chosen) - (now * chosen).sum(1)
            error = torch.from_numpy(rewards) + ahead
            factor = error.detach() if averaged is None else torch.from_numpy(averaged)
            gradients = torch.autograd.grad((factor * ahead).mean(), self.weights)
            extra = None if noise is None else torch.from_numpy(noise).split([w.numel() for w in self.weights])
            with torch.no_grad():
                for place, (weight, gradient) in enumerate(zip(self.weights, gradients, strict=True)):
                    weight.sub_(gradient, alpha=step)
                    if extra is not None:
                        weight.sub_(extra[place].view_as(weight))
        return float(error.detach().square().mean())

    def errors(
        self,
        states: Float32Array,
        taken: Float32Array,
        rewards: Float32Array,
        next_states: Float32Array,
        discount: float,
    ) -> Float32Array:
        """The Bellman error δ of each row."""
        torch = self.torch
        with one_thread(torch), torch.no_grad():
            now, later = self._both(states, next_states)
            chosen = torch.from_numpy(taken)
            ahead = discount * _best_sets(torch, later, chosen) - (now * chosen).sum(1)
            out: Float32Array = (torch.from_numpy(rewards) + ahead).numpy()
        return out

    def __len__(self) -> int:
        return sum(weight.numel() for weight in self.weights)

    def dump(self) -> list[Float32Array]:
        """The weights as plain arrays."""
        return [weight.detach().numpy().copy() for weight in self.weights]

    def _both(self, states: Float32Array, next_states: Float32Array) -> tuple[Any, Any]:
        values = self._forward(self.torch.from_numpy(np.concatenate([states, next_states])))
        return values[: len(states)], values[len(states) :]

    def _forward(self, states: Any) -> Any:
        """Columns are states: with a wide layer this is about twice as fast as rows."""
        signal = states.T
        last = len(self.weights) - 2
        for place in range(0, len(self.weights), 2):
            signal = self.torch.addmm(self.weights[place + 1], self.weights[place], signal)
            if place < last:
                signal = self.torch.relu(signal)
        return signal.T


def _drawn(random: np.random.Generator, shape: tuple[int, int], inputs: int) -> Float32Array:
    return ((2.0 * random.random(shape, dtype=np.float32) - 1.0) / np.float32(np.sqrt(inputs))).astype(np.float32)


def _best_sets(torch: Any, values: Any, chosen: Any) -> Any:
    """For each row the largest value of a set of as many arms as were chosen."""
    sizes = chosen.sum(1)
    most = int(sizes.max())
    if most <= 1:
        return values.amax(1) * sizes
    counted = torch.arange(most) < sizes[:, None]
    return (values.topk(most, dim=1).values * counted).sum(1)


class one_thread:  # noqa: N801 — reads as a phrase where it is used
    """Within it torch uses one thread."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __enter__(self) -> None:
        self.before = self.torch.get_num_threads()
        if self.before != 1:
            self.torch.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        if self.before != 1:
            self.torch.set_num_threads(self.before)
