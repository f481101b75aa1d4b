"""Algorithm 1 by the letter: one recursion a query, over lists of links, no sharing of anything.

Slow on purpose. It uses a model's parameters and none of its code: every sum is written out from
the equations, link by link.
"""

from functools import cache

import torch
from torch import Tensor

from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import World
from oodlinker.models.ood_linker import OODLinker


class Oracle:
    """Logits, p, q and the loss of a model on one world, query by query."""

    def __init__(self, model: OODLinker, world: World, noise: Tensor | None = None) -> None:
        self.model, self.world, self.noise = model, world, noise
        self.config = model.config
        steps = world.step_of_link.tolist()
        self.links = list(zip(world.src.tolist(), world.dst.tolist(), steps, strict=True))
        self.like = next(model.head.parameters())
        self.select_logit = cache(self._select_logit)
        self.prior_logit = cache(self._prior_logit)

    # ---- sums over lists

    def feature(self, node: int, step: int) -> Tensor:
        return self.world.features.rows(torch.tensor([node]), step)[0].to(self.like.dtype)

    def incident(self, node: int, slot: int) -> list[tuple[int, int]]:
        """(link, other end) of all links of a node; a self-loop once."""
        found = []
        for link, (src, dst, _) in enumerate(self.links):
            if self.world.directed:
                if (src, dst)[slot] == node:
                    found.append((link, (dst, src)[slot]))
            elif node in (src, dst):
                found.append((link, dst if src == node else src))
        return found

    def shown(self, node: int, now: int, weight_of: "dict[str, object]") -> Tensor:
        """g: the sums of a node as read at step `now`, all slots, scaled as configured."""
        parts = []
        for slot in range(2 if self.world.directed else 1):
            terms = [
                (weight, self.column(link, other, self.links[link][2], now))
                for link, other in self.incident(node, slot)
                if (weight := weight_of["of"](link)) is not None
            ]
            width = self.model.sums.parts.shown
            total = self.like.new_zeros(width)
            for weight, column in terms:
                total = total + weight * column
            parts.append(total)
        flat = torch.cat(parts)
        return flat.sign() * flat.abs().log1p() if self.config.log_scale else flat

    def column(self, link: int, other: int, step: int, now: int) -> Tensor:
        """[s_w || e || f(t - t') || 1 || decay^(t - t')] of one link."""
        columns = [self.feature(other, step)]
        if self.config.edge_code == "constant":
            columns.append(self.like.new_ones(1))
        if self.config.edge_code == "links":
            columns.append(self.world.edge_feat[link].to(self.like.dtype))
        if self.config.time_dim:
            time = self.model.sums.time
            columns.append(torch.cos(time.omega * (now - step) + time.phase))
        counts = [1.0] * self.config.count
        counts += [self.config.decay ** (now - step)] * self.config.decayed_count
        return torch.cat([*columns, self.like.new_tensor(counts)])

    def weight(self, link: int) -> Tensor:
        """The weight with which a link of the past is summed: p, or its gate."""
        if self.config.selection == "all":
            return self.like.new_ones(())
        if self.config.selection == "given":
            return self.world.invariant[link].to(self.like.dtype)
        logit = self.select_logit(link)
        if self.noise is not None:
            logit = (logit + self.noise[link]) / self.config.gate_temperature
        weight = torch.sigmoid(logit)
        return weight

    # ---- networks, by their matrices

    def represent(self, network, shown: Tensor, own: Tensor) -> Tensor:
        hidden = (network.history.weight @ shown + network.history.bias).clamp(min=0)
        inner = network.update.weight @ hidden + network.update.bias
        return own + torch.tanh(inner + network.own.weight @ own)

    def read_pair(self, head, one: Tensor, other: Tensor) -> Tensor:
        if head.kind == "concat":
            whole = torch.cat([head.left, head.right], dim=1)
            orders = [(one, other)] if self.world.directed else [(one, other), (other, one)]
            logits = [self.finish(head, whole @ torch.cat(pair) + head.bias) for pair in orders]
            return sum(logits) / len(logits)
        if self.world.directed:
            whole = torch.cat([head.left, head.right, head.joint], dim=1)
            ends = torch.cat([one, other])
        else:
            whole = torch.cat([head.left, head.joint], dim=1)
            ends = one + other
        inputs = torch.cat([ends, (one - other).abs(), one * other])
        return self.finish(head, whole @ inputs + head.bias)

    def finish(self, head, hidden: Tensor) -> Tensor:
        hidden = hidden.clamp(min=0)
        for layer in head.deeper:
            hidden = (layer.weight @ hidden + layer.bias).clamp(min=0)
        return (head.last.weight @ hidden + head.last.bias)[0]

    # ---- the three networks

    def _select_logit(self, link: int) -> Tensor:
        """Eq. 7-10: earlier links by their weight, those of the step at weight 1."""
        src, dst, step = self.links[link]

        def of(other: int) -> Tensor | None:
            at = self.links[other][2]
            if at > step:
                return None
            if at == step:
                return self.like.new_ones(())
            weight = self.weight(other)
            return weight.detach() if self.config.detach_history else weight

        network = self.model.selector
        ends = [
            self.represent(
                network.represent, self.shown(node, step, {"of": of}), self.feature(node, step)
            )
            for node in (src, dst)
        ]
        return self.read_pair(network.head, *ends) / self.config.temperature

    def _prior_logit(self, link: int) -> Tensor:
        """Eq. 11-12: earlier links only."""
        return self.prior_of_pair(*self.links[link])

    def prior_of_pair(self, src: int, dst: int, step: int) -> Tensor:
        if self.config.prior == "fixed":
            rate = torch.tensor(self.config.prior_rate, dtype=self.like.dtype)
            return torch.log(rate / (1 - rate))

        def of(other: int) -> Tensor | None:
            return self.weight(other) if self.links[other][2] < step else None

        network = self.model.prior
        ends = [
            self.represent(
                network.represent, self.shown(node, step, {"of": of}), self.feature(node, step)
            )
            for node in (src, dst)
        ]
        return self.read_pair(network.head, *ends) / self.config.temperature

    def logit(self, src: int, dst: int, step: int) -> Tensor:
        """Eq. 13-14 for the link (src, dst) at `step`; its history ends one step before."""
        last = step - 1

        def of(link: int) -> Tensor | None:
            at = self.links[link][2]
            if at > last:
                return None
            if at == last and self.config.last_step == "one":
                return self.like.new_ones(())
            return self.weight(link)

        own = [self.feature(node, last) for node in (src, dst)]
        if self.config.head == "cosine":
            return self.cosine_logit(src, dst, own, of)
        ends = [
            self.represent(self.model.represent, self.shown(node, last, {"of": of}), feature)
            for node, feature in zip((src, dst), own, strict=True)
        ]
        return self.read_pair(self.model.head, *ends)

    def cosine_logit(self, src: int, dst: int, own: list[Tensor], of) -> Tensor:
        sides = []
        for place, (node, total) in enumerate(zip((src, dst), own, strict=True)):
            for link, other in self.incident(node, place if self.world.directed else 0):
                weight = of(link)
                if weight is not None:
                    total = total + weight * self.feature(other, self.links[link][2])
            sides.append(total)
        cosine = (sides[0] @ sides[1]) / (sides[0].norm() * sides[1].norm()).clamp(min=1e-8)
        head = self.model.head
        inner = head.inner.weight[:, 0] * cosine * self.config.cosine_scale + head.inner.bias
        return (head.last.weight @ inner.clamp(min=0) + head.last.bias)[0]

    # ---- Eq. 15

    def kl_of_query(self, src: int, dst: int, step: int) -> list[Tensor]:
        """KL(Bern p || Bern q) of every link that touches the query's ends before its step."""
        terms = []
        for link, (one, other, at) in enumerate(self.links):
            if at < step and {one, other} & {src, dst}:
                terms.append(self.kl_of_link(link))
        return terms

    def kl_of_link(self, link: int) -> Tensor:
        prob, prior = self.select_logit(link).sigmoid(), self.prior_logit(link).sigmoid()
        kept = prob * (prob.log() - prior.log())
        return kept + (1 - prob) * ((1 - prob).log() - (1 - prior).log())

    def penalty(self, queries: Queries, reduction: str) -> Tensor:
        asked = zip(
            queries.src_node.tolist(), queries.dst_node.tolist(), queries.step.tolist(), strict=True
        )
        zero = self.like.new_zeros(())
        if reduction == "link_mean":
            last = int(queries.step.max())
            links = [link for link, (_, _, at) in enumerate(self.links) if at < last]
            return sum((self.kl_of_link(link) for link in links), zero) / max(len(links), 1)
        per_query = [self.kl_of_query(*one) for one in asked]
        total = sum((term for terms in per_query for term in terms), zero)
        if reduction == "query_mean":
            return total / len(per_query)
        if reduction == "pooled_mean":
            return total / max(sum(len(terms) for terms in per_query), 1)
        return total
