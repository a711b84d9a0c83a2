"""The native entry of warm calls: one function in CPython's fast calling convention, `tack_entry`, for all kernels.

What is one kernel's own is data in Python objects, so that their counts of references say how long it lives: a plan, with which
the entry was made, and a record for each variant that calls may launch. The table has what is the process's own: types and
functions of the C API, by address, so that the object file holds none. The entry raises nothing: what it does not know goes to
the plan's Python functions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from tack.codegen.llvm_text import FunctionText, ModuleText

__all__ = ["ENTRY", "MAX_ARGS", "MAX_PACK", "SELF_TEST", "Kind", "Offsets", "Record", "Result", "Table", "emit_entry"]

ENTRY = "tack_entry"
SELF_TEST = ("tack_test_enter", "tack_test_body")
MAX_ARGS = 32
MAX_PACK = 64  # words, which lie on the C stack


class Table(IntEnum):
    """The words of the process's table. MODE is the address of the word that names the cache whose records may be used."""

    MODE = 0
    FLOAT = 1
    INT = 2
    ARRAY = 3
    NONE = 4
    CALL = 5  # PyObject_Vectorcall
    AS_I64 = 6  # PyLong_AsLongLongAndOverflow
    AS_U64 = 7  # PyLong_AsUnsignedLongLong
    FAILED = 8  # PyErr_Occurred
    CLEAR = 9  # PyErr_Clear
    SAVE = 10  # PyEval_SaveThread
    RESTORE = 11  # PyEval_RestoreThread
    INCREF = 12  # Py_IncRef
    DECREF = 13  # Py_DecRef
    FROM_DOUBLE = 14  # PyFloat_FromDouble
    FROM_I64 = 15  # PyLong_FromLongLong
    FROM_U64 = 16  # PyLong_FromUnsignedLongLong
    FROM_BOOL = 17  # PyBool_FromLong
    BYTES = 18
    MISS = 19  # the object that says that a call was not served


class Record(IntEnum):
    """The words of a record. After the head come the lists that it counts, in this order: the kinds of the arguments; SIZES of
    (argument, byte offset in the descriptor, value); OVERLAPS of (argument, argument); WRITTEN of (argument, address bits);
    COPIES of (word of the pack, argument, byte offset).

    DISJOINT: whether no pair overlaps must be 0, 1, or is not asked (2). A launch of up to KEEPS iterations keeps the lock of the
    interpreter; around others the record is held. LIMITS is the address of two words: up to how many iterations others are
    served, and how often until one of them is measured. RESULT is a `Result`, which FINISH writes to the word RESULT_AT of the
    pack.
    """

    SERIAL = 0
    ENTER = 1
    BODY = 2
    FINISH = 3
    RESULT = 4
    RESULT_AT = 5
    LIMITS = 6
    KEEPS = 7
    DISJOINT = 8
    SIZES = 9
    OVERLAPS = 10
    WRITTEN = 11
    COPIES = 12
    KINDS = 13  # where the lists begin


class Kind(IntEnum):
    """What an argument is: a number, or an array of the kind that its descriptor names, ARRAY or more."""

    FLOAT = 1
    I32 = 2
    I64 = 3
    U64 = 4
    ARRAY = 16


class Result(IntEnum):
    """What a kernel returns."""

    NOTHING = 0
    FLOAT = 1
    SIGNED = 2
    UNSIGNED = 3
    BOOL = 4


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where things lie, in bytes.

    Of an object its `type`, of a float its `value`, of a bytes object its `payload`, of a tuple its `size` and `items`, of a
    class the number of its `state` (None: it has none). Of an array its `descriptor`, whose payload has the address of its
    memory, its `end`, the array's `kind` and whether it is `read_only`.

    Of a plan `head`, bytes with the address of the table and the number of arguments; `slow`, the function that takes every call
    that is not served; `records`, a tuple that is tried in order; and `objects`: None, or a tuple of the function that takes
    calls with arguments that are neither arrays nor numbers, and bytes with a count and (argument, class, number of its state)
    for each of them that must fit. Of a record its `words`, bytes.
    """

    type: int
    value: int
    payload: int
    size: int
    items: int
    state: int | None
    descriptor: int
    end: int
    kind: int
    read_only: int
    head: int
    slow: int
    records: int
    objects: int
    words: int


class _Entry:
    """The function being written; `slow` is the block that hands the call to Python."""

    def __init__(self, offsets: Offsets) -> None:
        self.f = FunctionText(ModuleText())
        self.at = offsets

    # ------------------------------------------------------------------------------------------------------- words

    def word(self, base: str, index: int | str, type: str = "i64") -> str:
        """The word `index` after the address `base`."""
        place = base if index == 0 else self.f.op(f"getelementptr i64, ptr {base}, i64 {index}")
        return self.f.op(f"load {type}, ptr {place}")

    def field(self, base: str, offset: int | str, type: str = "i64") -> str:
        """What lies `offset` bytes after `base`."""
        place = base if offset == 0 else self.f.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.f.op(f"load {type}, ptr {place}")

    def put(self, base: str, index: str, value: str, type: str = "i64") -> None:
        """Stores word `index` after `base`."""
        self.f.do(f"store {type} {value}, ptr {self.f.op(f'getelementptr i64, ptr {base}, i64 {index}')}")

    def api(self, entry: Table) -> str:
        """The address of a function of the C API, or of a type."""
        return self.word("%table", int(entry), "ptr")

    # -------------------------------------------------------------------------------------------------------- flow

    def unless(self, wrong: str, leave: str) -> None:
        """Goes to `leave` if `wrong`."""
        n = self.f.fresh()
        self.f.branch(wrong, leave, f"on{n}")
        self.f.label(f"on{n}")

    @contextmanager
    def loop(self, count: str) -> Generator[str]:
        """The block runs for 0, 1, ... below `count`, which it is given."""
        n, before = self.f.fresh(), self.f.block
        self.f.goto(f"head{n}")
        self.f.label(f"head{n}")
        self.f.do(f"%i{n} = phi i64 [ 0, %{before} ], [ %next{n}, %latch{n} ]")
        self.f.branch(self.f.op(f"icmp slt i64 %i{n}, {count}"), f"do{n}", f"end{n}")
        self.f.label(f"do{n}")
        yield f"%i{n}"
        self.f.goto(f"latch{n}")
        self.f.label(f"latch{n}")
        self.f.do(f"%next{n} = add i64 %i{n}, 1")
        self.f.goto(f"head{n}")
        self.f.label(f"end{n}")

    @contextmanager
    def tuples(self, start: str, count: str, width: int) -> Generator[list[str]]:
        """The block runs for each of `count` tuples of `width` words from `start` on."""
        with self.loop(count) as i:
            base = self.f.op(f"getelementptr i64, ptr {start}, i64 {self.f.op(f'mul i64 {i}, {width}')}")
            yield [self.word(base, k) for k in range(width)]

    def end_of(self, start: str, count: str, width: int) -> str:
        """Where a list of `count` tuples ends."""
        return self.f.op(f"getelementptr i64, ptr {start}, i64 {self.f.op(f'mul i64 {count}, {width}')}")

    def bytes(self, thing: str) -> str:
        """What a bytes object holds."""
        return self.f.op(f"getelementptr i8, ptr {thing}, i64 {self.at.payload}")

    def items(self, thing: str) -> str:
        """The items of a tuple."""
        return self.f.op(f"getelementptr i8, ptr {thing}, i64 {self.at.items}")

    def descriptor(self, argument: str) -> str:
        """The descriptor of an argument that is an array."""
        return self.word("%descs", argument, "ptr")

    # ---------------------------------------------------------------------------------------------------- the parts

    def text(self) -> str:
        """The whole function."""
        f = self.f
        for name, words in (("pack", MAX_PACK), ("kinds", MAX_ARGS), ("descs", MAX_ARGS), ("over", 1)):
            f.do(f"%{name} = alloca [{words} x i64], align 16")
        head = self.bytes(self.field("%self", self.at.head, "ptr"))
        f.do(f"%table = load ptr, ptr {head}")
        f.do(f"%wanted_at = getelementptr i64, ptr {head}, i64 1")
        f.do("%wanted = load i64, ptr %wanted_at")
        self.unless(f.op("icmp ne ptr %names, null"), "slow")
        self.unless(f.op("icmp ne i64 %nargs, %wanted"), "slow")
        self._arguments()
        record = self._find()
        self._check(record)
        self._launch(record)
        self._objects()
        f.label("slow")
        slow = self.field("%self", self.at.slow, "ptr")
        found = f.op(f"call ptr {self.api(Table.CALL)}(ptr {slow}, ptr %args, i64 %nargs, ptr %names)")
        f.do(f"ret ptr {found}")
        return f.text(f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind")

    def _arguments(self) -> None:
        """Writes each argument's kind, its word of the pack, and of an array its descriptor."""
        f = self.f
        array, real, whole, text = (self.api(entry) for entry in (Table.ARRAY, Table.FLOAT, Table.INT, Table.BYTES))
        with self.loop("%wanted") as i:
            thing = self.word("%args", i, "ptr")
            cls = self.field(thing, self.at.type, "ptr")
            f.branch(f.op(f"icmp eq ptr {cls}, {array}"), "array", "number")
            f.label("array")
            made = self.field(thing, self.at.descriptor, "ptr")
            self.unless(f.op(f"icmp eq ptr {made}, null"), "slow")
            self.unless(f.op(f"icmp ne ptr {self.field(made, self.at.type, 'ptr')}, {text}"), "slow")
            desc = self.bytes(made)
            self.put("%descs", i, desc, "ptr")
            self.put("%pack", i, self.field(desc, 0))
            self.put("%kinds", i, f.op(f"zext i32 {self.field(desc, self.at.kind, 'i32')} to i64"))
            f.goto("argument")
            f.label("number")
            f.branch(f.op(f"icmp eq ptr {cls}, {real}"), "float", "other")
            f.label("float")
            self.put("%pack", i, self.field(thing, self.at.value))
            self.put("%kinds", i, str(int(Kind.FLOAT)))
            f.goto("argument")
            f.label("other")
            self.unless(f.op(f"icmp ne ptr {cls}, {whole}"), "object")
            self._integer(thing, i)
            f.label("argument")

    def _integer(self, thing: str, i: str) -> None:
        f = self.f
        f.do("store i32 0, ptr %over")
        value = f.op(f"call i64 {self.api(Table.AS_I64)}(ptr {thing}, ptr %over)")
        over = f.op("load i32, ptr %over")
        f.branch(f.op(f"icmp eq i32 {over}, 0"), "fits", "large")
        f.label("fits")
        self.put("%pack", i, value)
        narrow = f.op(f"sext i32 {f.op(f'trunc i64 {value} to i32')} to i64")
        small = f.op(f"icmp eq i64 {narrow}, {value}")
        self.put("%kinds", i, f.op(f"select i1 {small}, i64 {int(Kind.I32)}, i64 {int(Kind.I64)}"))
        f.goto("argument")
        f.label("large")
        self.unless(f.op(f"icmp slt i32 {over}, 0"), "slow")
        unsigned = f.op(f"call i64 {self.api(Table.AS_U64)}(ptr {thing})")
        failed = f.op(f"call ptr {self.api(Table.FAILED)}()")
        f.branch(f.op(f"icmp eq ptr {failed}, null"), "unsigned", "huge")
        f.label("huge")
        f.do(f"call void {self.api(Table.CLEAR)}()")
        f.goto("slow")
        f.label("unsigned")
        self.put("%pack", i, unsigned)
        self.put("%kinds", i, str(int(Kind.U64)))
        f.goto("argument")

    def _find(self) -> str:
        """The first record that the call fits; none: to the slow path. `%sizes`, ... are its lists."""
        f = self.f
        mode = f.op(f"load i64, ptr {self.api(Table.MODE)}")
        records = self.field("%self", self.at.records, "ptr")
        items = self.items(records)
        with self.loop(self.field(records, self.at.size)) as k:
            f.do(f"%owner_at = getelementptr ptr, ptr {items}, i64 {k}")
            f.do("%owner = load ptr, ptr %owner_at")
            record = self.bytes(self.field("%owner", self.at.words, "ptr"))
            n = k.removeprefix("%i")
            other = f"latch{n}"
            self.unless(f.op(f"icmp ne i64 {self.word(record, int(Record.SERIAL))}, {mode}"), other)
            kinds = f.op(f"getelementptr i64, ptr {record}, i64 {int(Record.KINDS)}")
            with self.loop("%wanted") as i:
                self.unless(f.op(f"icmp ne i64 {self.word(kinds, i)}, {self.word('%kinds', i)}"), other)
            sizes = f.op(f"getelementptr i64, ptr {kinds}, i64 %wanted")
            count = self.word(record, int(Record.SIZES))
            with self.tuples(sizes, count, 3) as (argument, offset, value):
                size = self.field(self.descriptor(argument), offset)
                self.unless(f.op(f"icmp ne i64 {size}, {value}"), other)
            pairs = self.end_of(sizes, count, 3)
            count = self.word(record, int(Record.OVERLAPS))
            f.do("store i64 0, ptr %over")
            with self.tuples(pairs, count, 2) as (a, b):
                a, b = self.descriptor(a), self.descriptor(b)
                below = f.op(f"icmp ult i64 {self.field(a, 0)}, {self.field(b, self.at.end)}")
                above = f.op(f"icmp ult i64 {self.field(b, 0)}, {self.field(a, self.at.end)}")
                both = f.op(f"zext i1 {f.op(f'and i1 {below}, {above}')} to i64")
                before = f.op("load i64, ptr %over")
                f.do(f"store i64 {f.op(f'or i64 {both}, {before}')}, ptr %over")
            some = f.op("load i64, ptr %over")
            disjoint = f.op(f"xor i64 {some}, 1")
            asked = self.word(record, int(Record.DISJOINT))
            fits = f.op(f"or i1 {f.op(f'icmp eq i64 {asked}, 2')}, {f.op(f'icmp eq i64 {asked}, {disjoint}')}")
            f.do(f"%written = getelementptr i64, ptr {pairs}, i64 {f.op(f'mul i64 {count}, 2')}")
            f.branch(fits, "found", other)
            f.label(f"never{n}")  # the loop's own end of its block
        f.goto("slow")
        f.label("found")
        return record

    def _check(self, record: str) -> None:
        """Read-only arrays and misaligned targets of atomics go to the slow path, which has the words. Completes the pack."""
        f = self.f
        count = self.word(record, int(Record.WRITTEN))
        with self.tuples("%written", count, 2) as (argument, bits):
            desc = self.descriptor(argument)
            self.unless(f.op(f"icmp ne i32 {self.field(desc, self.at.read_only, 'i32')}, 0"), "slow")
            self.unless(f.op(f"icmp ne i64 {f.op(f'and i64 {self.field(desc, 0)}, {bits}')}, 0"), "slow")
        copies = self.end_of("%written", count, 2)
        with self.tuples(copies, self.word(record, int(Record.COPIES)), 3) as (to, argument, offset):
            self.put("%pack", to, self.field(self.descriptor(argument), offset))

    def _launch(self, record: str) -> None:
        f = self.f
        n = f.op(f"call i64 {self.word(record, int(Record.ENTER), 'ptr')}(ptr %pack)")
        body = self.word(record, int(Record.BODY), "ptr")
        self.unless(f.op(f"icmp slt i64 {n}, 0"), "slow")
        self.unless(f.op(f"icmp eq i64 {n}, 0"), "done")
        f.branch(f.op(f"icmp sle i64 {n}, {self.word(record, int(Record.KEEPS))}"), "short", "long")
        f.label("short")
        f.do(f"call void {body}(i64 0, i64 {n}, ptr %pack)")
        f.goto("done")
        f.label("long")
        limits = self.word(record, int(Record.LIMITS), "ptr")
        self.unless(f.op(f"icmp sgt i64 {n}, {self.word(limits, 0)}"), "slow")
        left = self.word(limits, 1)
        self.unless(f.op(f"icmp sle i64 {left}, 0"), "slow")
        self.put(limits, "1", f.op(f"sub i64 {left}, 1"))
        f.do(f"call void {self.api(Table.INCREF)}(ptr %owner)")
        result = self.word(record, int(Record.RESULT))
        f.do(f"%thread = call ptr {self.api(Table.SAVE)}()")
        f.do(f"call void {body}(i64 0, i64 {n}, ptr %pack)")
        f.do(f"call void {self.api(Table.RESTORE)}(ptr %thread)")
        f.branch(f.op(f"icmp eq i64 {result}, 0"), "forget", "keep")
        f.label("keep")
        value = self._result(record, "kept")
        f.do(f"call void {self.api(Table.DECREF)}(ptr %owner)")
        f.do(f"ret ptr {value}")
        f.label("forget")
        f.do(f"call void {self.api(Table.DECREF)}(ptr %owner)")
        f.goto("nothing")
        f.label("done")
        f.branch(f.op(f"icmp eq i64 {self.word(record, int(Record.RESULT))}, 0"), "nothing", "something")
        f.label("something")
        f.do(f"ret ptr {self._result(record, 'made')}")
        f.label("nothing")
        none = self.api(Table.NONE)
        f.do(f"call void {self.api(Table.INCREF)}(ptr {none})")
        f.do(f"ret ptr {none}")

    def _result(self, record: str, name: str) -> str:
        """The kernel's result as a Python object, made by one of four functions."""
        f = self.f
        f.do(f"call void {self.word(record, int(Record.FINISH), 'ptr')}(ptr %pack)")
        bits = self.word("%pack", self.word(record, int(Record.RESULT_AT)))
        cases: list[tuple[str, Callable[[], str]]] = []
        for result, entry, type in (
            (Result.FLOAT, Table.FROM_DOUBLE, "double"), (Result.SIGNED, Table.FROM_I64, "i64"),
            (Result.UNSIGNED, Table.FROM_U64, "i64"), (Result.BOOL, Table.FROM_BOOL, "i64"),
        ):  # fmt: skip
            label = f"{name}{int(result)}"
            value = bits if type == "i64" else f"%{label}_value"
            cases.append((label, lambda entry=entry, type=type, value=value: f"call ptr {self.api(entry)}({type} {value})"))
        kind = self.word(record, int(Record.RESULT))
        listed = " ".join(f"i64 {k}, label %{label}" for k, (label, _) in enumerate(cases, 1))
        f.do(f"switch i64 {kind}, label %{name}1 [ {listed} ]")
        found: list[str] = []
        for label, make in cases:
            f.label(label)
            if label.endswith("1"):
                f.do(f"%{label}_value = bitcast i64 {bits} to double")
            found.append(f"[ {f.op(make())}, %{label} ]")
            f.goto(f"{name}_end")
        f.label(f"{name}_end")
        return f.op(f"phi ptr {', '.join(found)}")

    def _objects(self) -> None:
        """A call with an object: Python expands it, if the classes that it has learned are the ones that are passed."""
        f = self.f
        f.label("object")
        pair = self.field("%self", self.at.objects, "ptr")
        self.unless(f.op(f"icmp eq ptr {pair}, {self.api(Table.NONE)}"), "slow")
        expand = self.field(pair, self.at.items, "ptr")
        guards = self.bytes(self.field(pair, self.at.items + 8, "ptr"))
        first = f.op(f"getelementptr i64, ptr {guards}, i64 1")
        with self.tuples(first, self.word(guards, 0), 3) as (argument, cls, state):
            found = self.field(self.word("%args", argument, "ptr"), self.at.type)
            self.unless(f.op(f"icmp ne i64 {found}, {cls}"), "slow")
            if self.at.state is not None:
                place = f.op(f"inttoptr i64 {found} to ptr")
                number = f.op(f"zext i32 {self.field(place, self.at.state, 'i32')} to i64")
                self.unless(f.op(f"icmp ne i64 {number}, {state}"), "slow")
        result = f.op(f"call ptr {self.api(Table.CALL)}(ptr {expand}, ptr %args, i64 %nargs, ptr null)")
        f.branch(f.op(f"icmp eq ptr {result}, {self.api(Table.MISS)}"), "missed", "served")
        f.label("served")
        f.do(f"ret ptr {result}")
        f.label("missed")
        f.do(f"call void {self.api(Table.DECREF)}(ptr {result})")
        f.goto("slow")


def emit_entry(offsets: Offsets) -> str:
    """The module: the entry, and two functions in a kernel's place for the test of it.

    `tack_test_enter` gives the second word of the pack as the count and writes it to the third; `tack_test_body` writes the sum
    of `hi` and the third word where the first one points.
    """
    enter, body = SELF_TEST
    return f"""\
{_Entry(offsets).text()}
define i64 @{enter}(ptr %pack) nounwind {{
  %at = getelementptr i64, ptr %pack, i64 1
  %n = load i64, ptr %at
  %to = getelementptr i64, ptr %pack, i64 2
  store i64 %n, ptr %to
  ret i64 %n
}}
define void @{body}(i64 %lo, i64 %hi, ptr %pack) nounwind {{
  %out = load ptr, ptr %pack
  %at = getelementptr i64, ptr %pack, i64 2
  %n = load i64, ptr %at
  %sum = add i64 %n, %hi
  store i64 %sum, ptr %out
  ret void
}}
"""
