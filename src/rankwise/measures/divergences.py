"""Distributions over categories, and divergences between them."""

from __future__ import annotations

from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.facts import Categories

__all__ = ["category_shares", "kullback_leibler"]


def category_shares(categories: Categories, user: Array, item: Array, n_users: int) -> tuple[Array, Array]:
    """Return the share of every category among each user's items, and which users have any.

    An item counts in equal shares for its categories; items without categories are left out.

    Returns
    -------
    shares : array of float, shape (U, n_categories)
    defined : array of bool, shape (U,)
    """
    xp = namespace(item)
    owner, category = categories.of(item)
    size = bincount(owner, xp.ones(owner.shape[0], dtype=xp.float64), item.shape[0])
    width = len(categories.names)
    cell = xp.take(user, owner) * width + category
    # Multiples of 2^-40, whose sums do not depend on the order of a user's items.
    part = xp.round(2.0**40 / xp.take(size, owner)) / 2.0**40
    sums = xp.reshape(bincount(cell, part, n_users * width), (n_users, width))
    total = xp.sum(sums, axis=1)
    return sums / xp.where(total > 0, total, 1.0)[:, None], total > 0


def kullback_leibler(p: Array, q: Array) -> Array:
    """Return the Kullback-Leibler divergence of each row of q from that of p, in nats.

    q is positive wherever p is.

    Parameters
    ----------
    p, q : array of float, shape (U, n)
        Distributions, one per row.

    Returns
    -------
    array of float, shape (U,)

    Examples
    --------
    >>> import numpy as np
    >>> kullback_leibler(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])).round(4)
    array([0.6931])
    """
    xp = namespace(p)
    ratio = p / xp.where(p > 0, q, 1.0)
    terms = p * xp.log(xp.where(p > 0, ratio, 1.0))
    return xp.clip(xp.sum(terms, axis=1), min=0.0)
