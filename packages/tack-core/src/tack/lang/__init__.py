"""What users write, and how it becomes an IR template: kernels, device functions, constants, arrays."""
