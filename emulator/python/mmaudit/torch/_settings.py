"""Settings of torch that hold for all threads while some emulate() is on, and come back with the last one."""
import threading
from contextlib import ExitStack, contextmanager
from typing import Callable, Iterator

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

_lock = threading.RLock()


class _Shared:
    """A change of settings that is made once however often it is entered, by whatever threads."""

    def __init__(self, change: Callable[[ExitStack], None]) -> None:
        self._change, self._entered, self._before = change, 0, ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with _lock:
            if self._entered == 0:
                self._change(self._before)
            self._entered += 1
        try:
            yield
        finally:
            with _lock:
                self._entered -= 1
                if self._entered == 0:
                    self._before.close()


def _attention(before: ExitStack) -> None:
    before.enter_context(sdpa_kernel(SDPBackend.MATH))
    before.callback(torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled())
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        from torch.nn.attention import flex_attention as flex
        whole = flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG
    except (ImportError, AttributeError):
        return  # an older torch
    before.callback(setattr, flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", whole)
    flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True


def _recurrent(before: ExitStack) -> None:
    before.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
    before.callback(torch._C._set_cudnn_enabled, torch._C._get_cudnn_enabled())
    torch._C._set_mkldnn_enabled(False)
    torch._C._set_cudnn_enabled(False)


#: Attention as two products and a softmax, in place of one operator.
attention_apart = _Shared(_attention)
#: Recurrent layers as the products of their steps, in place of one operator.
recurrent_apart = _Shared(_recurrent)
