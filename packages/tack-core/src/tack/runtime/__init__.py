"""Devices, memory, variants, caches and launches: what happens when a kernel is called."""
