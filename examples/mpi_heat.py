"""Heat in a plate over MPI: every rank owns a block of rows, and trades the rows at its edges with its neighbours.

    mpiexec -n 4 python examples/mpi_heat.py     # or without MPI, as one process: python examples/mpi_heat.py

A cell's new value is the same expression of the same numbers on whichever rank, so the result is that of one process, to the bit.
"""

import zlib

import numpy as np

import tack

try:
    from mpi4py import MPI
except ImportError:
    MPI = None

ROWS, COLUMNS, STEPS = 402, 300, 400


@tack.kernel
def heat(plate, first_row):
    for i, j in tack.ndindex(plate.shape[0], plate.shape[1]):
        y, x = first_row + i - 150, j - 100
        plate[i, j] = 100.0 if y * y + x * x < 60 * 60 else 20.0


@tack.kernel
def step(plate, after, k):
    for i, j in tack.ndindex((1, plate.shape[0] - 1), (1, plate.shape[1] - 1)):
        around = plate[i - 1, j] + plate[i + 1, j] + plate[i, j - 1] + plate[i, j + 1]
        after[i, j] = plate[i, j] + k * (around - 4 * plate[i, j])


def trade_edges(plate: tack.Array, comm) -> None:
    """Fills the first and the last of the rows with those that the neighbours own; the outermost ones of the plate stay.

    The rows travel through small arrays on the host, so the plate may be on any device.
    """
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    for own, to, edge, source in ((plate[1:2], above, plate[-1:], below), (plate[-2:-1], below, plate[:1], above)):
        received = edge.numpy()  # stays as it is where there is no neighbour
        comm.Sendrecv(own.numpy(), to, recvbuf=received, source=source)
        tack.copyto(edge, received)


def solve(first: int, last: int, comm=None) -> np.ndarray:
    """The rows first..last-1 of the plate after all steps, computed with one more row on either side."""
    plate = tack.empty((last - first + 2, COLUMNS), dtype=tack.f64)
    heat(plate, first - 1)
    after = plate.copy()
    for _ in range(STEPS):
        if comm is not None:
            trade_edges(plate, comm)
        step(plate, after, 0.125)
        plate, after = after, plate
    return plate.numpy()[1:-1]


def main() -> None:
    """Solves on all ranks together, and on the first one also alone."""
    comm = MPI and MPI.COMM_WORLD
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    bounds = [1 + (ROWS - 2) * r // size for r in range(size + 1)]  # the outermost rows keep their temperature
    mine = solve(bounds[rank], bounds[rank + 1], comm)
    blocks = comm.gather(mine) if comm else [mine]
    if rank == 0:
        together, alone = np.concatenate(blocks), solve(1, ROWS - 1)
        print(f"{STEPS} steps on {size} rank(s): mean {together.mean():.4f}, checksum {zlib.crc32(together.tobytes()):08x}")
        print(f"the same plate in one process: mean {alone.mean():.4f}, checksum {zlib.crc32(alone.tobytes()):08x}")
        assert together.tobytes() == alone.tobytes()


if __name__ == "__main__":
    main()
