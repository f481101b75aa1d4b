"""The resolved configuration of a whole run: what `config.toml` holds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from oodlinker import catalog
from oodlinker.config import from_mapping, located, merge, to_mapping, unknown_key
from oodlinker.errors import BadConfig
from oodlinker.models.contract import LinkModel
from oodlinker.objectives.contract import Objective
from oodlinker.train.config import TrainConfig


@dataclass(frozen=True)
class RunConfig:
    """All settings of a run, resolved: defaults, then the preset, then the user's own.

    Args:
        method: name of the method in the catalog, or of a user's class.
        preset: the preset that lies under the user's values.
        seed: of parameters, draws and gates.
        model: an instance of the method's `Config`; None for a module that a user brings.
        objective_name: name of the objective in the catalog.
        objective: the objective, which is its own configuration.
        train: settings of the loop.
    """

    method: str
    preset: str
    seed: int
    model: Any
    objective_name: str
    objective: Objective
    train: TrainConfig

    @classmethod
    def resolve(
        cls, method: str | LinkModel, tree: Mapping[str, Any] | None = None, *, where: str = ""
    ) -> "RunConfig":
        """Lay a tree of values over the preset that it names, and check it.

        Args:
            method: name of a method, or a module that keeps the contract.
            tree: "method", "preset" and "seed", and the tables "model", "objective" (its "name"
                and values) and "train"; all may be left out.
            where: the file that errors name, with a colon: "run.toml:".

        Raises:
            BadMethod: there is no such method.
            BadConfig: an unknown key, preset or objective, or a value of another type.
        """
        tree = dict(tree or {})
        for key in tree:
            if key not in _SECTIONS:
                raise unknown_key(key, _SECTIONS, where=where.rstrip(":"))
        name = method if isinstance(method, str) else type(method).__name__
        if tree.get("method", name) != name:
            raise BadConfig(
                f"the configuration is for {tree['method']!r}, not {name!r}",
                "Leave the method out, or name the same one.",
                where=f"{where}method",
            )
        head = from_mapping(_Head, {key: tree[key] for key in _HEAD if key in tree}, where=where)
        spec = (catalog.method_class(method) if isinstance(method, str) else method).spec
        with located(f"{where}preset"):
            under = catalog.preset(name, head.preset)
        objective_name, objective = _objective(under, tree, spec.objective, where)
        return cls(
            method=name,
            preset=head.preset,
            seed=head.seed,
            model=_model(method, under, tree, where),
            objective_name=objective_name,
            objective=objective,
            train=from_mapping(
                TrainConfig, _section(under, tree, "train", where), where=f"{where}train"
            ),
        )

    def to_mapping(self) -> dict[str, Any]:
        """The tree that `resolve` reads, with every value."""
        tree = {"method": self.method, "preset": self.preset, "seed": self.seed}
        model = {} if self.model is None else to_mapping(self.model)
        objective = {"name": self.objective_name, **to_mapping(self.objective)}
        return {**tree, "model": model, "objective": objective, "train": to_mapping(self.train)}

    @property
    def variant(self) -> str:
        """The preset and every value that differs from it, as tables name a run."""
        if self.model is None:  # a module of the user's own: no preset describes it
            return self.preset
        plain = RunConfig.resolve(self.method, {"preset": self.preset}).to_mapping()
        own = self.to_mapping()
        changed = [
            f"{key}={value}"
            for table in ("model", "objective", "train")
            for key, value in own[table].items()
            if plain[table].get(key) != value
        ]
        return ", ".join([self.preset, *changed])

    def with_seed(self, seed: int) -> "RunConfig":
        """The same settings under another seed."""
        return replace(self, seed=seed)


@dataclass(frozen=True)
class _Head:
    method: str = ""
    preset: str = catalog.DEFAULT_PRESET
    seed: int = 0


_HEAD = ("method", "preset", "seed")
_SECTIONS = (*_HEAD, "model", "objective", "train")


def _section(
    under: Mapping[str, Any], tree: Mapping[str, Any], name: str, where: str
) -> dict[str, Any]:
    own = tree.get(name, {})
    if not isinstance(own, Mapping):
        raise BadConfig(f"{own!r} is not a table", "Give its keys.", where=f"{where}{name}")
    return merge(under.get(name, {}), own)


def _model(
    method: str | LinkModel, under: Mapping[str, Any], tree: Mapping[str, Any], where: str
) -> Any:
    values = _section(under, tree, "model", where)
    if isinstance(method, str):
        return from_mapping(catalog.method_class(method).Config, values, where=f"{where}model")
    if values:
        raise BadConfig(
            "a module of your own is built by you: its settings cannot be changed here",
            "Leave the table [model] out.",
            where=f"{where}model",
        )
    return None


def _objective(
    under: Mapping[str, Any], tree: Mapping[str, Any], default: str, where: str
) -> tuple[str, Objective]:
    values = _section(under, tree, "objective", where)
    name = values.pop("name", default)
    own = dict(_section({}, tree, "objective", where))
    if "name" in own and own["name"] != under.get("objective", {}).get("name", default):
        values = {key: one for key, one in own.items() if key != "name"}  # the preset's is another
    if not isinstance(name, str):
        raise BadConfig(f"{name!r} is not text", "Name it.", where=f"{where}objective.name")
    with located(f"{where}objective.name"):
        objective = catalog.objective_class(name)
    return name, from_mapping(objective, values, where=f"{where}objective")
