"""Keep pytest from importing what tests import or start themselves: without PyTorch it cannot be imported."""

from __future__ import annotations

collect_ignore = [f"{name}.py" for name in ("lightning_ranks", "ranks", "tensor_worlds", "waits")]
