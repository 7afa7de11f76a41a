"""A model of Llama's shapes with random weights: what llama_time.py and luo.py run."""
from typing import Callable, List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

#: hidden, layers, heads, inner, vocabulary: of Llama 3.2 1B, OpenLLaMA 3B, Llama 2 7B and 13B (their config.json); keys
#: have every head.
SHAPES = {"1b": (2048, 16, 32, 8192, 128256), "3b": (3200, 26, 32, 8640, 32000), "7b": (4096, 32, 32, 11008, 32000),
          "13b": (5120, 40, 40, 13824, 32000)}

#: Makes a linear layer without bias from its numbers of inputs and outputs.
MakeLinear = Callable[[int, int], nn.Module]
Pair = Tuple[Tensor, Tensor]


def plain_linear(inputs: int, outputs: int) -> nn.Module:
    return nn.Linear(inputs, outputs, bias=False)


def angles(length: int, width: int) -> Pair:
    """Cosine and sine of rotary positions, (length, width / 2)."""
    turn = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    return turn.cos(), turn.sin()


def turned(x: Tensor, by: Pair) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat((a * by[0] - b * by[1], b * by[0] + a * by[1]), -1)


class Layer(nn.Module):
    """RMS norm, attention, RMS norm, SwiGLU; causal. With `cache`, keys and values (batch, heads, length, width), rows
    `place` of it are written and all up to each row's own place are attended to."""

    def __init__(self, hidden: int, heads: int, inner: int, linear: MakeLinear = plain_linear) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = linear(hidden, 3 * hidden), linear(hidden, hidden)
        self.gate, self.up = (linear(hidden, inner) for _ in range(2))
        self.down = linear(inner, hidden)

    def attention(self, x: Tensor, turn: Optional[Pair], cache: Optional[Pair], place: Optional[Tensor]) -> Tensor:
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        if turn is not None:
            q, k = turned(q, turn), turned(k, turn)
        if cache is None or place is None:
            found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys, values = cache[0].index_copy_(2, place, k), cache[1].index_copy_(2, place, v)
            seen = torch.arange(keys.shape[2], device=x.device) <= place[:, None]
            found = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
        return self.out(found.transpose(1, 2).flatten(2))

    def forward(self, x: Tensor, turn: Optional[Pair] = None, cache: Optional[Pair] = None,
                place: Optional[Tensor] = None) -> Tensor:
        x = x + self.attention(F.rms_norm(x, x.shape[-1:], eps=1e-5), turn, cache, place)
        y = F.rms_norm(x, x.shape[-1:], eps=1e-5)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    """Tokens (batch, new) at `place` (new) to the logits of the token after the last."""

    def __init__(self, shape: Tuple[int, int, int, int, int], length: int, embedding: Tensor,
                 linear: MakeLinear) -> None:
        super().__init__()
        hidden, layers, heads, inner, vocabulary = shape
        self.shape, self.length, self.embedding = shape, length, embedding
        self.layers = nn.ModuleList([Layer(hidden, heads, inner, linear) for _ in range(layers)])
        self.head = linear(hidden, vocabulary)
        self.turn = tuple(one.to(embedding) for one in angles(length, hidden // heads))

    def caches(self, batch: int) -> List[Pair]:
        hidden, layers, heads = self.shape[:3]
        size = (batch, heads, self.length, hidden // heads)
        return [(self.embedding.new_zeros(size), self.embedding.new_zeros(size)) for _ in range(layers)]

    def forward(self, tokens: Tensor, caches: List[Pair], place: Tensor) -> Tensor:
        x = self.embedding[tokens]
        turn = (self.turn[0][place], self.turn[1][place])
        for layer, cache in zip(self.layers, caches):
            x = layer(x, turn, cache, place)
        last = x[:, -1]
        return self.head(F.rms_norm(last, last.shape[-1:], eps=1e-5))
