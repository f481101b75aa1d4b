"""Text models: words as vectors, fitted on the texts of the past, and a text as their mean.

    skip-gram   vector(text) = mean over its words of Word2Vec's vectors (gensim, extra `text`)
    tfidf       vector(text) = V' a / |a|, a = counts times inverse document frequencies; V the
                right singular vectors of the matrix of all a / |a| (scikit-learn)

Both are one table of word vectors once they are fitted, so that scoring needs neither package.
Words are runs of letters and digits, lower-cased; words that were not fitted on say nothing.

Reference: Mikolov et al., "Distributed Representations of Words and Phrases and their
Compositionality", 2013; Deerwester et al., "Indexing by Latent Semantic Analysis", 1990.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from oodlinker import files
from oodlinker.errors import BadConfig, BadFile, MissingExtra
from oodlinker.rng import stream_seed

TextKind = Literal["auto", "skip-gram", "tfidf"]
TEXT_KINDS: tuple[TextKind, ...] = ("auto", "skip-gram", "tfidf")
DIM, WINDOW, EPOCHS = 32, 5, 10
VECTORS, VOCABULARY = "text.safetensors", "vocabulary.txt"
FORMAT, VERSION = "oodlinker-text", "1"
_WORD = re.compile(r"\w+")
_DAMAGED = "Restore it from a copy, or fit it again."


def words_of(text: str) -> list[str]:
    """The words of a text, lower-cased, in their order."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True, eq=False)
class TextModel:
    """A fitted text model.

    Args:
        kind: "skip-gram" or "tfidf".
        words: the words that it knows.
        vectors: one row a word.
        weight: tfidf: inverse document frequency of each word; None for a plain mean.
    """

    kind: str
    words: tuple[str, ...]
    vectors: Float[Tensor, "word node_dim"]
    weight: Float[Tensor, " word"] | None = None

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return int(self.vectors.shape[1])

    def embed(self, texts: Iterable[str]) -> Float[Tensor, "text node_dim"]:
        """One vector a text, whatever the other texts are; zeros where no word is known."""
        rows = [self._vector(text) for text in texts]
        table = np.stack(rows) if rows else np.zeros((0, self.dim))
        return torch.from_numpy(table).float()

    def digest(self) -> str:
        """SHA-256 of all that is fitted."""
        digest = hashlib.sha256("\n".join((self.kind, *self.words)).encode())
        for table in self._tensors.values():
            digest.update(table.contiguous().numpy().data)
        return digest.hexdigest()

    def save(self, folder: Path | str) -> None:
        """Write `text.safetensors` and `vocabulary.txt`, a word a line, into a folder."""
        from safetensors.torch import save

        metadata = {"format": FORMAT, "version": VERSION, "kind": self.kind}
        files.write_bytes(Path(folder) / VECTORS, save(self._tensors, metadata))
        files.write_text(Path(folder) / VOCABULARY, "".join(f"{word}\n" for word in self.words))

    @classmethod
    def load(cls, folder: Path | str) -> "TextModel":
        """Read what `save` wrote.

        Raises:
            BadFile: a file is missing, damaged or of another version.
        """
        from safetensors import SafetensorError, safe_open

        folder = Path(folder)
        try:
            with safe_open(folder / VECTORS, "pt") as stored:
                metadata = stored.metadata() or {}
                tables = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            words = tuple((folder / VOCABULARY).read_text(encoding="utf-8").split("\n")[:-1])
        except (OSError, SafetensorError, UnicodeError) as error:
            raise BadFile(f"no readable text model ({error}).", _DAMAGED, where=str(folder)) from (
                error
            )
        about = (metadata.get("format"), metadata.get("version"))
        if about != (FORMAT, VERSION):
            raise BadFile(
                f"a text model of format {about[0]!r} and version {about[1]!r}, this program reads "
                f"{FORMAT!r}, {VERSION!r}.",
                "Use the oodlinker that wrote it, or fit it again.",
                where=str(folder),
            )
        vectors, weight = tables.get("vectors"), tables.get("weight")
        if vectors is None or vectors.dtype != torch.float32 or vectors.dim() != 2:
            raise BadFile("the text model has no table of vectors.", _DAMAGED, where=str(folder))
        if len(words) != len(vectors) or (weight is not None and weight.shape != (len(words),)):
            raise BadFile("its words and vectors do not match.", _DAMAGED, where=str(folder))
        return cls(metadata.get("kind", ""), words, vectors, weight)

    @property
    def _tensors(self) -> dict[str, Tensor]:
        given = {"vectors": self.vectors.contiguous(), "weight": self.weight}
        return {name: table for name, table in given.items() if table is not None}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _exact(self) -> tuple[np.ndarray, np.ndarray | None]:
        weight = None if self.weight is None else self.weight.double().numpy()
        return self.vectors.double().numpy(), weight

    def _vector(self, text: str) -> np.ndarray:
        known = [place for word in words_of(text) if (place := self._places.get(word, -1)) >= 0]
        vectors, weight = self._exact
        if not known:
            return np.zeros(self.dim)
        if weight is None:
            mean: np.ndarray = vectors[known].mean(0)
            return mean
        counts = Counter(known)
        places = list(counts)
        scaled = np.array([counts[place] for place in places]) * weight[places]
        projected: np.ndarray = scaled @ vectors[places] / np.sqrt((scaled**2).sum())
        return projected


def fit_text(texts: Sequence[str], kind: TextKind = "auto", *, seed: int = 0) -> TextModel:
    """Fit a text model.

    Args:
        texts: what may be looked at, in a fixed order.
        kind: "skip-gram", "tfidf", or "auto": skip-gram where gensim is installed, else tfidf.
        seed: the same seed and versions give the same bits.

    Raises:
        BadConfig: there is no such kind.
        MissingExtra: skip-gram is asked for and gensim is not installed.
    """
    if kind not in TEXT_KINDS:
        raise BadConfig(f"text is {kind!r}.", f"Choose of {', '.join(map(repr, TEXT_KINDS))}.")
    sentences = [words for text in texts if (words := words_of(text))]
    there = find_spec("gensim") is not None
    if kind == "skip-gram" and not there:
        raise MissingExtra(
            "skip-gram vectors need gensim, which is not installed",
            "Install it with: pip install 'oodlinker[text]', or take the text model tfidf.",
        )
    chosen = ("skip-gram" if there else "tfidf") if kind == "auto" else kind
    if not sentences:
        return TextModel(chosen, (), torch.zeros(0, DIM))
    fit = _fit_skip_gram if chosen == "skip-gram" else _fit_tfidf
    return fit(sentences, stream_seed(seed, "text model") % 2**32)


def _fit_skip_gram(sentences: list[list[str]], seed: int) -> TextModel:
    from gensim.models import Word2Vec

    fitted = Word2Vec(
        sentences,
        vector_size=DIM,
        window=WINDOW,
        epochs=EPOCHS,
        min_count=1,
        sg=1,
        seed=seed,
        workers=1,  # several would train in whatever order they finish
        hashfxn=_crc32,  # Python's own hash differs from process to process
    )
    vectors = torch.from_numpy(np.array(fitted.wv.vectors, dtype=np.float32))
    return TextModel("skip-gram", tuple(fitted.wv.index_to_key), vectors)


def _fit_tfidf(sentences: list[list[str]], seed: int) -> TextModel:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    counter = TfidfVectorizer(analyzer=_as_it_is)
    table = counter.fit_transform(sentences)
    weight = torch.from_numpy(np.asarray(counter.idf_, dtype=np.float32))
    words = tuple(counter.get_feature_names_out().tolist())
    vectors = torch.zeros(len(words), DIM)
    # Fewer words or texts than numbers wanted: the rest stay zeros.
    rank = min(DIM, *table.shape)
    axes = TruncatedSVD(rank, random_state=seed).fit(table).components_
    vectors[:, :rank] = torch.from_numpy(np.asarray(axes.T, dtype=np.float32))
    return TextModel("tfidf", words, vectors, weight)


def _crc32(word: str) -> int:
    return crc32(word.encode())


def _as_it_is(words: list[str]) -> list[str]:
    return words
