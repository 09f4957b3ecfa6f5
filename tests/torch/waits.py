"""Counts where PyTorch would wait for an accelerator: wherever Python asks for a value."""

from __future__ import annotations

from collections import Counter

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_SIZES = {
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::unique_consecutive",
    "aten::bincount",
}
_COPIES = {torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.cpu}


class Waits(TorchDispatchMode):
    """Counts values that are read, and results whose size depends on values."""

    def __init__(self):
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name
        if name == "aten::_local_scalar_dense":
            self.counts["scalar"] += 1
        elif name in _SIZES or (
            name == "aten::repeat_interleave" and kwargs.get("output_size") is None
        ):
            self.counts[name] += 1
        elif name in ("aten::index", "aten::index_put_", "aten::index_put"):
            index = [x for x in args[1] if isinstance(x, torch.Tensor)]
            if any(x.dtype in (torch.bool, torch.uint8) for x in index):
                self.counts[f"{name} with bools"] += 1
        return func(*args, **kwargs)


class NoCopies(TorchFunctionMode):
    """Raises where a tensor would be copied to the host as an array; counts lists of values."""

    def __init__(self):
        super().__init__()
        self.lists = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in _COPIES:
            raise AssertionError(f"{func.__name__}: a tensor went to the host")
        if func is torch.Tensor.to and len(args) > 1 and str(args[1]).startswith("cpu"):
            raise AssertionError("a tensor was moved to the host")
        if func is torch.Tensor.tolist:
            self.lists += 1
        return func(*args, **(kwargs or {}))
