"""Scores from embeddings, a block of users at a time: the full matrix is never materialised."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

from rankwise.errors import InputError, ParameterError
from rankwise.torch.user_items import check_device

__all__ = ["Factors", "read_factors"]

_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Factors:
    """User and item embeddings, whose products are scores; a slice of users has a matrix of them.

    Attributes
    ----------
    users, items : tensor of float, shapes (U, d) and (I, d)
        The embeddings, in the precision of the product.
    bias : tensor of float, shape (I,), or None
        Added to the scores of each item.
    """

    users: Tensor
    items: Tensor
    bias: Tensor | None

    @property
    def shape(self) -> torch.Size:
        """The number of users and of items."""
        return torch.Size((self.users.shape[0], self.items.shape[0]))

    @property
    def device(self) -> torch.device:
        """Where the embeddings are."""
        return self.users.device

    def __getitem__(self, rows: slice) -> Tensor:
        scores = _product(self.users[rows], self.items)
        return scores if self.bias is None else scores + self.bias


def read_factors(users: Tensor, items: Tensor, bias: Tensor | None, dtype: torch.dtype | None) -> Factors:
    """Check embeddings, and round them to the precision of the product.

    Parameters
    ----------
    users, items : tensor of float, shapes (U, d) and (I, d)
        The embeddings.
    bias : tensor of float, shape (I,), or None
        Item biases.
    dtype : torch.dtype or None
        The precision of the product; None: that of the embeddings.

    Raises
    ------
    InputError
        If shapes or devices do not fit.
    """
    given = [("users", users, 2), ("items", items, 2)]
    given += [] if bias is None else [("bias", bias, 1)]
    for name, value, dimensions in given:
        device = users.device if isinstance(users, Tensor) else torch.device("cpu")
        check_device(name, value, device, "users")
        if value.ndim != dimensions or value.layout != torch.strided:
            raise InputError(
                f"{name} is a dense tensor of {dimensions} dimensions",
                found=f"shape {tuple(value.shape)}, {value.layout}",
            )
        if not value.dtype.is_floating_point:
            raise InputError(f"{name} holds floats", found=str(value.dtype))
    if users.shape[1] != items.shape[1]:
        raise InputError(
            "embeddings of users and items have different lengths",
            found=f"users {tuple(users.shape)}, items {tuple(items.shape)}",
        )
    if bias is not None and bias.shape[0] != items.shape[0]:
        raise InputError("bias has one value per item", found=f"{bias.shape[0]} values, {items.shape[0]} items")
    kind = torch.promote_types(users.dtype, items.dtype) if dtype is None else dtype
    if kind not in (*_HALF, torch.float32, torch.float64):
        raise ParameterError("dtype is one of float16, bfloat16, float32, float64", found=f"dtype={dtype!r}")
    users, items = users.detach().to(kind), items.detach().to(kind)
    return Factors(users, items, None if bias is None else bias.detach().to(_result(kind)))


def _result(kind: torch.dtype) -> torch.dtype:
    """Return the type of scores: float32 for products in half precision."""
    return torch.float32 if kind in _HALF else kind


def _product(users: Tensor, items: Tensor) -> Tensor:
    """Return the product, (B, I); in float32 for half precision, whose scores would often tie."""
    if users.dtype not in _HALF:
        return users @ items.T
    if users.device.type == "cuda":
        with suppress(TypeError):  # PyTorch before 2.8 knows no other type for the result
            # Tensor cores multiply in half precision and add in float32.
            return torch.mm(users, items.T, out_dtype=torch.float32)
    return users.to(torch.float32) @ items.to(torch.float32).T
