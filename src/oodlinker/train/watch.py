"""A progress bar over epochs."""

from collections.abc import Iterator

from oodlinker.progress import progress
from oodlinker.train.fit import Epoch


def watched(
    epochs: Iterator[Epoch], total: int, *, title: str = "training", show: bool = True
) -> Iterator[Epoch]:
    """Pass epochs on, showing loss, validation AUC, KL and mean p of each on a terminal.

    Args:
        epochs: as `fit` yields them.
        total: how many there will be at most.
        title: what the bar is called.
        show: False silences it on a terminal too.
    """
    valid_auc: float | None = None
    with progress(title, float(total), show=show) as bar:
        for epoch in epochs:
            valid_auc = epoch.valid_auc if epoch.valid_auc is not None else valid_auc
            shown = {"loss": epoch.loss, "AUC": valid_auc, "KL": epoch.kl, "p": epoch.mean_p}
            text = " ".join(
                f"{name} {value:.3f}" for name, value in shown.items() if value is not None
            )
            bar.step(float(epoch.index + 1), text)
            yield epoch
