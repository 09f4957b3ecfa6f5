from __future__ import annotations

from rankwise.core import terminal
from rankwise.core.terminal import progress_bar


def test_short_work_shows_nothing(capsys):
    with progress_bar(2, "users", shown=True) as bar:
        bar.update(2)
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_a_bar_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0)
    with progress_bar(4, "users", shown=True) as bar:
        bar.update(1)
        bar.refresh()
    out, err = capsys.readouterr()
    assert out == ""
    assert "1/4" in err
    assert "users" in err


def test_no_terminal_no_bar(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0)
    with progress_bar(4, "users") as bar:
        bar.update(4)
    assert capsys.readouterr() == ("", "")
