"""Queues of the simulated driver: work runs at waits, in an order that streams and events allow, and as late as they allow."""

import threading

import numpy as np
import pytest
from cuda.bindings import driver
from driver_tools import code, kinds, ok

import tack_sim


def stream(flags=0):
    return int(ok(driver.cuStreamCreate(flags)))


class Cell:
    """A byte on the device, and what a late copy of it saw."""

    def __init__(self):
        self.address = int(ok(driver.cuMemAlloc(1)))
        self.seen = np.zeros(1, np.uint8)
        ok(driver.cuMemsetD8(self.address, 0, 1))
        ok(driver.cuCtxSynchronize())

    def set(self, value, where):
        ok(driver.cuMemsetD8Async(self.address, value, 1, where))

    def look(self, where):
        ok(driver.cuMemcpyDtoHAsync(self.seen.ctypes.data, self.address, 1, where))


def test_waiting_for_one_stream_leaves_the_others_late(cuda):
    one, other = stream(1), stream(1)
    a, b = Cell(), Cell()
    a.set(1, one), a.look(one)
    b.set(2, other), b.look(other)
    ok(driver.cuStreamSynchronize(other))
    assert (a.seen[0], b.seen[0]) == (0, 2)
    ok(driver.cuCtxSynchronize())
    assert a.seen[0] == 1


def test_the_default_stream_waits_for_blocking_streams_alone(cuda):
    blocking, free = stream(0), stream(1)
    a, b = Cell(), Cell()
    a.set(1, blocking)
    b.set(2, free)
    a.look(0), b.look(0)
    ok(driver.cuStreamSynchronize(0))
    assert (a.seen[0], b.seen[0]) == (1, 0)
    ok(driver.cuCtxSynchronize())


def test_blocking_streams_wait_for_the_default_stream(cuda):
    blocking = stream(0)
    a = Cell()
    a.set(1, 0)
    a.look(blocking)
    ok(driver.cuStreamSynchronize(blocking))
    assert a.seen[0] == 1


def test_an_event_orders_streams(cuda):
    one, other = stream(1), stream(1)
    a = Cell()
    event = ok(driver.cuEventCreate(0))
    a.set(1, one)
    ok(driver.cuEventRecord(event, one))
    a.set(2, one)
    ok(driver.cuStreamWaitEvent(other, event, 0))
    a.look(other)
    ok(driver.cuStreamSynchronize(other))
    assert a.seen[0] == 1  # the second fill is behind the event
    ok(driver.cuCtxSynchronize())


def test_a_query_is_not_ready_at_first_and_ends(cuda):
    where = stream(1)
    event = ok(driver.cuEventCreate(0))
    a = Cell()
    a.set(1, where)
    ok(driver.cuEventRecord(event, where))
    answers = [code(driver.cuEventQuery(event)) for _ in range(3)]
    assert answers == [600, 600, 0]
    a.set(2, where)
    assert [code(driver.cuStreamQuery(where)) for _ in range(2)] == [600, 0]
    assert kinds() == []


def test_events_take_the_time_between_them(cuda):
    start, end, silent = (ok(driver.cuEventCreate(flags)) for flags in (0, 0, 2))
    assert code(driver.cuEventElapsedTime(start, end)) == 400
    for event in (start, end, silent):
        ok(driver.cuEventRecord(event, 0))
    assert code(driver.cuEventElapsedTime(start, end)) == 600
    ok(driver.cuEventSynchronize(end))
    assert ok(driver.cuEventElapsedTime(start, end)) >= 0
    assert code(driver.cuEventElapsedTime(start, silent)) == 400


def test_handles_end_with_what_they_name(cuda):
    where, event = stream(), ok(driver.cuEventCreate(0))
    a = Cell()
    a.set(1, where)
    ok(driver.cuStreamDestroy(where))  # what is queued runs
    assert cuda.get(a.address, a.seen)[0] == 1
    ok(driver.cuEventDestroy(event))
    for result in (
        driver.cuStreamSynchronize(where), driver.cuStreamDestroy(where), driver.cuEventRecord(event, 0),
        driver.cuEventDestroy(event), driver.cuMemsetD8Async(a.address, 0, 1, where), driver.cuStreamSynchronize(int(event)),
        driver.cuStreamSynchronize(12345),
    ):  # fmt: skip
        assert code(result) == 400
    assert kinds() == ["destroyed handle"] * 6 + ["wrong handle"]


def test_a_stream_belongs_to_its_context(cuda):
    a, where = Cell(), stream()
    ok(driver.cuCtxPushCurrent(ok(driver.cuDevicePrimaryCtxRetain(1))))
    assert code(driver.cuMemsetD8Async(a.address, 0, 1, where)) == 400
    assert code(driver.cuStreamSynchronize(where)) == 0
    assert int(ok(driver.cuStreamGetDevice(where))) == 0


def test_a_queue_runs_its_oldest_work_when_it_is_too_long(cuda):
    a = Cell()
    a.set(7, 0)
    a.look(0)
    for k in range(1030):
        a.set(k % 256, 0)
    assert a.seen[0] == 7


@pytest.mark.parametrize("where", [1, 2])
def test_named_default_streams(cuda, where):
    a = Cell()
    a.set(1, where)
    a.look(where)
    ok(driver.cuStreamSynchronize(where))
    assert a.seen[0] == 1


def test_threads_have_default_streams_of_their_own(cuda):
    a = Cell()
    a.set(1, 2)
    a.look(2)

    def other():
        ok(driver.cuCtxSetCurrent(cuda.context))
        ok(driver.cuStreamSynchronize(2))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert a.seen[0] == 0
    ok(driver.cuStreamSynchronize(2))
    assert a.seen[0] == 1


def test_a_context_that_ends_runs_what_is_queued(cuda):
    ok(driver.cuCtxCreate(None, 0, 0))
    a = Cell()
    a.set(3, 0)
    a.look(0)
    ok(driver.cuCtxDestroy(ok(driver.cuCtxGetCurrent())))
    assert a.seen[0] == 3
    assert not [leak for leak in tack_sim.check_leaks() if "memory" in leak]
