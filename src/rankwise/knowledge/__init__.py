"""What is known about items and users, from tables to the facts that measures need."""

from rankwise.knowledge.knowledge import Knowledge

__all__ = ["Knowledge"]
