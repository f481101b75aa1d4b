"""Numbers that must not move unnoticed: first losses and one AUC, from commit ea4d0a0.

They were printed by the code under test, so they say that nothing changed, not that it is right;
the equations are checked in tests/equations.
"""

import pytest

from oodlinker.catalog import build, preset
from oodlinker.data.planted import PlantedConfig, planted
from oodlinker.models.contract import Dims
from oodlinker.objectives.bottleneck import Bottleneck
from oodlinker.train.config import TrainConfig
from oodlinker.train.fit import fit

GOLDEN = {
    "default": ([0.658862, 0.657788, 0.656761], 0.894749),
    "paper-form": ([0.694393, 0.693255, 0.691534], 0.471028),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_first_losses_and_an_auc_stay(name):
    """A planted world of 4,000 links, seed 0, three epochs at the loop's own settings."""
    losses, auc = GOLDEN[name]
    training = planted(PlantedConfig().of_size(4_000), seed=0).training_set()
    values = preset("ood-linker", name)
    model = build("ood-linker", Dims.of(training.world), values.get("model"), seed=0)
    objective = Bottleneck(**values.get("objective", {}))
    config = TrainConfig(epochs=3, eval_every=3)
    epochs = list(fit(model, objective, training, config, seed=0))
    assert [epoch.loss for epoch in epochs] == pytest.approx(losses, abs=2e-5)
    assert epochs[-1].valid_auc == pytest.approx(auc, abs=2e-3)
