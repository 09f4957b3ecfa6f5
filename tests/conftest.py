from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import HealthCheck, settings

from command_line import rankwise
from tools import check_required

settings.register_profile(
    "ci",
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=3)
settings.register_profile("deep", settings.get_profile("ci"), max_examples=100)
settings.load_profile("ci")


def pytest_configure():
    try:
        check_required()
    except LookupError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_make_parametrize_id(val):
    """Name a long text by its start: the id of a test travels with each of its reports."""
    return (
        f"{val[:20]} and {len(val) - 20:,} more"
        if isinstance(val, str) and len(val) > 300
        else None
    )


@pytest.fixture(scope="module")
def one_thread():
    """Work on one thread by default: for thousands of small samples, where starting threads takes longer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.sched_getaffinity", lambda process: {0}, raising=False)
        yield


@pytest.fixture(scope="session")
def saved_demo(tmp_path_factory) -> tuple[Path, CompletedProcess[str]]:
    """The folder that ``rankwise demo`` fills, and what it prints; what shares it has the xdist group "demo"."""
    folder = tmp_path_factory.mktemp("demo")
    done = rankwise(folder, "demo")
    assert done.returncode == 0, done.stderr
    return folder / "rankwise-demo", done


@pytest.fixture(scope="session")
def trec_eval() -> Path:
    folder = Path(__file__).parents[2] / "shared" / "data" / "trec_eval"
    if not folder.is_dir():
        pytest.skip(f"trec_eval's samples are not at {folder}: its outputs are not compared")
    return folder


@pytest.fixture(scope="session")
def movietweetings() -> Path:
    folder = Path(__file__).parents[2] / "shared" / "data" / "movietweetings-100k"
    if not folder.is_dir():
        pytest.skip(f"MovieTweetings is not at {folder}: real-data tests are left out")
    return folder
