"""Software textures: each sample of a lowered function becomes loads and arithmetic, so that all devices agree on its bits.

Normalized coordinates, texel centres at (i + 0.5) / N, clamped to the edge; NaN samples like 0. Knows no device: parameters say
which textures are sampled in hardware, and those are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tack.errors import Span
from tack.ir.nodes import IRAssign, IRCast, IRConst, IRExpr, IRFunc, IRLoad, IRLocal, IRName, IROp, IRParam, IRStmt
from tack.ir.nodes import IRTextureSample as Sample
from tack.ir.types import IRTexture, ScalarType, f32, i32, i64
from tack.ir.walk import expand_block, with_parts

__all__ = ["as_arrays", "expand_samples"]


def as_arrays(params: Sequence[IRParam]) -> tuple[IRParam, ...]:
    """The parameters after `expand_samples`: what software samples is an array like any other."""
    return tuple(replace(p, texture=None) if p.texture is not None and not p.texture.hardware else p for p in params)


def expand_samples(func: IRFunc, params: Sequence[IRParam]) -> IRFunc:
    """The lowered function without samples of software textures, for a call with these parameters."""
    textures = {p.name: p.texture for p in params if p.texture is not None and not p.texture.hardware}
    if not textures:
        return func
    locals: list[IRLocal] = []

    def expanded(stmt: IRStmt) -> Sequence[IRStmt]:
        if not isinstance(stmt, IRAssign) or not isinstance(stmt.value, Sample):
            return (stmt,)
        texture = textures.get(stmt.value.texture)
        return (stmt,) if texture is None else _Writer(locals, stmt.span).sample(stmt.name, stmt.value, texture)

    blocks = [expand_block(each, expanded) for each in (func.prologue, func.bound_prologue, func.loop.body, func.epilogue)]
    prologue, bound, body, epilogue = blocks
    func = with_parts(func, prologue, bound, func.loop.dims, body, epilogue, func.result)
    return replace(func, locals=(*func.locals, *locals))


class _Writer:
    """Writes the statements of one sample."""

    def __init__(self, locals: list[IRLocal], span: Span | None) -> None:
        self.locals, self.span = locals, span
        self.out: list[IRStmt] = []

    def sample(self, target: str, node: Sample, texture: IRTexture) -> list[IRStmt]:
        """`target = node`, with one read of each of the up to eight texels around the place."""
        axes = [self._axis(c, n, texture.nearest) for c, n in zip(node.coords, texture.extents, strict=True)]
        width, height, depth = texture.extents
        flat = i32 if width * height * depth <= i32.max else i64
        (xs, fx), (ys, fy), (zs, fz) = axes
        values: list[list[list[IRExpr]]] = []
        for z in zs:
            plane = self._scaled(z, width * height, flat)
            rows = [self._keep(self._op("add", plane, self._scaled(y, width, flat)), flat) for y in ys]
            values.append([[self._texel(node.texture, row, x) for x in xs] for row in rows])
        planes = [self._mixed([self._mixed(row, fx) for row in rows], fy) for rows in values]
        self.out.append(IRAssign(target, self._mixed(planes, fz), self.span))
        return self.out

    def _axis(self, coordinate: IRExpr, extent: int, nearest: bool) -> tuple[list[IRExpr], IRExpr | None]:
        """Along one axis: the one or two texels (i32), and the weight of the second."""
        if extent == 1:
            return [IRConst(0, i32, self.span)], None
        place = self._op("mul", IRCast(coordinate, f32, self.span), self._float(extent))
        if not nearest:
            place = self._op("sub", place, self._float(0.5))
        place = self._op("min", self._op("max", place, self._float(0)), self._float(extent - 1))  # NaN becomes 0 here (T10)
        kept = self._keep(place, f32)
        first = self._keep(IRCast(kept, i32, self.span), i32)
        if nearest:
            return [first], None
        weight = self._keep(self._op("sub", kept, IRCast(first, f32, self.span)), f32)
        after = self._op("add", first, IRConst(1, None, self.span))
        return [first, self._keep(self._op("min", after, IRConst(extent - 1, None, self.span)), i32)], weight

    def _texel(self, texture: str, row: IRExpr, x: IRExpr) -> IRExpr:
        return self._keep(IRLoad(texture, (self._op("add", row, x),), None, self.span), f32)

    def _mixed(self, values: list[IRExpr], weight: IRExpr | None) -> IRExpr:
        """Linear interpolation; rule E5 makes one fma of its product and sum."""
        if weight is None:
            return values[0]
        first, second = values
        return self._keep(self._op("add", first, self._op("mul", weight, self._op("sub", second, first))), f32)

    def _scaled(self, value: IRExpr, stride: int, t: ScalarType) -> IRExpr:
        wide = value if t is i32 else IRCast(value, t, self.span)
        return wide if stride == 1 else self._op("mul", wide, IRConst(stride, None, self.span))

    def _keep(self, value: IRExpr, t: ScalarType) -> IRName:
        name = f"(texel {len(self.locals)})"
        self.locals.append(IRLocal(name, "(texel)", t, declared=True))
        self.out.append(IRAssign(name, value, self.span))
        return IRName(name, None, self.span)

    def _op(self, op: str, *args: Any) -> IRExpr:
        return IROp(op, args, None, self.span)

    def _float(self, value: float) -> IRExpr:
        return IRConst(float(value), None, self.span)
