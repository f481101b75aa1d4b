"""The page of the demo: what was planted, what each figure shows, and what the numbers say.

Every sentence is chosen by the numbers, so that it is true whatever they are.
"""

from oodlinker.bench.demo_run import METHOD, Demo
from oodlinker.bench.demo_words import (
    about_loss,
    about_p,
    about_precision,
    about_scores,
    about_world,
    lead,
)
from oodlinker.insight.draw_curves import draw_loss_curves
from oodlinker.insight.draw_scores import draw_scores
from oodlinker.insight.draw_selection import draw_p_over_time, draw_precision
from oodlinker.insight.drawing import Drawing
from oodlinker.insight.page import bullets, code, figure, page, paragraph, section
from oodlinker.insight.standing import label

TITLE = "OOD-Linker on a planted world"
TRAINED = {
    "default": (
        "selects links; its prior also pays for the pairs that did not link, its gates are random "
        "while it trains, and its predictor sees one number only: the cosine of both ends, each "
        "with the links that it kept"
    ),
    "paper-form": (
        "selects links with the networks as the paper prints them: the prior is compared with the "
        "selector on existing links only, gates are p itself, and the predictor reads both ends "
        "side by side"
    ),
    "all-links": "is the default without selection: every link weighs 1",
    "oracle": "is the default told which links are invariant: the most that selection can give it",
}


def drawings(demo: Demo) -> dict[str, Drawing]:
    """The figures by the name of their file."""
    curves = [demo.curves["default"], demo.curves["all-links"]]
    found = {"scores": draw_scores(demo.report), "loss": draw_loss_curves(curves)}
    if demo.selections:
        found["p_over_time"] = draw_p_over_time(demo.selections)
        found["precision"] = draw_precision(demo.selections)
    return found


def demo_page(demo: Demo, pictures: dict[str, Drawing]) -> str:
    """The whole page.

    Args:
        demo: what was computed.
        pictures: its figures, as `drawings` makes them.
    """
    sections = [
        section("What was planted", *map(paragraph, about_world(demo))),
        section("What was compared", *_compared(demo)),
        section(
            "Scores in and out of distribution",
            *map(paragraph, about_scores(demo)),
            figure(pictures["scores"], _SCORES),
            demo.report.to_html(),
        ),
        section(
            "Loss on training links and on shifted links",
            *map(paragraph, about_loss(demo)),
            figure(pictures["loss"], _LOSS),
        ),
    ]
    if demo.selections:
        sections += [
            section(
                "Which links are kept",
                *map(paragraph, about_p(demo)),
                figure(pictures["p_over_time"], _P),
            ),
            section(
                "How precise the selection is",
                *map(paragraph, about_precision(demo)),
                figure(pictures["precision"], _PRECISION),
            ),
        ]
    sections.append(
        section("Your own links", paragraph(_NEXT), code(_COMMANDS.format(demo.worlds.held_out)))
    )
    return page(TITLE, lead(demo), sections)


def _compared(demo: Demo) -> list[str]:
    trained = demo.report.standing.methods(trivial=False)
    trivial = [name for name, _ in demo.report.standing.methods(trivial=True)]
    listed = [f"{label(METHOD, preset)} {TRAINED[preset]}." for _, preset in trained]
    return [
        paragraph("Four forms of one method were trained on the training domains:"),
        bullets(listed),
        paragraph(
            f"Beside them stand {len(trivial)} methods that learn nothing: {', '.join(trivial)}. "
            "A trained method that does not beat them has not earned its training."
        ),
        paragraph(
            "Nothing of the held-out domain takes part in training. Which epoch is kept is decided "
            "by validation in the training domains."
        ),
    ]


_SCORES = "AUC of every method, the best out of distribution on top. Grey names learn nothing."
_LOSS = (
    "Cross-entropy by epoch (the paper's Figures 1 and 2). The shifted links are the held-out "
    "domain's validation steps, scored from outside on each epoch's weights. The training loss of "
    "a method with random gates is measured with them, the shifted loss without."
)
_P = "Mean p of the held-out domain's links, by the step of the link."
_PRECISION = (
    "On top: of the k links with the highest p, how many are invariant, where k is the true number "
    "of invariant links. Below: the share of invariant and of spurious links by their p."
)
_NEXT = (
    "The planted links can be written as files and walked through like links of your own; with "
    "yours, name the columns that hold who, whom, when and in which domain. There every link is a "
    "question, those to hubs too, so the scores are not those of this page."
)
_COMMANDS = """\
oodlinker demo --export links.csv
oodlinker data import links.csv --src src --dst dst --time time --domain domain \\
    --nodes links-nodes.csv --out my.graph
oodlinker train my.graph --method ood-linker --hold-out {} --out run/
oodlinker evaluate run/
oodlinker predict run/ pairs.csv --out scores.csv"""
