from __future__ import annotations

from rankwise import progress
from rankwise.progress import Progress


def test_short_work_shows_nothing(capsys):
    with Progress(2, "users", shown=True) as bar:
        bar.advance(2)
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_a_bar_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with Progress(4, "users", shown=True) as bar:
        bar.advance(1)
        bar.advance(1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2/4" in err


def test_no_terminal_no_bar(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with Progress(4, "users") as bar:
        bar.advance(4)
    assert capsys.readouterr() == ("", "")
