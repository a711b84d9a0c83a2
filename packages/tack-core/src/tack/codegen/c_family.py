"""The one emitter of C-like kernels: a typed kernel becomes GPU entry functions, in the main one each lane runs one iteration.

What differs between CUDA, HIP, Metal and OpenCL is data of the `Dialect`; no branch here asks for one. What each entry takes is
`gpu_layout`'s. Knows no vendor, no device and no host code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tack.codegen.c_debug import begin_group, group_declaration, stop_after_failure, stop_after_prologue
from tack.codegen.c_expr import bare
from tack.codegen.c_prelude import Prelude
from tack.codegen.c_statements import StatementWriter, place_of, value_of
from tack.codegen.dialect import Dialect
from tack.codegen.emitter import Text, spelled
from tack.codegen.gpu_layout import Field, GpuLayout, carried_locals, gpu_layout, literal_size
from tack.errors import fail
from tack.ir.bounds import result_prologue
from tack.ir.facts import has_collectives, prologue_hazards, written_array_flags
from tack.ir.nodes import AFTER, BEFORE, Block, IRExpr, IRFunc, IRRange
from tack.ir.types import BOOL, ScalarType, i64, u8, u32, u64
from tack.ir.walk import names_read

__all__ = ["emit_kernel", "emit_unit"]


def emit_kernel(func: IRFunc, dialect: Dialect, entry: str) -> str:
    """A translation unit with one kernel; `func` is at stage "typed", `entry` a C identifier."""
    return emit_unit([(func, entry)], dialect)


def emit_unit(kernels: Sequence[tuple[IRFunc, str]], dialect: Dialect) -> str:
    """A translation unit with several kernels, each with its own entry name; helper functions are shared."""
    prelude = Prelude(dialect)
    texts: list[str] = []
    for func, entry in kernels:
        texts += _entries(func, gpu_layout(func, grids=bool(dialect.row), entry=entry), dialect, prelude)
    return "\n\n".join([prelude.text(), *texts]) + "\n"


def _entries(func: IRFunc, layout: GpuLayout, dialect: Dialect, prelude: Prelude) -> Iterable[str]:
    if layout.shared_bytes > dialect.most_shared:
        message = f"the shared arrays and block reductions of one workgroup take {layout.shared_bytes} bytes"
        checks = ", with what debug mode needs" if func.sites else ""
        raise fail(
            ValueError, f"{message}{checks}, past the {dialect.most_shared} that there are", kernel=func.name,
            remedy="Use smaller shared arrays, or block reductions of fewer types.",
        )  # fmt: skip

    def writer(narrow: bool = False) -> _EntryWriter:
        return _EntryWriter(func, layout, dialect, prelude, narrow=narrow)

    yield from writer().structures()
    if layout.before:
        yield writer().before()
    yield writer().main(layout.entry)
    if layout.narrow:
        yield writer(narrow=True).main(layout.narrow)
    if func.result is not None:
        yield writer().result(func.result)


class _EntryWriter(StatementWriter):
    """Writes one entry function."""

    def __init__(self, func: IRFunc, layout: GpuLayout, dialect: Dialect, prelude: Prelude, *, narrow: bool = False) -> None:
        super().__init__(func, dialect, prelude, narrow=narrow)
        self.layout = layout
        self.types = {local.name: local.type for local in func.locals}
        self.word = u32 if narrow else u64  # of the lane's position
        self.carried = carried_locals(func) if layout.before else ()
        self.used: set[Field] = set()  # fields of the pack that the text names

    # ----------------------------------------------------------------------------------------------------- the entries

    def main(self, entry: str) -> str:
        """The function of which each lane runs one iteration."""
        self.together = bool(self.func.sites) and has_collectives(self.func)
        with self.text.indented(), self.text.captured() as body:
            if self.together:
                begin_group(self)
            if self.layout.before and self.func.sites:
                stop_after_prologue(self)
            self.text.place = place_of(self.func.loop.span) or place_of(self.func.span)
            self._position()
            self._prologue(self.func.prologue, names_read(self.func.loop.body))
            self.iteration = "(i64)t_lane"
            self.block(self.func.loop.body)
        lane = self.dialect.linear_index if self.word is u64 else f"(u32)({self.dialect.linear_index})"
        first = f"const {self.word.name} t_lane = {lane};"
        return self._function(entry, body, first if self.layout.has_grid else f"{first} {self._guard()}")

    def _guard(self) -> str:
        return f"if (t_lane >= ({self.word.name}){self._hidden('count')}) return;"

    def before(self) -> str:
        """The function of which one lane leaves the prologue's locals in the carried buffer (K2).

        Without iterations it evaluates only what the kernel's result needs.
        """
        func, line = self.func, self.text.line
        for_result = result_prologue(func)
        with self.text.indented(), self.text.captured() as body:
            self.text.place = place_of(func.span)
            self.iteration = self.dialect.literal(BEFORE, i64)
            if func.result is not None and for_result != func.prologue:
                line(f"if ({self._hidden('count')} == 0) {{")
                with self.text.indented():
                    self.block(for_result)
                    self._leave_locals(self._result_names())
                    line("return;")
                line("}")
            self.block(func.prologue)
            self._leave_locals({name for name, _ in self.carried})
        return self._function(self.layout.before, body, self._one_lane())

    def result(self, value: IRExpr) -> str:
        """The function of which one lane writes the kernel's result to the last parameter (K6)."""
        assert value.type is not None
        t, text = self._stored_type(value.type), self.text
        with text.indented(), text.captured() as body:
            if self.func.sites:
                stop_after_failure(self)
            text.place = place_of(value.span) or place_of(self.func.span)
            self._prologue(result_prologue(self.func), self._result_names())
            self.iteration = self.dialect.literal(AFTER, i64)
            self.block(self.func.epilogue)
            text.line(f"t_result[0] = {bare(self.expr(value))};")
        slot = len(self.layout.pointers) + bool(self.layout.pack_size) + bool(self.layout.carried_size)
        cell = self.dialect.array.format(const="", restrict="", type=t.name, name="t_result", slot=slot)
        return self._function(self.layout.result, body, self._one_lane(), cell)

    def _prologue(self, prologue: Block, wanted: set[str]) -> None:
        """Gives the prologue's locals their values: what `before` has left, where it has run, or else by the prologue itself."""
        flag = next((field for field in self.layout.fields if field.kind == "first"), None)
        self.iteration = self.dialect.literal(BEFORE, i64)
        if flag is None and prologue_hazards(self.func):
            self._take(wanted)
        elif flag is None or not prologue:
            self.block(prologue)
        else:
            self.text.line(f"if ({self._hidden('first')} != 0) {{")
            with self.text.indented():
                self._take(wanted)
            self.text.line("} else {")
            with self.text.indented():
                self.block(prologue)
            self.text.line("}")

    def _one_lane(self) -> str:
        return f"if ({self.dialect.linear_index} != 0) return;"

    def _result_names(self) -> set[str]:
        assert self.func.result is not None
        return names_read((*self.func.epilogue, self.func.result))

    # ------------------------------------------------------------------------------------------------------ the frame

    def structures(self) -> Iterable[str]:
        """The types of the pack and of the carried buffer: C lays their fields out as `gpu_layout` does."""
        entry = self.layout.entry
        fields = [(field.type, self._field_name(field)) for field in self.layout.fields]
        if fields:
            yield self._structure(f"{entry}_pack", fields)
        if self.carried:
            yield self._structure(f"{entry}_carried", [(t, self._carried_name(name)) for name, t in self.carried])

    def _structure(self, name: str, fields: Iterable[tuple[ScalarType, str]]) -> str:
        return f"typedef struct {{ {' '.join(f'{self._stored_type(t).name} {field};' for t, field in fields)} }} {name};"

    def _stored_type(self, t: ScalarType) -> ScalarType:
        """The type in which a local lies in memory: languages do not agree on the size of truth values."""
        self.prelude.type(t)
        return u8 if t is BOOL else t

    def _function(self, entry: str, body: list[tuple[str, tuple[str, int] | None]], first: str, *more: str) -> str:
        """The whole text: `first` comes before the declarations, `more` are parameters at the end."""
        parameters = [*self._parameters(), *more, *self.dialect.extra_params]
        text = Text()
        text.place = place_of(self.func.span)
        text.line(f"{self.dialect.kernel.format(entry=entry)}({', '.join(parameters)})")
        text.line("{")
        text.place = place_of(self.func.loop.span) or text.place
        with text.indented():
            scalars = " ".join(self._scalars())
            for line in filter(None, (scalars, first)):
                text.line(line)
            text.place = None
            if self.together:
                text.line(group_declaration(self))
            for declaration in (*self.array_declarations(), *self._declarations()):
                text.line(declaration)
        text.lines += [*body, ("}", place_of(self.func.span))]
        return text.rendered(self.dialect.line)

    def _parameters(self) -> list[str]:
        parameters: list[str] = []
        written, dialect, layout = written_array_flags(self.func), self.dialect, self.layout
        for slot in layout.pointers:
            param = self.func.params[slot]
            assert param.type is not None
            at = len(parameters)
            if param.texture is not None:
                parameters.append(dialect.texture.format(name=self.names(param.name), slot=at))
                continue
            parameters.append(
                dialect.array.format(
                    const="" if written[slot] else dialect.const,
                    restrict=dialect.restrict if self.func.disjoint_arrays and param.name not in self.relaxed else "",
                    type=self.prelude.type(param.type),
                    name=self.names(param.name),
                    slot=at,
                )
            )
        if layout.pack_size:
            parameters.append(dialect.pack.format(type=f"{layout.entry}_pack", name="t_pack", slot=len(parameters)))
        if layout.carried_size:
            what = {"type": f"{layout.entry}_carried", "name": "t_carried", "slot": len(parameters)}
            parameters.append(dialect.array.format(const="", restrict=dialect.restrict, **what))
        return parameters

    def _scalars(self) -> Iterable[str]:
        """What of the pack the text names, as constants."""
        for field in self.layout.fields:
            if field.kind == "param":
                name = self.func.params[field.at].name
                if name not in self.names:
                    continue
                name = self.names(name)
            elif field in self.used:
                name = self._field_name(field)
            else:
                continue
            yield f"const {field.type.name} {name} = t_pack->{self._field_name(field)};"

    def _field_name(self, field: Field) -> str:
        if field.kind == "param":
            return f"p{field.at}_{''.join(map(spelled, self.func.params[field.at].name))}"
        return f"t_{field.kind}_{field.at}" if field.kind in ("start", "step", "size") else f"t_{field.kind}"

    def _hidden(self, kind: str, dim: int = 0) -> str:
        """The constant with a number of the launch."""
        found = next(field for field in self.layout.fields if (field.kind, field.at) == (kind, dim))
        self.used.add(found)
        return self._field_name(found)

    def _declarations(self) -> Iterable[str]:
        """Locals and temporaries, a line for each type."""
        by_type: dict[str, list[str]] = {}
        for name, t in self.types.items():
            if name not in self.names:
                continue
            if t is None:
                raise AssertionError(f"local '{name}' has no type")
            by_type.setdefault(self.prelude.type(t), []).append(self.names(name))
        for name, t in self.temporaries.items():
            by_type.setdefault(self.prelude.type(t), []).append(name)
        return (f"{t} {', '.join(names)};" for t, names in by_type.items())

    # ------------------------------------------------------------------------------------------------- carried locals

    def _carried_name(self, name: str) -> str:
        number = next(k for k, (each, _) in enumerate(self.carried) if each == name)
        return f"c{number}_{''.join(map(spelled, name))}"

    def _take(self, wanted: set[str]) -> None:
        """Gives locals the values that the prologue has left."""
        for name, t in self.carried:
            if name in wanted:
                value = f"t_carried->{self._carried_name(name)}"
                self.text.line(f"{self.names(name)} = {f'{value} != 0' if t is BOOL else value};")

    def _leave_locals(self, wanted: set[str]) -> None:
        for name, t in self.carried:
            if name in wanted:
                value = self.names(name)
                self.text.line(f"t_carried->{self._carried_name(name)} = {f'(u8){value}' if t is BOOL else value};")

    # ---------------------------------------------------------------------------------------------------- the position

    def _position(self) -> None:
        """Gives the loop variables their values: the lane's position in the row-ordered space of the loop."""
        dims, line = self.func.loop.dims, self.text.line
        if len(dims) == 1:
            self._variable(dims[0], 0, "t_lane")
            return
        trips = [self.temporary(self.word) for _ in dims]
        divided = self._divided(dims, trips, "t_lane")
        if self.layout.has_grid:
            line(f"if ({self._hidden('grid')} != 0) {{ {self._placed(dims, trips)} }} else {{ {self._guard()} {divided} }}")
        else:
            line(divided)
        for k, (dim, trip) in enumerate(zip(dims, trips, strict=True)):
            self._variable(dim, k, trip)

    def _placed(self, dims: Sequence[IRRange], trips: Sequence[str]) -> str:
        """The position where workgroups lie in rows and planes: planes hold all dimensions but the last two."""
        word, last = self.word.name, len(dims) - 1
        text = f"if (t_lane >= {self._size(dims, last)}) return; {trips[last]} = t_lane;"
        text += f" {trips[last - 1]} = ({word}){self.dialect.row};"
        return text if last < 2 else f"{text} {self._divided(dims[:-2], trips, f'({word}){self.dialect.plane}')}"

    def _divided(self, dims: Sequence[IRRange], trips: Sequence[str], number: str) -> str:
        """The position of which `number` is the number in row order."""
        rest = trips[0]
        text = f"{rest} = {number};"
        for k in range(len(dims) - 1, 0, -1):
            size = self._size(dims, k)
            text += f" {trips[k]} = {rest} % {size}; {rest} = {rest} / {size};"
        return text

    def _size(self, dims: Sequence[IRRange], k: int) -> str:
        size = literal_size(dims[k])  # an empty loop has no lanes, so that 1 will do for 0
        return f"({self.word.name}){self._hidden('size', k)}" if size is None else self.dialect.literal(max(size, 1), self.word)

    def _variable(self, dim: IRRange, k: int, trip: str) -> None:
        """Gives a loop variable its value in iteration `trip`, of the position's word, of its dimension."""
        start, step = value_of(dim.start), value_of(dim.step)
        if step != 1:
            trip = f"{trip} * {self._word(step, 'step', k)}"
        if start != 0:
            trip = f"{self._word(start, 'start', k)} + {trip}"
        value = trip if start == 0 and step == 1 else f"({trip})"
        self.text.line(f"i64 {self.names(dim.var)} = (i64){'' if self.word is u64 else '(i32)'}{value};")

    def _word(self, value: int | None, kind: str, k: int) -> str:
        if value is None:
            return f"({self.word.name}){self._hidden(kind, k)}"
        return self.dialect.literal(value % (1 << self.word.bits), self.word)
