"""The one training loop: full batch, one step of the optimiser (or one fit) an epoch.

    for epoch in fit(model, objective, training, config, seed=0):
        print(epoch.index, epoch.loss, epoch.valid_auc)

Afterwards the module holds the weights of the epoch with the best in-distribution validation AUC.
All randomness comes from streams named by (seed, purpose, epoch): a resumed run draws what the
uninterrupted one would have drawn.
"""

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from oodlinker.errors import BadSplit, TrainingDiverged
from oodlinker.graph.metrics import auc, per_step
from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.worlds import TrainingSet
from oodlinker.models.contract import Context, LinkModel, Scores
from oodlinker.objectives.contract import Objective, Term
from oodlinker.rng import stream_seed
from oodlinker.train import alarms
from oodlinker.train.config import TrainConfig
from oodlinker.train.state import (
    TrainState,
    copied,
    load_weights,
    optimizer_tensors,
    restore_optimizer,
)


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave.

    Args:
        index: number of the epoch, from 0.
        loss: the loss before the epoch's step.
        terms: mean of each term of it.
        lr: learning rate of the step.
        grad_norm: norm of the gradient before clipping.
        valid_auc: in-distribution validation AUC after the step, where it was measured.
        kl: mean divergence of the selection from its prior, for methods that have one.
        mean_p: mean p of the selector, for methods that learn one.
        best_epoch: the best epoch so far, -1 before the first validation.
        seconds: how long it took.
    """

    index: int
    loss: float
    terms: dict[str, float]
    lr: float
    grad_norm: float
    valid_auc: float | None
    kl: float | None
    mean_p: float | None
    best_epoch: int
    seconds: float
    _loop: "Loop"

    def state(self) -> TrainState:
        """A copy of all that going on from here needs; ask before the next epoch begins."""
        if self._loop.epoch != self.index:
            raise RuntimeError("the state of an epoch is gone once the next one has begun")
        return self._loop.state()

    def to_mapping(self) -> dict[str, Any]:
        """The line of `metrics.jsonl`."""
        return {
            "epoch": self.index,
            "loss": self.loss,
            "terms": self.terms,
            "valid_auc": self.valid_auc,
            "kl": self.kl,
            "mean_p": self.mean_p,
            "lr": self.lr,
            "grad_norm": self.grad_norm,
            "best_epoch": self.best_epoch,
            "seconds": round(self.seconds, 4),
        }


def fit(
    model: LinkModel,
    objective: Objective,
    training: TrainingSet,
    config: TrainConfig,
    *,
    seed: int,
    resume: TrainState | None = None,
) -> Iterator[Epoch]:
    """Train a method, yielding each epoch; a method that learns nothing yields none.

    Args:
        model: trained in place; between two epochs it holds the weights of the last one, at the
            end those of the best one, in eval mode.
        objective: makes one loss of the method's terms.
        training: the training world up to its validation steps.
        config: settings of the loop.
        seed: of every draw.
        resume: a state to go on from.

    Raises:
        TrainingDiverged: a loss, gradient or weight is not finite; the module is left with the
            last finite weights.
    """
    if not model.spec.trains:
        return
    loop = Loop(model, objective, training, config, seed)
    if resume is not None:
        loop.restore(resume)
    while not loop.finished:
        yield loop.run_epoch()
    load_weights(model, loop.state().chosen)
    model.eval()


class Loop:
    """Training under way."""

    def __init__(
        self,
        model: LinkModel,
        objective: Objective,
        training: TrainingSet,
        config: TrainConfig,
        seed: int,
    ) -> None:
        self.model = model.to(config.torch_dtype)
        self.objective = objective
        self.config = config
        self.seed = seed
        self.training = replace(training, world=training.world.in_dtype(config.torch_dtype))
        self.valid_pairs = self.training.valid_pairs
        self.valid_queries = self.training.world.queries(self.valid_pairs)
        self.optimizer = _optimizer(model, config)
        self.top_lr = [float(group["lr"]) for group in self.optimizer.param_groups]
        self.objective_state = objective.start()
        self.epoch, self.best_epoch, self.best_auc = -1, -1, 0.0
        self.best: dict[str, Tensor] = {}
        self.warned = False

    @property
    def finished(self) -> bool:
        """Whether all epochs have run, or patience ran out at a validation."""
        if self.epoch + 1 >= self.config.epochs:
            return True
        waited = self.epoch - self.best_epoch
        patience = self.config.patience
        return 0 < patience <= waited and self.best_epoch >= 0 and self._validates(self.epoch)

    def run_epoch(self) -> Epoch:
        """Learn from a fresh draw of pairs, then validate if it is due."""
        began = time.perf_counter()
        index = self.epoch + 1
        with torch.random.fork_rng(devices=[]):
            # For modules that draw from torch's global stream all the same, such as Dropout.
            torch.default_generator.manual_seed(stream_seed(self.seed, "global", index))
            context = self._context(index)
            learn = self._step if self.model.spec.gradient else self._fit_pairs
            loss, terms, scores, norm = learn(index, context)
            self.epoch = index
            valid_auc = self._validate(context) if self._validates(index) else None
        self._choose(index, valid_auc)
        prob = alarms.selector_prob(scores)
        self._watch(index, prob)
        means = {name: float(term.mean.detach()) for name, term in terms.items()}
        return Epoch(
            index=index,
            loss=float(loss.detach()),
            terms=means,
            lr=self.config.lr * self.config.lr_share(index),
            grad_norm=float(norm),
            valid_auc=valid_auc,
            kl=means.get("kl"),
            mean_p=alarms.mean_of(prob),
            best_epoch=self.best_epoch,
            seconds=time.perf_counter() - began,
            _loop=self,
        )

    def state(self) -> TrainState:
        """A copy of where training stands."""
        return TrainState(
            epoch=self.epoch,
            weights=copied(self.model.state_dict()),
            optimizer=optimizer_tensors(self.optimizer),
            objective=copied(self.objective_state),
            best=self.best,  # replaced, never changed
            best_epoch=self.best_epoch,
            best_auc=self.best_auc,
            warned=self.warned,
        )

    def restore(self, state: TrainState) -> None:
        """Stand where a state was taken."""
        load_weights(self.model, state.weights)
        restore_optimizer(self.optimizer, state.optimizer)
        self.objective_state = copied(state.objective)
        self.best = copied(state.best)
        self.epoch, self.best_epoch, self.best_auc = state.epoch, state.best_epoch, state.best_auc
        self.warned = state.warned

    def _context(self, index: int) -> Context:
        context = Context(self.seed, index)
        with torch.no_grad():
            return replace(context, aux=self.model.refresh(self.training.world, context))

    def _step(self, index: int, context: Context) -> tuple[Tensor, dict[str, Term], Scores, Tensor]:
        self.model.train()
        world = self.training.world
        pairs = self._drawn(context)
        queries = world.queries(pairs)
        scores = self.model.rollout(world, queries, context)
        terms = self.model.terms(scores, queries, pairs.label, context)
        loss, objective_state = self.objective.combine(terms, index, self.objective_state)
        alarms.check_loss(loss, terms, scores, queries, index, self.config)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        norm = self._clipped(index)
        before = copied(dict(self.model.named_parameters()))
        for group, top in zip(self.optimizer.param_groups, self.top_lr, strict=True):
            group["lr"] = top * self.config.lr_share(index)
        self.optimizer.step()
        try:
            alarms.check_weights(self.model, index, self.config)
        except TrainingDiverged:
            self.model.load_state_dict(before, strict=False)
            raise
        self.objective_state = {name: one.detach() for name, one in objective_state.items()}
        return loss, terms, scores, norm

    def _fit_pairs(
        self, index: int, context: Context
    ) -> tuple[Tensor, dict[str, Term], Scores, Tensor]:
        """One fit of a method that learns without gradients."""
        pairs = self._drawn(context)
        with torch.no_grad():
            scores = self.model.fit_pairs(self.training, pairs, context)
            queries = self.training.world.queries(pairs)
            terms = self.model.terms(scores, queries, pairs.label, context)
            loss, self.objective_state = self.objective.combine(terms, index, self.objective_state)
        alarms.check_loss(loss, terms, scores, queries, index, self.config)
        return loss, terms, scores, torch.zeros(())

    def _drawn(self, context: Context) -> Pairs:
        pairs = self.training.draw(context.stream("training pairs"))
        if not len(pairs):
            raise BadSplit(
                "the training steps hold no pairs to train on",
                "Train on more steps (split=...), or on more links.",
            )
        return pairs

    def _clipped(self, index: int) -> Tensor:
        """Clip the gradient, once it is known to be finite; return its norm before."""
        weights = [one for one in self.model.parameters() if one.grad is not None]
        norm = torch.nn.utils.get_total_norm([one.grad for one in weights if one.grad is not None])
        alarms.check_gradient(norm, self.model, index, self.config)
        torch.nn.utils.clip_grads_with_norm_(weights, self.config.clip, norm)
        return norm

    def _validates(self, index: int) -> bool:
        due = (index + 1) % self.config.eval_every == 0 or index + 1 == self.config.epochs
        return due and index >= self.model.spec.first_epoch and len(self.valid_pairs) > 0

    def _validate(self, context: Context) -> float | None:
        self.model.eval()
        with torch.no_grad():
            queries: Queries = self.valid_queries
            logits = self.model.rollout(self.training.world, queries, context).logits
        self.model.train()
        alarms.check_logits(logits, context.epoch, self.config)
        score = per_step(auc, logits, self.valid_pairs.label, self.valid_pairs.step)
        return None if score != score else score

    def _choose(self, index: int, valid_auc: float | None) -> None:
        if valid_auc is not None and (self.best_epoch < 0 or valid_auc > self.best_auc):
            self.best_epoch, self.best_auc = index, valid_auc
            self.best = copied(self.model.state_dict())

    def _watch(self, index: int, prob: Tensor | None) -> None:
        if prob is None or self.warned or index < self.config.warmup:
            return
        how = alarms.find_collapse(prob)
        if how is not None:
            self.warned = True
            warnings.warn(alarms.collapse_warning(how, index), stacklevel=4)


def _optimizer(model: LinkModel, config: TrainConfig) -> torch.optim.Optimizer:
    groups = [{"params": group.params, **group.settings} for group in model.param_groups()]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.lr, weight_decay=config.weight_decay)
