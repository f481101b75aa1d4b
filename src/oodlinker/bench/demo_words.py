"""Sentences of the demo's page, each computed from the numbers that it tells."""

from collections.abc import Iterator

from oodlinker.bench.demo_run import METHOD, Demo
from oodlinker.data.planted_config import PlantedConfig
from oodlinker.graph.worlds import World
from oodlinker.insight.shifted_loss import LossCurve
from oodlinker.insight.tables import fraction

SAME = 0.005  # differences up to this are called none


def lead(demo: Demo) -> Iterator[str]:
    """What the reader should know before all else."""
    default, everything = _ood(demo, "default"), _ood(demo, "all-links")
    yield (
        "Which past links should a prediction lean on when the domain is new? Here the answer is "
        "planted, so it can be checked."
    )
    yield (
        f"On a domain never seen in training, OOD-Linker scores AUC {fraction(default)} and the "
        f"same method without selection {fraction(everything)}: {_gain(default - everything)}"
    )
    yield f"All of it took {demo.seconds:.0f} seconds. {demo.report.notes[-1]}"


def about_world(demo: Demo) -> Iterator[str]:
    """What was planted."""
    worlds, config = demo.worlds, demo.config
    assert worlds.shifted is not None  # planted worlds hold a domain out
    yield (
        f"A world of {config.people:,} people in {config.communities} communities, watched for "
        f"{config.steps} steps, with {worlds.train.src.numel():,} links; and a second world like "
        f"it, with other people, for the held-out domain {worlds.held_out}."
    )
    yield (
        f"{_invariant_share(worlds.train)} of the links join two people of one community. They say "
        "who will link next in every domain: these links are invariant."
    )
    yield (
        "All others lead to a hub, like a venue that many visit. Whether two people have just met "
        "the same hub says something too, but not the same in every domain: these links are "
        "spurious."
    )
    yield _hub_rule(config, [str(name) for name in worlds.domain_names])
    yield (
        "The question is always the same: given all links up to now, does this pair link in the "
        "next step? Half of the pairs that are asked about do."
    )


def about_scores(demo: Demo) -> Iterator[str]:
    """Who predicts how well, and what selection is worth."""
    yield (
        "AUC is the chance that a pair that links gets a higher score than one that does not: 0.5 "
        "is guessing, 1 is perfect. In distribution (id) means later links of the training "
        "domains, out of distribution (ood) those of the held-out one."
    )
    default, everything, oracle = (_ood(demo, name) for name in ("default", "all-links", "oracle"))
    lost = demo.report.value(METHOD, "all-links", world="id") - everything
    if lost > SAME:
        yield (
            f"Without selection the method loses {fraction(lost)} from in to out of distribution: "
            "what the hubs said in training is wrong in the new domain."
        )
    room = oracle - everything
    if room > SAME:
        share = (default - everything) / room
        yield (
            f"Knowing the invariant links is worth {fraction(room)} out of distribution (oracle "
            f"against all-links). Learned selection {_of_the_room(share)}"
        )
    name = demo.report.standing.best_trivial("ood")
    best = demo.report.value(name) if name else float("nan")
    if abs(best - everything) <= 2 * SAME:
        yield (
            f"{name} and all-links stand close together ({fraction(best)} and "
            f"{fraction(everything)}): with every link at weight 1, the learned head sees much the "
            "same as the cosine that learns nothing."
        )


def about_loss(demo: Demo) -> Iterator[str]:
    """How the losses move while training goes on."""
    for name in ("default", "all-links"):
        curve = demo.curves[name]
        train, shifted = [loss for _, loss in curve.train], [loss for _, loss in curve.shifted]
        yield (
            f"{name}: the loss goes from {fraction(train[0])} to {fraction(train[-1])} on training "
            f"links and from {fraction(shifted[0])} to {fraction(shifted[-1])} on shifted links"
            f"{_lowest_before(curve)}."
        )
    default, everything = (demo.curves[name].shifted[-1][1] for name in ("default", "all-links"))
    if everything - default > SAME:
        told = f"{fraction(everything - default)} lower with selection than without."
    elif default - everything > SAME:
        told = f"{fraction(default - everything)} higher with selection than without."
    else:
        told = "about the same with selection and without."
    yield f"At the end the loss on shifted links is {told}"


def _lowest_before(curve: LossCurve) -> str:
    """Where the shifted loss was lower than it ends."""
    epoch, lowest = min(curve.shifted, key=lambda point: point[1])
    if curve.shifted[-1][1] - lowest <= SAME:
        return ""
    return (
        f", where it was lowest ({fraction(lowest)}) at epoch {epoch}: what was learned after that "
        "does not hold in the new domain"
    )


def about_p(demo: Demo) -> Iterator[str]:
    """Whether p tells invariant from spurious links in the held-out domain."""
    yield (
        "The selector gives each past link a weight p between 0 and 1; the prediction leans on a "
        "link as far as its p is high. It was never told which links are invariant, and never saw "
        "a link of this domain."
    )
    for name, selection in demo.selections.items():
        true, false = selection.mean(invariant=True), selection.mean(invariant=False)
        yield (
            f"{name}: p is {fraction(true)} on average for invariant links and {fraction(false)} "
            f"for spurious ones, so it {_tells_apart(true - false)}."
        )
    for name, message in demo.collapses.items():
        yield f"{name} was warned while it trained: {message}"


def about_precision(demo: Demo) -> Iterator[str]:
    """How many of the links with the highest p are invariant."""
    for name, selection in demo.selections.items():
        count = int(selection.invariant.sum())
        yield (
            f"{name}: of the {count:,} links with the highest p, {fraction(selection.precision)} "
            f"are invariant; a blind choice would have {fraction(selection.base_rate)}."
        )


def _ood(demo: Demo, preset: str) -> float:
    return demo.report.value(METHOD, preset)


def _gain(difference: float) -> str:
    if difference > SAME:
        return f"selecting links gains {fraction(difference)}."
    if difference < -SAME:
        return f"selecting links costs {fraction(-difference)} here."
    return "selecting links changes next to nothing here."


def _of_the_room(share: float) -> str:
    if share >= 1:
        return "gains all of it."
    if share <= 0:
        return "gains nothing of it."
    return f"gains {fraction(share)} of that."


def _tells_apart(difference: float) -> str:
    if difference > 0.1:
        return "tells them apart"
    if difference > 0.02:
        return "leans the right way, but hardly tells them apart"
    if difference >= -0.02:
        return "does not tell them apart"
    return "prefers the wrong ones"


def _invariant_share(world: World) -> str:
    assert world.invariant is not None  # planted links have flags
    return f"A share of {fraction(float(world.invariant.double().mean()))}"


def _hub_rule(config: PlantedConfig, names: list[str]) -> str:
    told = ", ".join(
        f"{share:.2f} in {name}" for name, share in zip(names, config.shares, strict=False)
    )
    return (
        f"A pair that is about to link has just met the same hub with probability {told}; in the "
        f"held-out domain {names[-1]} with {config.held_out_share:.2f}. Pairs that will not link "
        "have the complement. A method that trusts shared hubs shines in training and fails in "
        f"{names[-1]}."
    )
