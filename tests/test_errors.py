from __future__ import annotations

import pytest

from rankwise.errors import FileError


@pytest.mark.parametrize("place", ["what", "where", "found", "hint"])
def test_messages_show_text_of_strangers_harmlessly(place):
    error = FileError(
        **{"what": "wrong", place: "a\n\x1b[31m\u202e\ud800" + "x" * 1_000_000 + "end"}
    )
    line = next(line for line in str(error).split("\n") if "[31m" in line)
    assert not set(str(error)) & set("\x1b\u202e\ud800")
    assert len(line) < 650
    assert "end (1,000,0" in line
    assert getattr(error, place).endswith("x" * 900 + "end")  # the error itself has all of it
