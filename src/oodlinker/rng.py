"""Random streams: one independent generator for each seed and purpose.

A stream is named, not passed on: whoever asks for `generator(0, "negatives", 3)` gets the same
numbers whatever was drawn before and elsewhere, so a resumed run needs no generator state.
"""

import hashlib

import torch


def stream_seed(seed: int, *purpose: str | int) -> int:
    """Hash a seed and a purpose to 63 bits."""
    text = "\x1f".join([str(int(seed)), *(f"{type(part).__name__}:{part}" for part in purpose)])
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """Return the stream of one purpose.

    Args:
        seed: the user's seed, any integer.
        purpose: words and numbers that name the stream, e.g. `"negatives", epoch`.
    """
    return torch.Generator().manual_seed(stream_seed(seed, *purpose))
