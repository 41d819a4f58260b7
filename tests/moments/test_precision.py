"""flint has one precision for the whole process; two threads must not see each other's."""

from __future__ import annotations

import threading

import flint

from titan.moments.precision import working_precision


def test_threads_take_turns() -> None:
    before, found, inside = flint.ctx.prec, [], threading.Event()

    def other() -> None:
        with working_precision(300):
            inside.set()
            found.append(flint.ctx.prec)

    thread = threading.Thread(target=other)
    with working_precision(200):
        thread.start()
        assert not inside.wait(0.05)
        with working_precision(250):
            assert flint.ctx.prec == 250
        assert flint.ctx.prec == 200
    thread.join()
    assert found == [300]
    assert flint.ctx.prec == before
