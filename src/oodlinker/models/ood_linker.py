"""OOD-Linker: predict links from the past links that carry the invariant signal.

    hist_a(t) = sum over links (a, w, t'), t' < t, of p [s_w || f(t - t') || e]
    selector   p_abt = sigmoid(MLP[h_a || h_b]), h_a = Rep(hist_a + now_a, s_a)     Eq. 7-10
    prior      q_abt = sigmoid(MLP[h_a || h_b]), h_a = Rep(hist_a, s_a)             Eq. 11-12
    predictor  y_uv  = sigmoid(MLP[h_u || h_v]), h_u = Rep(hist_u at the end, s_u)  Eq. 13-14
    loss       BCE + beta KL(Bern p || Bern q) over the links that a query sees     Eq. 15

p and q depend on no query, so one pass over the links serves all of them, exactly. Departures
from the paper, and what each option reads differently, are listed in `docs/paper.md`.

Reference: "Invariant Link Selector for Spatial-Temporal Out-of-Distribution Problem", AISTATS 2025.
"""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import Step, World
from oodlinker.models.contract import Context, Dims, LinkModel, Scores, Spec, State, task_term
from oodlinker.models.history import History, Reading
from oodlinker.models.ood_linker_config import OODLinkerConfig
from oodlinker.models.prior import Prior
from oodlinker.models.selector import Selector, close_step, logistic_noise
from oodlinker.nn.layers import CosineHead, HeadKind, PairHead, Representation
from oodlinker.nn.link_plan import StepPlan
from oodlinker.nn.link_sums import LinkSums, SumParts
from oodlinker.nn.recursion import run_steps
from oodlinker.objectives.bottleneck import HistoryUse, bernoulli_kl, reduce_kl
from oodlinker.objectives.contract import Term
from oodlinker.objectives.non_links import draw_non_links


class OODLinker(LinkModel):
    """The invariant link selector with its prior and predictor."""

    Config = OODLinkerConfig
    spec = Spec(
        state="sums",
        summary="selects the past links that carry an invariant signal, predicts from those",
        reference="Invariant Link Selector, AISTATS 2025",
        cost="O(L (d + h^2) + A h d + Q h d)",
        objective="bottleneck",
    )

    def __init__(self, dims: Dims, config: OODLinkerConfig = OODLinkerConfig()) -> None:
        super().__init__(dims)
        self.config = config
        slots, node = (2 if dims.directed else 1), dims.node
        edge_dim = {"off": 0, "constant": 1, "links": dims.edge}[config.edge_code]
        parts = SumParts(
            node_dim=node,
            edge_dim=edge_dim,
            time_dim=config.time_dim,
            count=config.count,
            decayed_count=config.decayed_count,
            decay=config.decay,
            log_scale=config.log_scale,
        )
        self.sums = LinkSums(parts, slots, dims.steps)
        self.reading = Reading(self.sums, config.selection, config.edge_code)
        kind: HeadKind = "concat" if config.head == "concat" else "symmetric"
        shape = (self.sums, node, config.hidden, kind)
        self.selector, self.prior = None, None
        if config.selection == "learned":
            self.selector = Selector(
                *shape,
                config.select_bias,
                config.temperature,
                detach_history=config.detach_history,
            )
            if config.prior == "learned":
                pays = config.prior_support == "pairs"
                bias = config.prior_bias if pays else config.select_bias
                self.prior = Prior(*shape, bias, config.temperature)
        self.represent: Representation | None = None
        self.head: PairHead | CosineHead
        if config.head == "cosine":
            self.head = CosineHead(config.hidden, config.cosine_scale)
        else:
            self.represent = Representation(self.sums.shown, node, config.hidden)
            self.head = PairHead(node, config.hidden, 2, kind=config.head, directed=dims.directed)

    # ---- one pass over a whole world

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        """Score all queries of a world in one exact pass; in training also the penalty."""
        history = self.read(world)
        num_steps = int(queries.end_step.max()) + 1 if len(queries) else 0
        select, table = self._pass(history, num_steps, context)
        plan = history.plan
        row = plan.last_row(queries.end_node, queries.end_step)
        gap = queries.end_step - plan.row_step.index_select(0, row)
        ends = self.sums.carried(table.index_select(0, row), gap)
        if self.config.last_step == "one":
            newest = (gap == 0).unsqueeze(1)
            ends = torch.where(newest, self._at_weight_one(history, table, row, num_steps), ends)
        logits = self._predict(ends, queries)
        trace = {"prob": torch.sigmoid(select)} if self.selector is not None else {}
        if self.training and self.selector is not None and self.config.prior != "none":
            trace |= self._penalty(world, history, select, table, queries, context)
        return Scores(logits, trace)

    def terms(
        self, scores: Scores, queries: Queries, labels: Bool[Tensor, " query"], context: Context
    ) -> dict[str, Term]:
        """The task, and the penalty where there is one."""
        terms = {"task": task_term(scores.logits, labels)}
        if "kl_total" in scores.trace:
            terms["kl"] = Term(scores.trace["kl_total"], scores.trace["kl_count"])
        return terms

    def read(self, world: World) -> History:
        """Plan a world, once for as long as it lives."""
        like = self._like
        key = f"ood-linker {like.dtype} {like.device} {self.reading.edge_code}"
        return world.once(
            f"{key} {self.reading.selection}", lambda one: History.of(one, self.reading, like)
        )

    @property
    def _like(self) -> Tensor:
        return next(self.head.parameters()).detach()

    def _pass(
        self, history: History, num_steps: int, context: Context
    ) -> tuple[Float[Tensor, " link"], Float[Tensor, "row stored"]]:
        """Steps 1 to 4 of the pass: select the links of each step, then add them."""
        plan = history.plan
        num_steps = min(num_steps, len(plan.steps))
        noise = None
        if self.training and self.config.gate == "concrete" and self.selector is not None:
            links = plan.link_ptr[num_steps]
            noise = logistic_noise(links, self._like, context.stream("gates"))

        def close(step: int, before: Tensor) -> tuple[Tensor, Tensor]:
            rows = plan.rows_of(step)
            gap = step - plan.row_step.index_select(0, plan.previous[rows])
            return close_step(
                self.sums,
                self.selector,
                history.step(step, noise),
                self.sums.carried(before, gap),
                self.config.gate_temperature,
            )

        learned = [*self.sums.parameters()]
        if self.selector is not None:
            learned += self.selector.parameters()
        return run_steps(
            plan,
            num_steps,
            close,
            history.content.new_empty(0, self.sums.width),
            learned,
        )

    def _at_weight_one(
        self, history: History, table: Tensor, row: Int64[Tensor, " end"], num_steps: int
    ) -> Tensor:
        """Eq. 13 to the letter: sums before each row's step, plus its links at weight 1."""
        plan = history.plan
        previous = plan.previous.index_select(0, row)
        step = plan.row_step.index_select(0, row)
        gap = step - plan.row_step.index_select(0, previous)
        before = self.sums.carried(table.index_select(0, previous), gap)
        stamped = [
            self.sums.stamped(step.gathered, step.index) for step in history.steps[:num_steps]
        ]
        now = torch.cat([table.new_zeros(1, self.sums.width), *stamped])
        return before + now.index_select(0, row)

    def _predict(self, ends: Tensor, queries: Queries) -> Float[Tensor, " query"]:
        """Eq. 13 to 14. Represent every end once, then score the pairs."""
        own = queries.end_feat.to(ends)
        if self.represent is None:
            src_side = own + self.sums.content(ends, 0)
            dst_side = own + self.sums.content(ends, self.sums.slots - 1)
            return self.head(  # type: ignore[no-any-return]
                src_side.index_select(0, queries.src), dst_side.index_select(0, queries.dst)
            )
        nodes = self.represent(self.sums.view(ends, queries.end_step), own)
        logits: Tensor = self.head(nodes, queries.src, queries.dst)
        return logits

    # ---- the prior and what the selection costs

    def _penalty(
        self,
        world: World,
        history: History,
        select: Float[Tensor, " link"],
        table: Float[Tensor, "row stored"],
        queries: Queries,
        context: Context,
    ) -> dict[str, Tensor]:
        """Eq. 15, second part: the divergence of all history links, each as often as it is seen."""
        links = select.numel()
        use = HistoryUse(queries)
        seen = use.of_pairs(world.src[:links], world.dst[:links], world.step_of_link[:links])
        if self.prior is None:
            rate = torch.tensor(self.config.prior_rate, dtype=torch.float64)
            prior = torch.full_like(select, float(torch.logit(rate)))
        else:
            prior = self.prior.of_links(history.plan, table, history.content, links)
        term = reduce_kl(bernoulli_kl(select, prior), seen, len(queries), self.config.kl_reduction)
        total = term.total
        if self.prior is not None and self.config.prior_support == "pairs":
            rows = history.plan.row_node[1 : table.shape[0]]
            drawn = draw_non_links(
                world,
                int(queries.end_step.max()) + 1,
                use,
                torch.unique(torch.cat([rows, queries.end_node])),
                context.stream("non-links"),
                per_link=self.config.non_links,
                counted=self.config.kl_reduction != "link_mean",
            )
            total = total + self.prior.price(history.plan, table, world, drawn)
        return {
            "prior_prob": torch.sigmoid(prior),
            "kl_total": total,
            "kl_count": term.count,
        }

    # ---- the same, step by step

    def start(self, num_nodes: int) -> State:
        """No links yet."""
        like = self._like
        tables = {
            "sums": like.new_zeros(num_nodes, self.sums.width),
            "last": torch.full((num_nodes,), -1, device=like.device),
        }
        if self.config.last_step == "one":
            tables["newest"] = like.new_zeros(num_nodes, self.sums.width)
        return State(-1, num_nodes, tables)

    def advance(self, state: State, step: Step) -> State:
        """Select the links of a step and add them."""
        state = state.grown(step.num_nodes)
        plan = StepPlan.of(step.src, step.dst, directed=self.dims.directed)
        sums = state.nodes["sums"]
        closing = self.reading.step(step, plan, sums)
        gap = step.index - state.nodes["last"].index_select(0, plan.nodes)
        before = self.sums.carried(sums.index_select(0, plan.nodes), gap)
        _, after = close_step(
            self.sums, self.selector, closing, before, self.config.gate_temperature
        )
        tables = {
            "sums": sums.index_copy(0, plan.nodes, after),
            "last": state.nodes["last"].index_fill(0, plan.nodes, step.index),
        }
        if self.config.last_step == "one":
            newest = before + self.sums.stamped(closing.gathered, closing.index)
            tables["newest"] = state.nodes["newest"].index_copy(0, plan.nodes, newest)
        return state.closed(step, **tables)

    def score(self, state: State, queries: Queries) -> Scores:
        """Score pairs from the sums alone."""
        state = state.grown(int(queries.end_node.max()) + 1 if queries.end_node.numel() else 0)
        sums = state.nodes["sums"].index_select(0, queries.end_node)
        gap = queries.end_step - state.nodes["last"].index_select(0, queries.end_node)
        ends = self.sums.carried(sums, gap)
        if self.config.last_step == "one":
            newest = state.nodes["newest"].index_select(0, queries.end_node)
            ends = torch.where((gap == 0).unsqueeze(1), newest, ends)
        return Scores(self._predict(ends, queries))
