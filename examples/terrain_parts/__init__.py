"""What the terrain demo needs besides its kernels: reading files, NumPy versions of the steps, the picture."""
