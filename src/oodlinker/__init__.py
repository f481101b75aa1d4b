"""oodlinker: temporal link prediction that survives distribution shift.

    import oodlinker as ol

    graph = ol.read_links("papers.parquet", src="author", dst="coauthor", time="year",
                          domain="field")
    worlds = ol.hold_out(graph, domain="Data Mining")
    linker = ol.Linker("ood-linker", seed=0).fit(worlds)
    print(linker.evaluate(worlds))
    linker.predict([("ann", "bob")], at=2006)

Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from oodlinker import testing
    from oodlinker.catalog import MODELS, OBJECTIVES, methods
    from oodlinker.data.document_table import DocumentTable
    from oodlinker.data.documents import read_documents
    from oodlinker.data.planted import PlantedConfig, planted
    from oodlinker.data.read import read_links
    from oodlinker.data.store import load_graph, save_graph
    from oodlinker.features.attach import hold_out
    from oodlinker.features.clusters import cluster_domains
    from oodlinker.graph.temporal import TemporalGraph
    from oodlinker.graph.worlds import Worlds
    from oodlinker.linker import Linker
    from oodlinker.train.evaluate import evaluate
    from oodlinker.train.fit import fit

_HOMES = {
    "MODELS": "oodlinker.catalog",
    "OBJECTIVES": "oodlinker.catalog",
    "methods": "oodlinker.catalog",
    "DocumentTable": "oodlinker.data.document_table",
    "read_documents": "oodlinker.data.documents",
    "cluster_domains": "oodlinker.features.clusters",
    "PlantedConfig": "oodlinker.data.planted",
    "planted": "oodlinker.data.planted",
    "read_links": "oodlinker.data.read",
    "load_graph": "oodlinker.data.store",
    "save_graph": "oodlinker.data.store",
    "hold_out": "oodlinker.features.attach",
    "TemporalGraph": "oodlinker.graph.temporal",
    "Worlds": "oodlinker.graph.worlds",
    "Linker": "oodlinker.linker",
    "evaluate": "oodlinker.train.evaluate",
    "fit": "oodlinker.train.fit",
}

__all__ = [
    "MODELS",
    "OBJECTIVES",
    "DocumentTable",
    "Linker",
    "PlantedConfig",
    "TemporalGraph",
    "Worlds",
    "__version__",
    "cluster_domains",
    "evaluate",
    "fit",
    "hold_out",
    "load_graph",
    "methods",
    "planted",
    "read_documents",
    "read_links",
    "save_graph",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return import_module("oodlinker.testing")
    if name not in _HOMES:
        raise AttributeError(f"module 'oodlinker' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
