"""Representation and pair heads, with first layers split so that they run once a node."""

from typing import Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

HeadKind = Literal["concat", "symmetric"]


class Representation(nn.Module):
    """Rep(g, s) = s + tanh(B relu(A g) + C s), of Eq. 8, 11 and 13.

    Args:
        shown: width of g, what is seen of the history.
        node_dim: width of s and of the result.
        hidden: width in between.
    """

    def __init__(self, shown: int, node_dim: int, hidden: int) -> None:
        super().__init__()
        self.history = nn.Linear(shown, hidden)
        self.update = nn.Linear(hidden, node_dim)
        self.own = nn.Linear(node_dim, node_dim, bias=False)

    def forward(
        self, shown: Float[Tensor, "row shown"], own: Float[Tensor, "row node_dim"]
    ) -> Float[Tensor, "row node_dim"]:
        """Represent nodes by their history and their own features."""
        hidden = torch.relu(self.history(shown))
        return own + torch.tanh(self.update(hidden) + self.own(own))


class PairHead(nn.Module):
    """Logit of a pair from the representations of its ends.

    `concat` reads [h_a || h_b] as Eq. 9, 12 and 14 do. `symmetric` reads
    [h_a + h_b || |h_a - h_b| || h_a * h_b], which spares the network from learning a product.
    In both the part that is linear in one end runs once a node: W [h_a || h_b] = U h_a + V h_b.
    Undirected graphs give the same logit for both orders (`concat`: their mean); directed ones
    keep the order.

    Args:
        node_dim: width of a representation.
        hidden: width of the hidden layers.
        layers: linear layers in all, 2 or 3.
        kind: "concat" or "symmetric".
        directed: whether order matters.
        bias: start value of the last bias.
    """

    def __init__(
        self,
        node_dim: int,
        hidden: int,
        layers: int,
        *,
        kind: HeadKind,
        directed: bool,
        bias: float = 0.0,
    ) -> None:
        super().__init__()
        self.kind, self.directed = kind, directed
        inputs = 2 * node_dim
        if kind == "symmetric":
            inputs = (4 if directed else 3) * node_dim
        whole = nn.Linear(inputs, hidden)  # initialised as the one layer that it stands for
        weight = whole.weight.detach()
        self.bias = nn.Parameter(whole.bias.detach())
        self.left = nn.Parameter(weight[:, :node_dim].clone())
        one_sided = kind == "symmetric" and not directed
        self.right = None if one_sided else nn.Parameter(weight[:, node_dim : 2 * node_dim].clone())
        self.joint = (
            nn.Parameter(weight[:, -2 * node_dim :].clone()) if kind == "symmetric" else None
        )
        deeper = [nn.Linear(hidden, hidden) for _ in range(layers - 2)]
        self.deeper = nn.ModuleList(deeper)
        self.last = nn.Linear(hidden, 1)
        nn.init.constant_(self.last.bias, bias)

    def forward(
        self,
        nodes: Float[Tensor, "row node_dim"],
        first: Int64[Tensor, " pair"],
        second: Int64[Tensor, " pair"],
    ) -> Float[Tensor, " pair"]:
        """Logits of pairs of rows."""
        left = nodes @ self.left.T
        right = left if self.right is None else nodes @ self.right.T
        hidden = left.index_select(0, first) + right.index_select(0, second) + self.bias
        if self.joint is not None:
            one, other = nodes.index_select(0, first), nodes.index_select(0, second)
            hidden = hidden + torch.cat([(one - other).abs(), one * other], dim=1) @ self.joint.T
        elif not self.directed:
            swapped = left.index_select(0, second) + right.index_select(0, first) + self.bias
            return 0.5 * (self._finish(hidden) + self._finish(swapped))
        return self._finish(hidden)

    def _finish(self, hidden: Tensor) -> Tensor:
        hidden = torch.relu(hidden)
        for layer in self.deeper:
            hidden = torch.relu(layer(hidden))
        logits: Tensor = self.last(hidden)
        return logits.squeeze(1)


class CosineHead(nn.Module):
    """Logit from one number: the scaled cosine of two vectors, through a small network.

    It cannot memorise nodes, so it leaves the work to the selector.

    Args:
        hidden: width of the hidden layer.
        scale: what the cosine is multiplied by.
    """

    def __init__(self, hidden: int, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.inner = nn.Linear(1, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(
        self,
        one: Float[Tensor, "pair node_dim"],
        other: Float[Tensor, "pair node_dim"],
    ) -> Float[Tensor, " pair"]:
        """Logits of pairs of vectors."""
        cosine = torch.cosine_similarity(one, other, dim=1, eps=1e-8) * self.scale
        logits: Tensor = self.last(torch.relu(self.inner(cosine.unsqueeze(1))))
        return logits.squeeze(1)
