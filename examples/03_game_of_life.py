"""Conway's Game of Life on a torus: a kernel over two dimensions, and two arrays that take turns.

    python examples/03_game_of_life.py

A glider comes back to its shape after 4 generations, one cell further down and to the right.
"""

import numpy as np

import tack

SIZE, GENERATIONS = 16, 32


@tack.func
def alive(cells, i, j):
    h, w = cells.shape
    return cells[i % h, j % w]  # as in Python, -1 % h is h - 1


@tack.kernel
def generation(cells, after):
    for i, j in tack.ndindex(cells.shape[0], cells.shape[1]):
        neighbours = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                neighbours += alive(cells, i + di, j + dj)
        neighbours -= cells[i, j]
        after[i, j] = neighbours == 3 or (neighbours == 2 and cells[i, j] == 1)


def picture(cells: tack.Array) -> str:
    """The cells as lines of text."""
    return "\n".join("".join(".#"[cell] for cell in row) for row in cells.numpy())


def main() -> None:
    """Lets a glider fly, and checks where it is in the end."""
    start = np.zeros((SIZE, SIZE), np.uint8)
    start[0:3, 0:3] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    cells = tack.array(start)
    after = tack.empty_like(cells)
    print(picture(cells))
    for _ in range(GENERATIONS):
        generation(cells, after)
        cells, after = after, cells
    print(f"\nafter {GENERATIONS} generations:\n{picture(cells)}")
    moved = np.roll(start, (GENERATIONS // 4, GENERATIONS // 4), (0, 1))
    np.testing.assert_array_equal(cells.numpy(), moved)


if __name__ == "__main__":
    main()
