"""compare() and capture()."""
import json

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import mmaudit.torch as mt
from common import same_bits


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.a, self.b = nn.Embedding(17, 32), nn.Linear(32, 64), nn.Linear(64, 17)

    def forward(self, tokens):
        x = F.gelu(self.a(self.embed(tokens)))
        return self.b(x + F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0])


def tokens():
    return torch.randint(0, 17, (3, 12), generator=torch.Generator().manual_seed(5))


def test_errors_grow_and_order_as_dtypes_do():
    net, x = Net(), tokens()
    found = mt.compare(net, x, ["bf16", "mxfp8-ceil", "nvfp4"],
                       loss=lambda y: F.cross_entropy(y.flatten(0, 1), x.flatten()))
    assert found["layers"] == ["a", "", "b"]
    rows = [found["plans"][name] for name in ("bf16", "mxfp8-ceil", "nvfp4")]
    for figure in ("relative_error", "kl"):
        assert rows[0][figure] < rows[1][figure] < rows[2][figure]
    assert all(row["layers"]["a"] > 0 and 0.5 < row["top1"] <= 1 and row["kl"] >= 0 for row in rows)
    assert abs(rows[0]["loss"] - found["loss"]) < 0.01
    text = str(found)
    for words in ("Relative error of every layer's output:", "nvfp4", "loss of the module as it is"):
        assert words in text
    json.dumps(found)


def test_nothing_differs_where_everything_is_kept_and_seeds_repeat():
    net, x = nn.Sequential(Net(), nn.Dropout(0.3)), tokens()
    found = mt.compare(net, x, {"as it is": None, "mine": {"layers": {"0.b": "nvfp4"}}})
    assert found["plans"]["as it is"]["relative_error"] == 0 and found["plans"]["as it is"]["top1"] == 1
    assert found["plans"]["mine"]["layers"]["0.a"] == 0 < found["plans"]["mine"]["layers"]["0.b"]
    assert found == mt.compare(net, x, {"as it is": None, "mine": {"layers": {"0.b": "nvfp4"}}})


def test_capture_holds_the_operands_of_every_product(tmp_path):
    from safetensors import safe_open
    net, x = Net(), tokens()
    products = mt.capture(net, x, tmp_path / "c.safetensors", rows=8, columns=10, matrices=2)
    assert [one["layer"] for one in products] == ["a", "", "", "", "", "b"]  # two of three products of attention, twice
    assert products[0]["name"] == "a#0" and products[1]["name"].startswith("module#0[")
    with safe_open(tmp_path / "c.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["mmaudit"])["products"] == products
        assert file.get_tensor("a#0.a").shape == (8, 32) and file.get_tensor("a#0.b").shape == (32, 10)
        weight = net.a.weight.detach().t()
        column = file.get_tensor("a#0.b")[:, 0]
        assert any(same_bits(column, weight[:, j]) for j in range(64))
    assert products[0]["m"] == 36 and products[0]["n"] == 64 and products[0]["largest_b"] == float(weight.abs().max())


def test_a_module_without_products_is_refused(tmp_path):
    with pytest.raises(ValueError, match="module: found no matrix products"):
        mt.capture(nn.ReLU(), torch.ones(3), tmp_path / "c.safetensors")
    assert not (tmp_path / "c.safetensors").exists()
