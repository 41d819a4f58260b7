"""What the network needs is not waited for before rows are read; it comes meanwhile."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from titan.cli.importing import collecting_nothing, import_meanwhile


def test_who_takes_part_reads_rows_before_links_are_there() -> None:
    code = "import sys, titan.party.taking_part; sys.exit('OpenSSL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def wait() -> None:
    for thread in threading.enumerate():
        if thread.name == "titan-import":
            thread.join(60)


def test_a_module_comes_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And once; what is wrong with it is met by whoever needs it, not told in between."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "titan_later.py").write_text(
        "import threading\nby = threading.current_thread().name\n"
    )
    (tmp_path / "titan_broken.py").write_text("1 / 0\n")
    for name in ("titan_later", "titan_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        import_meanwhile(name)
    wait()
    assert sys.modules["titan_later"].by == "titan-import"
    assert "titan_broken" not in sys.modules
    with pytest.raises(ZeroDivisionError):
        __import__("titan_broken")
    before = threading.active_count()
    import_meanwhile("titan_later")
    assert threading.active_count() == before


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_is_as_it_was(collects: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        with suppress(ZeroDivisionError), collecting_nothing():
            assert not gc.isenabled()
            raise ZeroDivisionError
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
