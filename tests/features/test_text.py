"""Text models: reproducible, one interface, each text by itself, files without pickle."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from oodlinker.errors import BadFile, MissingExtra
from oodlinker.features import text as rooms
from oodlinker.features.text import DIM, VECTORS, VOCABULARY, TextModel, fit_text, words_of

THEMES = ("graph node link path degree", "image pixel light colour render", "query join index disk")
TEXTS = [
    " ".join(
        THEMES[row % 3].split()[(row * step) % len(THEMES[row % 3].split())]
        for step in (1, 2, 3, 5)
    )
    for row in range(90)
]
KINDS = ("skip-gram", "tfidf")


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    if request.param == "skip-gram":
        pytest.importorskip("gensim")
    return fit_text(TEXTS, request.param, seed=3)


def test_words_are_lower_cased_runs_of_letters_and_digits():
    assert words_of("Über  die 3-D\nGraphs.") == ["über", "die", "3", "d", "graphs"]


def test_texts_of_one_theme_lie_closer_than_those_of_two(model):
    first, same, other = model.embed(["graph node link", "path degree node", "pixel light colour"])
    cosine = torch.nn.functional.cosine_similarity
    assert cosine(first, same, dim=0) > cosine(first, other, dim=0)


def test_the_vector_of_a_text_does_not_depend_on_the_others(model):
    alone = torch.cat([model.embed([one]) for one in TEXTS[:9]])
    assert torch.equal(alone, model.embed(TEXTS[:9]))


def test_unknown_words_say_nothing(model):
    vectors = model.embed(["graph zebra", "graph", "zebra", ""])
    assert torch.equal(vectors[0], vectors[1])
    assert not vectors[2:].any()


def test_a_skip_gram_text_is_the_mean_of_its_words():
    """protocol.md 1.10: "Abstract vector = mean of gensim Word2Vec vectors, zeros on failure"."""
    table = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    made = TextModel("skip-gram", ("a", "b"), table).embed(["a b b"])
    assert torch.allclose(made, torch.tensor([[1 / 3, 8 / 3]]))


def test_tfidf_texts_have_the_inner_products_of_their_rows():
    """With as many axes as words, inner products are those of the TF-IDF rows themselves."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = fit_text(TEXTS, "tfidf").embed(TEXTS)
    lengths = TfidfVectorizer(token_pattern=r"\w+").fit_transform(TEXTS).toarray()
    assert torch.allclose(made @ made.T, torch.from_numpy(lengths @ lengths.T).float(), atol=1e-5)


def test_fewer_words_than_numbers_leave_zeros():
    made = fit_text(["a b", "b c"], "tfidf")
    assert made.vectors.shape == (3, DIM)
    assert not made.vectors[:, 2:].any()


@pytest.mark.parametrize("kind", ["auto", *KINDS])
def test_without_words_every_text_is_zero(kind):
    if kind == "skip-gram":
        pytest.importorskip("gensim")
    assert not fit_text(["", " .!"], kind).embed(["graph"]).any()


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_and_hash_seed_fits_the_same_bits(kind):
    """traps.md: gensim with one worker and a crc32 hash function is bit-identical across
    processes and hash seeds."""
    if kind == "skip-gram":
        pytest.importorskip("gensim")
    code = (
        "import sys, torch; torch.set_num_threads(1);"
        "from oodlinker.features.text import fit_text;"
        f"print(fit_text({TEXTS!r}, {kind!r}, seed=3).digest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        ).stdout
        for seed in ("1", "77")
    }
    assert len(digests) == 1


def test_another_seed_fits_another_skip_gram():
    pytest.importorskip("gensim")
    one, other = (fit_text(TEXTS, "skip-gram", seed=seed) for seed in (0, 1))
    assert one.words == other.words
    assert not torch.equal(one.vectors, other.vectors)


def test_a_model_comes_back_as_it_was(tmp_path, model):
    model.save(tmp_path)
    loaded = TextModel.load(tmp_path)
    assert (loaded.kind, loaded.words) == (model.kind, model.words)
    assert loaded.digest() == model.digest()
    assert torch.equal(loaded.embed(TEXTS), model.embed(TEXTS))


def test_the_vocabulary_is_plain_text_with_a_word_a_line(tmp_path, model):
    model.save(tmp_path)
    assert (tmp_path / VOCABULARY).read_text().splitlines() == list(model.words)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / VECTORS).unlink(),
        lambda folder: (folder / VOCABULARY).unlink(),
        lambda folder: (folder / VECTORS).write_bytes(b"not safetensors"),
        lambda folder: (folder / VOCABULARY).write_text("one\n"),
        lambda folder: (folder / VOCABULARY).write_bytes(b"\xff\n"),
    ],
)
def test_a_damaged_model_is_refused(tmp_path, model, damage):
    model.save(tmp_path)
    damage(tmp_path)
    with pytest.raises(BadFile):
        TextModel.load(tmp_path)


def test_a_file_of_another_format_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"vectors": np.zeros((1, 2), np.float32)}, tmp_path / VECTORS)
    (tmp_path / VOCABULARY).write_text("one\n")
    with pytest.raises(BadFile, match="format None"):
        TextModel.load(tmp_path)


def test_without_gensim_auto_takes_tfidf_and_skip_gram_names_the_extra(monkeypatch):
    monkeypatch.setattr(rooms, "find_spec", lambda name: None)
    assert fit_text(TEXTS).kind == "tfidf"
    with pytest.raises(MissingExtra, match="gensim") as caught:
        fit_text(TEXTS, "skip-gram")
    assert "oodlinker[text]" in caught.value.remedy
