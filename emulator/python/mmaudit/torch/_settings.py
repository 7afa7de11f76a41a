"""Settings of torch that hold for all threads while some emulate() is on, and come back with the last one."""
import threading
from contextlib import ExitStack, contextmanager
from typing import Iterator

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

_lock = threading.Lock()
_entered = 0
_before = ExitStack()


@contextmanager
def attention_apart() -> Iterator[None]:
    """Attention as two products and a softmax, in place of one operator."""
    global _entered
    with _lock:
        if _entered == 0:
            _before.enter_context(sdpa_kernel(SDPBackend.MATH))
            _before.callback(torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled())
            torch.backends.mha.set_fastpath_enabled(False)
        _entered += 1
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if _entered == 0:
                _before.close()
