"""pytest finds it by itself (entry point pytest11): the fixture assert_gemm_close."""
from typing import Callable

import pytest


@pytest.fixture(scope="session")
def assert_gemm_close() -> Callable[..., object]:
    """mmaudit.assert_gemm_close: ``assert_gemm_close(d, a, b, inst="wgmma.m64n64k32.f32.e4m3.e4m3", promote=128)``."""
    import mmaudit  # here, so that pytest starts without the library where no test needs it

    return mmaudit.assert_gemm_close
