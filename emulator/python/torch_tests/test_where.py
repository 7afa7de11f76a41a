"""emulate() where torch runs a module otherwise than once, on one thread, with its own weights."""
import copy
import threading
import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._operator import product
from mmaudit.torch._storages import Storages


def layers_of(seen, backward=False):
    return [one.site.layer for one in seen if one.site.backward == backward]


class Checkpointed(nn.Module):
    """Two layers that torch runs again in the backward pass."""

    def __init__(self, reentrant):
        super().__init__()
        self.first, self.second, self.reentrant = nn.Linear(32, 32), nn.Linear(32, 32), reentrant

    def both(self, x):
        return self.second(torch.tanh(self.first(x)))

    def forward(self, x):
        return checkpoint(self.both, x, use_reentrant=self.reentrant)


@pytest.mark.parametrize("reentrant", [False, True])
def test_layers_that_run_again_in_the_backward_pass_keep_recipe_and_gradients(reentrant):
    net, x = Checkpointed(reentrant), torch.randn(8, 32, requires_grad=True)
    plain = copy.deepcopy(net)
    plain.forward = plain.both
    plan = {"layers": {"first": "fp8-tensor", "second": "keep"}}
    grads, counts = [], []
    for module in (plain, net):
        seen = []
        with mt.emulate(module, plan, watch=seen.append):
            module(x).square().sum().backward()
        grads.append([x.grad, *(one.grad for one in module.parameters())])
        counts.append((layers_of(seen), layers_of(seen, True)))
        x.grad = None
    assert counts[0] == (["first", "second"], ["second", "second", "first", "first"])
    # Without an early stop, which would hide the last operands.
    assert counts[1] == (["first", "second", "first", "second"], ["second", "second", "first", "first"])
    assert all(same_bits(*pair) for pair in zip(*grads))


def test_a_gradient_where_an_operand_was_is_a_gradient():
    """A frozen weight: torch keeps no activations, and the gradient stands where these did."""
    net = nn.Sequential(*(nn.Linear(64, 64, bias=False) for _ in range(3))).requires_grad_(False)
    x = torch.randn(32, 64, requires_grad=True)
    with mt.emulate(net, "fp8-tensor"):
        net(x * 1).backward(torch.full((32, 64), 1.1))
    grads = torch.full((32, 64), 1.1)
    for layer in reversed(net):
        grads = product(grads[None], layer.weight[None], torch.float32, arch="hopper", dtype="e5m2-e4m3",
                        scaling_a="tensor-inverse", scaling_b="tensor-inverse", policy="plain")[0]
    assert same_bits(x.grad, grads)


def test_memory_that_another_tensor_takes_over_is_not_its():
    storages, addresses, taken_over = Storages(), set(), 0
    for _ in range(5000):
        x = torch.ones(1000)
        taken_over += x.data_ptr() in addresses
        assert x not in storages
        storages.add(x)
        addresses.add(x.data_ptr())
        assert x[5:].detach() in storages and x.clone() not in storages
        del x
    assert taken_over > 0 and len(storages._all) < 2000  # what is gone leaves


@pytest.mark.parametrize("grad", [False, True])
def test_weights_under_autocast_are_weights(grad):
    net = nn.Sequential(nn.Linear(256, 256, bias=False), nn.Linear(256, 256, bias=False), nn.Linear(256, 256, bias=False))
    with torch.no_grad():
        for one in net:
            one.weight[0] *= 100
    x = torch.randn(8, 256)
    low = copy.deepcopy(net).to(torch.bfloat16)
    plan = {"default": "fp8-1x128", "keep_first_last": True}
    with torch.set_grad_enabled(grad), mt.emulate(net, plan) as emulation, torch.autocast("cpu", torch.bfloat16):
        y = net(x)
    assert emulation.products == {"emulated": 1, "kept": 2}
    with torch.no_grad(), mt.emulate(low, plan):
        assert same_bits(low(x.to(torch.bfloat16)), y)


def test_other_threads_leave_names_alone():
    net, x, seen = nn.Sequential(nn.Linear(32, 32), nn.Sequential(nn.Linear(32, 32))), torch.randn(4, 32), []
    inside, go_on = threading.Event(), threading.Event()

    class Waiting(nn.Module):
        def forward(self, x):
            if threading.current_thread().name == "other":
                inside.set()
                assert go_on.wait(60)
            return x

    net[1].append(Waiting())
    other = threading.Thread(target=net, args=(x,), name="other")
    with mt.emulate(net, "bf16", watch=seen.append):
        other.start()
        assert inside.wait(60)
        net(x)
        x @ x.t()
        go_on.set()
        other.join()
    assert layers_of(seen) == ["0", "1.0", ""]


def test_settings_come_back_when_threads_leave_in_any_order():
    def settings():
        return (torch.backends.mha.get_fastpath_enabled(), torch.backends.cuda.flash_sdp_enabled(),
                torch.backends.cuda.mem_efficient_sdp_enabled(), torch.backends.cuda.math_sdp_enabled())

    before, net, entered, leave = settings(), nn.Linear(8, 8), threading.Event(), threading.Event()

    def other():
        with mt.emulate(net, "bf16"):
            entered.set()
            assert leave.wait(60)

    thread = threading.Thread(target=other)
    with mt.emulate(net, "bf16"):
        thread.start()
        assert entered.wait(60)
    assert settings() != before  # the other one is inside still
    leave.set()
    thread.join()
    assert settings() == before


def test_threads_run_one_module_each_in_its_own_plan():
    net, x = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64)), torch.randn(16, 64)
    plans = ["nvfp4", "bf16", "fp8-tensor", "mxfp8-ceil"]
    found, expected = {}, {}

    def run(plan, out):
        with torch.no_grad(), mt.emulate(net, {"layers": {"0": plan, "2": plan}}):
            out[plan] = [net(x) for _ in range(5)]

    for plan in plans:
        run(plan, expected)
    threads = [threading.Thread(target=run, args=(plan, found)) for plan in plans]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(same_bits(y, expected[plan][0]) for plan in plans for y in found[plan])


def test_products_into_tensors_are_products():
    class Into(nn.Module):
        def forward(self, x, v):
            out = torch.empty(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.mm(x[0], x[0].t(), out=out)
            total = torch.bmm(x, x.mT, out=torch.empty(2, 6, 6)).baddbmm_(x, x.mT, beta=0.5, alpha=2)
            total += torch.baddbmm(out, x, x.mT, out=torch.empty(2, 6, 6))
            total[0].addmm_(x[0], x[1].t())
            torch.addmm(out, x[0], x[1].t(), alpha=3, out=total[1])
            total[0, 0] += torch.mv(x[0], v, out=torch.empty(6))
            torch.addmv(total[0, 1].clone(), x[0], v, out=total[0, 1])
            total[0, 2].addmv_(x[0], v, beta=2)
            return total + torch.addmv(out[0], x[1], v, alpha=-2)

    class Plain(nn.Module):
        def forward(self, x, v):
            out = x[0] @ x[0].t()
            total = torch.baddbmm(torch.bmm(x, x.mT), x, x.mT, beta=0.5, alpha=2)
            total = total + torch.baddbmm(out, x, x.mT)
            a, b = torch.addmm(total[0], x[0], x[1].t()), torch.addmm(out, x[0], x[1].t(), alpha=3)
            first = a[0] + torch.mv(x[0], v)
            second = torch.addmm(a[1, :, None], x[0], v[:, None])[:, 0]
            third = torch.addmm(a[2, :, None], x[0], v[:, None], beta=2)[:, 0]
            total = torch.stack([torch.cat([torch.stack([first, second, third]), a[3:]]), b])
            return total + torch.addmm(out[0, :, None], x[1], v[:, None], alpha=-2)[:, 0]

    x, v = torch.randn(2, 6, 32), torch.randn(32)
    results = []
    for net in (Into(), Plain()):
        with torch.no_grad(), mt.emulate(net, "nvfp4") as emulation:
            results.append(net(x, v))
        assert emulation.products == {"emulated": 10, "kept": 0}
    assert same_bits(*results)
    with torch.no_grad(), mt.emulate(Into(), "keep"):
        kept = Into()(x, v)
    assert same_bits(kept, Into()(x, v))


def test_a_module_that_is_moved_before_it_runs_keeps_its_first_and_last_layer():
    net, x = nn.Sequential(*(nn.Linear(32, 32) for _ in range(3))), torch.randn(4, 32, dtype=torch.float64)
    emulation = mt.emulate(net, {"default": "nvfp4", "keep_first_last": True})
    net.double()
    with emulation:
        net(x)
        net.float()(x.float())
    assert emulation.products == {"emulated": 2, "kept": 4}


def test_what_has_products_of_its_own_is_refused_in_one_line():
    from torch._higher_order_ops.cond import cond_op
    x = torch.randn(4, 4)
    line = "^emulate: found cond, .*allowed: "
    with mt.emulate(nn.Linear(8, 8), "nvfp4"), pytest.raises(NotImplementedError, match=line) as refused:
        cond_op(torch.tensor(True), lambda x: x @ x, lambda x: x, (x,))
    assert "\n" not in str(refused.value)


def test_sparse_parameters_and_weights_of_no_size():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.eye(4).to_sparse(), requires_grad=False)
            self.none, self.layer = nn.Linear(0, 8), nn.Linear(8, 8)

        def forward(self, x):
            return self.layer(self.none(x))

    net = Odd()
    plan = {"default": "nvfp4", "keep_first_last": True}
    with mt.emulate(net, plan) as emulation:
        y = net(torch.ones(3, 0))
    assert y.shape == (3, 8) and emulation.products == {"emulated": 0, "kept": 2}


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_products_of_sparse_matrices_stay_as_they_are(layout):
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.edges = nn.Linear(8, 8), torch.rand(5, 5).relu().to_sparse(layout=layout)

        def forward(self, x):
            return torch.addmm(x, self.edges, self.layer(x)) + self.edges @ x

    net, x = Graph(), torch.randn(5, 8)
    with mt.emulate(net, "nvfp4") as emulation:
        y = net(x)
    assert emulation.products == {"emulated": 1, "kept": 0}
    with mt.emulate(net.layer, "nvfp4"):
        expected = net(x)
    assert same_bits(y, expected)


def test_tied_weights_have_a_name_each():
    net, x, seen = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32)), torch.randn(4, 32), []
    net[1].weight = net[0].weight
    with mt.emulate(net, {"layers": {"0": "bf16", "1": "nvfp4"}}, watch=seen.append):
        net(x).sum().backward()
    assert [(one.site.layer, one.recipe.dtype) for one in seen if not one.site.backward] == [("0", "bf16"), ("1", "nvf4")]
    assert layers_of(seen, True) == ["1", "1", "0"]


def test_compiled_modules_run_as_they_are_written():
    inner = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
    plain = nn.Sequential(nn.Linear(32, 32), inner)
    net = nn.Sequential(plain[0], torch.compile(inner, backend="eager"))
    x = torch.randn(4, 32)
    with torch.no_grad():
        net(x)  # compiled before
        seen = []
        with mt.emulate(net, "nvfp4", watch=seen.append):
            y = net(x)
        with mt.emulate(plain, "nvfp4"):
            assert same_bits(plain(x), y)
        assert layers_of(seen) == ["0", "1.0", "1.2"]
        plan = {"layers": {"1.*": "nvfp4", "0": "keep"}}
        for module in (net, plain, torch.compile(net, backend="eager")):  # one plan for all
            assert list(mt.compare(module, x, {"p": plan})["plans"]["p"]["layers"]) == ["0", "1.0", "1.2"]
        assert not same_bits(net(x), y)
