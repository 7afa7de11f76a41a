"""Modules under tensor parallelism: 2 and 4 processes on CPUs (gloo) against the same module in one."""
import os
import warnings

import pytest
import torch
from torch import nn

import mmaudit.torch as mt

dist = pytest.importorskip("torch.distributed")
mp = pytest.importorskip("torch.multiprocessing")

PER_TENSOR = ["fp8-tensor", "fp8-delayed", "nvfp4", "nvfp4-torchao"]
PER_BLOCK = ["bf16", "mxfp8-ceil", "mxfp4", "fp8-1x128"]


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 32))


def batch():
    """The largest magnitude of x lies in one part of k."""
    x = torch.randn(6, 512, generator=torch.Generator().manual_seed(4))
    x[2, 500] = 37
    return x


def same(x, y):
    return torch.equal(x.view(torch.int32), y.view(torch.int32))


def gathered(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.contiguous())
    return parts


def split_by_hand(model, x, plan, world):
    """The second layer: every part of k alone, in one process; and the largest magnitudes of the whole."""
    linear, path = model[2], None
    recipe = mt.RECIPES[plan]
    path = mt._operator.find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)
    whole = [x.abs().amax(), linear.weight.abs().amax()] if path.factor_per_tensor else [None, None]
    parts = []
    for a, b in zip(x.chunk(world, 1), linear.weight.t().chunk(world, 0)):
        q = mt.quantize(a, recipe.dtype, path.scaling, arch=recipe.arch, policy=recipe.policy, tensor_largest=whole[0])
        w = mt.quantize(b, recipe.dtype, path.scaling, arch=recipe.arch, policy=recipe.policy, of_b=True,
                        tensor_largest=whole[1])
        parts.append(mt.matmul(q.elements, w.elements, inst=w.path.inst, arch=recipe.arch, promote=path.promote,
                               d_format="f32", scale_a=q.scales, scale_b=w.scales, factor_a=q.factors, factor_b=w.factors,
                               factor_block=path.factor_block, factor_order=path.factor_order))
    return torch.stack(parts).double().sum(0) + linear.bias


def columns(mesh, world):
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    for plan in [*PER_TENSOR, *PER_BLOCK, "int8-w8a8"] if world == 2 else ["fp8-tensor", "nvfp4", "fp8-1x128"]:
        for hostile in (False, True) if world == 2 else (True,):
            model, x = network()[:1], batch()
            if hostile:
                x[1, 3], x[4, 5] = torch.inf, torch.nan
                model[0].weight.data[7, 9] = torch.inf  # in one process's part
            with mt.emulate(model, plan):
                alone = model(x)
            parallel = parallelize_module(model, mesh, {"0": ColwiseParallel()})
            for mode in (torch.enable_grad, torch.inference_mode):
                with mode(), mt.emulate(parallel, plan) as emulation, warnings.catch_warnings():
                    warnings.simplefilter("error")
                    mine = parallel(x)
                assert emulation.products == {"emulated": 1, "kept": 0} and not emulation.split
                assert same(torch.cat(gathered(mine.detach()), 1), alone.detach()), (plan, hostile)


def rows(mesh, world):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    for plan in [*PER_TENSOR, *PER_BLOCK]:
        if plan in ("nvfp4-torchao", "mxfp4"):  # as nvfp4 and mxfp8-ceil here
            continue
        model, x, seen = network(), batch(), []
        with mt.emulate(model, plan), torch.no_grad():
            expected = split_by_hand(model, model[:2](x), plan, world)
        parallel = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        with pytest.warns(UserWarning, match="^tensor parallel: found k of '2' split among processes"), torch.no_grad(), \
                mt.emulate(parallel, plan, watch=seen.append) as emulation:
            y = parallel(x)
        assert emulation.products == {"emulated": 2, "kept": 0} and emulation.split == {"2"}
        assert [tuple(one.a.shape) for one in seen] == [(1, 6, 512), (1, 6, 512 // world)]
        assert torch.allclose(y.double(), expected.double(), rtol=1e-6, atol=1e-6), plan
    found = mt.compare(parallel, x, {"p": mt.Plan.of({"layers": {"2": "nvfp4"}})})
    assert found["plans"]["p"]["all_reduced"] == ["2"] and "an order of its own" in str(found)
    kept = mt.Plan.of({"default": "nvfp4", "layers": {"0": "keep"}})  # and the next product has its own operands
    with pytest.warns(UserWarning), mt.emulate(parallel, kept), torch.no_grad():
        mixed = parallel(x)
    assert not torch.equal(mixed, y)
    with pytest.raises(ValueError, match=r"^scaling: found row, with k = 512 split among processes, allowed: "), \
            mt.emulate(parallel, mt.Plan.of({"layers": {"2": "int8-w8a8"}})):
        parallel(x)
    odd = parallelize_module(nn.Sequential(nn.Linear(512, 128)), mesh, {"0": ColwiseParallel()})
    with pytest.raises(ValueError, match="n = 128 split into parts of 64, allowed: parts that are multiples of 128"), \
            mt.emulate(odd, "fp8-1x128"):
        odd(x)


def gradients(mesh, world):
    """Products of the backward pass whose k is not split have the bits of one process."""
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    for plan in ("fp8-tensor", "mxfp8-ceil"):
        model, x = network()[:1], batch()
        weight = torch.randn(6, 512)
        torch.distributed.broadcast(weight, 0)
        with mt.emulate(model, plan):
            (model(x) * weight).sum().backward()
        alone = model[0].weight.grad.clone()
        model.zero_grad()
        parallel = parallelize_module(model, mesh, {"0": ColwiseParallel()})
        part = weight.chunk(world, 1)[dist.get_rank()]
        with mt.emulate(parallel, plan) as emulation:
            (parallel(x) * part).sum().backward()
        assert emulation.products["emulated"] == 2
        assert same(parallel[0].weight.grad.full_tensor(), alone), plan


def work(rank, world, folder, what):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    try:
        mesh = dist.device_mesh.init_device_mesh("cpu", (world,))
        for one in what:
            one(mesh, world)
        dist.barrier()  # none leaves while another still connects to it
    finally:
        dist.destroy_process_group()
    os._exit(0)  # threads of torch that outlive the interpreter end a process with SIGABRT now and then


@pytest.mark.skipif(not dist.is_available(), reason="a torch without torch.distributed")
@pytest.mark.parametrize("world,what", [(2, (columns, rows, gradients)), (4, (columns,))])
def test_tensor_parallel(world, what, tmp_path):
    mp.spawn(work, (world, tmp_path, what), world)


@pytest.mark.parametrize("plan", ["nvfp4", "fp8-1x128", {"default": "fp8-tensor", "keep_first_last": True}])
def test_weights_that_come_while_it_runs(plan):
    """As accelerate offloads them: on meta, and a forward that puts them in their place."""
    model, x = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 32)), torch.randn(5, 256)
    with mt.emulate(model, plan), torch.no_grad():
        expected = model(x)
    for layer in model[::2]:
        def put(x, layer=layer, weight=layer.weight, forward=layer.forward):
            layer.weight = nn.Parameter(weight.detach().clone())
            d = forward(x)
            layer.weight = nn.Parameter(weight.detach().to("meta"))
            return d
        layer.forward = put
        layer.weight = nn.Parameter(layer.weight.detach().to("meta"))
    with mt.emulate(model, plan), torch.no_grad():
        assert same(model(x), expected)
