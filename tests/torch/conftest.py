"""Keep pytest from importing what tests import or start themselves: without PyTorch it cannot be imported."""

from __future__ import annotations

import os

collect_ignore = [f"{name}.py" for name in ("lightning_ranks", "ranks", "tensor_worlds", "waits")]

if os.environ.get("RANKWISE_TEST_DEVICE", "cpu") == "cpu":
    # Triton reads it when the first kernel is defined, whichever test that is for.
    os.environ.setdefault("TRITON_INTERPRET", "1")
