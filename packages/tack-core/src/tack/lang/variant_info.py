"""`VariantInfo`: one row of what `kernel.variants()` lists. A plain value; knows nothing of how a variant came about."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["VariantInfo"]


@dataclass(frozen=True, slots=True)
class VariantInfo:
    """One compiled variant of a kernel, as `kernel.variants()` lists it.

    `device`: where it runs, "cpu" or "cpu (num_threads=1)". `key`: what it was compiled for, in words. `seconds`: how long that
    took, or how long loading it took where it came `from_disk`.
    """

    device: str
    key: str
    seconds: float
    from_disk: bool

    def __repr__(self) -> str:
        how = "loaded from disk" if self.from_disk else "compiled"
        return f"<{self.device}: {self.key}; {how} in {self.seconds * 1e3:.1f} ms>"
