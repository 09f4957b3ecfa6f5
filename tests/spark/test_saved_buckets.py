from __future__ import annotations

from saved_forms import EXAMPLES, SAVED, structure


def test_buckets_change_only_with_their_version(spark, tmp_path):
    from rankwise.core.saved_forms import BUCKETS

    EXAMPLES[BUCKETS.name].write(tmp_path)
    stored = SAVED / BUCKETS.name.replace(" ", "_") / str(BUCKETS.version)
    assert structure(tmp_path) == structure(stored)
