"""Waiting for queued work, from plain and from asynchronous programs. Knows devices' memories, nothing of kernels or arrays."""

from __future__ import annotations

from tack.runtime.device import memories

__all__ = ["sync", "sync_async"]


def sync() -> None:
    """Wait for every device: all launches made before the call have finished when it returns. Any thread may wait."""
    for memory in memories():
        memory.run(memory.wait)


async def sync_async() -> None:
    """Like `sync`, in a worker thread, so that the event loop keeps running meanwhile."""
    import asyncio  # costs tens of milliseconds, which only programs that use it should pay

    await asyncio.to_thread(sync)
