"""The prior over selected links: what earlier selections alone imply (Eq. 11 to 12).

    h_a = Rep(hist_a, s_a)        q_ab = sigmoid(MLP[h_a || h_b] / tau)

It sees no link of the step itself. Where it only scores links that exist it can follow p for
free; the correct variational marginal also pays -log(1 - q) for every pair that did not link.
"""

import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import World
from oodlinker.nn.layers import HeadKind, PairHead, Representation
from oodlinker.nn.link_plan import LinkPlan
from oodlinker.nn.link_sums import LinkSums
from oodlinker.objectives.non_links import NonLinks


class Prior(nn.Module):
    """Network phi 3.

    Args:
        sums: the running sums, shared with the other networks.
        node_dim: width of node features.
        hidden: width of hidden layers.
        head: how a pair of ends is read.
        bias: start value of the last bias.
        temperature: tau.
    """

    def __init__(
        self,
        sums: LinkSums,
        node_dim: int,
        hidden: int,
        head: HeadKind,
        bias: float,
        temperature: float,
    ) -> None:
        super().__init__()
        self.temperature = temperature
        self.sums = [sums]  # in a list: its parameters belong to the model, not to the prior
        self.represent = Representation(sums.shown, node_dim, hidden)
        self.head = PairHead(
            node_dim, hidden, 3, kind=head, directed=sums.slots == 2, bias=bias * temperature
        )

    def of_links(
        self,
        plan: LinkPlan,
        table: Float[Tensor, "row stored"],
        content: Float[Tensor, "any_row node_dim"],
        num_links: int,
    ) -> Float[Tensor, " link"]:
        """Eq. 11 to 12. Logits of q for the first links of a history.

        Args:
            plan: rows and links.
            table: stored sums after each row.
            content: features of each row; rows after the table's are not read.
            num_links: how many links, from the first.
        """
        rows = slice(0, table.shape[0])
        nodes = self._nodes(table, plan, plan.previous[rows], plan.row_step[rows], content[rows])
        logits: Tensor = self.head(nodes, plan.src[:num_links], plan.dst[:num_links])
        return logits / self.temperature

    def price(
        self,
        plan: LinkPlan,
        table: Float[Tensor, "row stored"],
        world: World,
        drawn: NonLinks,
    ) -> Float[Tensor, " one"]:
        """What the prior pays for pairs that did not link: sum of -c log(1 - q), from a sample.

        Args:
            plan: rows and links.
            table: stored sums after each row.
            world: whose pairs they are.
            drawn: the sample.
        """
        # Ends of a query about step t are read at t - 1, as the prior reads a link of step t.
        asked = Queries.make(drawn.one, drawn.other, drawn.step, world.features)
        step = asked.end_step + 1
        own = world.features.rows(asked.end_node, step).to(table)
        row = plan.last_row(asked.end_node, asked.end_step)
        nodes = self._nodes(table, plan, row, step, own)
        logits = self.head(nodes, asked.src, asked.dst) / self.temperature
        return (drawn.weight.to(table) * F.softplus(logits)).sum().reshape(1)

    def _nodes(
        self,
        table: Tensor,
        plan: LinkPlan,
        row: Int64[Tensor, " end"],
        step: Int64[Tensor, " end"],
        own: Float[Tensor, "end node_dim"],
    ) -> Tensor:
        """Represent nodes at a step by the rows that they had before it."""
        gap = step - plan.row_step.index_select(0, row)
        before = self.sums[0].carried(table.index_select(0, row), gap)
        nodes: Tensor = self.represent(self.sums[0].view(before, step), own)
        return nodes
