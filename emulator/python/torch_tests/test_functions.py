"""Special functions on tensors of the CPU: the bits of numpy arrays, in tensors."""
import numpy as np
import pytest
import torch

import mmaudit


@pytest.mark.parametrize("shape", [(), (0,), (5, 7)])
def test_tensors_give_tensors(shape):
    x = torch.randn(shape, requires_grad=True)
    found = mmaudit.ex2(x)
    assert found.dtype == x.dtype and found.shape == x.shape and not found.requires_grad
    assert np.array_equal(found.numpy(), mmaudit.ex2(x.detach().numpy()))


def test_forms_follow_the_dtype():
    x = torch.tensor([[0.5, -2.0], [1.0, 4.0]])
    assert mmaudit.ex2(x.half().t()).equal(mmaudit.function("ex2.approx.f16", x.half()).t())
    assert mmaudit.tanh(x.bfloat16()).dtype == torch.bfloat16
    assert (mmaudit.tanh(x.bfloat16()).float() - x.tanh()).abs().max() < 2 ** -8
    assert mmaudit.function("divide", x, x + 1).equal(x / (x + 1))


def test_a_thread_that_flushes_subnormal_numbers_gets_the_same_bits():
    x, rows = torch.tensor([-140.0]), torch.full((1, 4), 1e-41)

    def bits():
        return [mmaudit.ex2(x).view(torch.int32).tolist(), mmaudit.reduce_rows("sum", rows)[0].view(np.int32).tolist()]
    wanted = bits()
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor can't")
    try:
        assert bits() == wanted == [[512], [28544]]
    finally:
        torch.set_flush_denormal(False)


def test_refusals():
    x = torch.zeros(2, 3)
    for call, line in (
        (lambda: mmaudit.ex2(x.double()), "x: found torch.float64 on cpu, allowed: a tensor of torch.float32 on cpu or cuda"),
        (lambda: mmaudit.ex2(torch.zeros(3, device="meta")), "x: found torch.float32 on meta"),
        (lambda: mmaudit.function("divide", x, x[0]), r"y: found \[3\] on cpu, allowed: \[2, 3\] on cpu"),
        (lambda: mmaudit.function("divide", x, 3.0), "y: found a float"),
        (lambda: mmaudit.function("expf", x, x), "no y for expf"),
    ):
        with pytest.raises(ValueError, match=line):
            call()


@pytest.mark.filterwarnings("ignore")
def test_tensors_without_strided_numbers():
    strided = torch.ones(2, 2)
    for given in (strided.to_sparse(), strided.to_sparse_csr(), strided.bool(), strided.to(torch.complex64),
                  torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), torch.quantize_per_tensor(strided, 1, 0, torch.quint8),
                  torch.nn.Linear(2, 2), torch.float32):
        for call in (mmaudit.ex2, lambda one: mmaudit.function("divide", strided, one), lambda one: mmaudit.reduce_rows("softmax", one),
                     lambda one: mmaudit.reduce_rows("layer_norm", strided, one), lambda one: mmaudit.swiglu(one, strided),
                     lambda one: mmaudit.rope(strided, strided, one)):
            with pytest.raises(ValueError, match=r"\A[^\n]+: found [^\n]*, allowed: [^\n]+\Z"):
                call(given)
