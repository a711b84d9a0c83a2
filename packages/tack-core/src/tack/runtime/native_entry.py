"""The native entry at run time: built at the first warm hit of the process, probed and tested, then the target of kernels.

A kernel's plan and records are Python objects that the entry reads; whoever replaces one drops a reference, so nothing is freed
under a thread that uses it. Where anything is not as expected calls stay with the generated Python functions (`warm_call`).
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tack import settings
from tack.codegen import llvm_entry
from tack.codegen.llvm_entry import Kind, Offsets, Record, Result, Table
from tack.forks import hold_over_fork
from tack.ir.types import BOOL, i32, i64, u64
from tack.lang import array as arrays
from tack.lang.array import Array, signature_number
from tack.lang.kernel import MISS
from tack.runtime import cache_store, class_versions, native_mode
from tack.runtime.backend import Backend
from tack.runtime.buffers import HOST
from tack.runtime.cpu_entry import NativeCode
from tack.runtime.warm_call import WarmCall, object_call

if TYPE_CHECKING:
    from tack.runtime.cpu_jit import Code

__all__ = ["NativeKernel", "add", "check_setting", "describe_arrays", "entry"]

MAX_RECORDS = 32  # of a plan: each costs the calls that pass it a few nanoseconds
MAX_OBJECTS = 16  # combinations of layouts that a kernel remembers

_lock = hold_over_fork(1, threading.RLock())
_entry: _Entry | None = None
_tried = False

_WORD = 8
_FASTCALL_KEYWORDS = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS


class _Plan:
    """What one builtin was made with; the entry reads its slots. See `llvm_entry.Offsets`."""

    __slots__ = ("head", "objects", "records", "slow")

    def __init__(self, table: Any, nargs: int, slow: Callable[..., Any]) -> None:
        self.head = struct.pack("=qq", ctypes.addressof(table), nargs)
        self.slow = slow
        self.records: tuple[_Record, ...] = ()
        self.objects: tuple[Callable[..., Any], bytes] | None = None

    def add(self, record: _Record) -> None:
        """Puts a record before the others. One that another thread adds at the same moment may be lost: its calls stay with
        Python until they are resolved again."""
        self.records = (record, *self.records)[:MAX_RECORDS]


class _Record:
    """One variant as the entry launches it: `words` for it, what they point to as `keep`, and the call that it is for."""

    __slots__ = ("keep", "serial", "warm", "words")

    def __init__(self, words: bytes, keep: Any, serial: int, warm: Any) -> None:
        self.words = words
        self.keep = keep
        self.serial = serial
        self.warm = warm


class _Unfit(Exception):
    """Something about this interpreter is not as the entry expects."""


# ------------------------------------------------------------------------------------------------------------ the entry


def check_setting() -> None:
    """`ValueError` for a bad `TACK_NATIVE_DISPATCH`."""
    settings.NATIVE_DISPATCH.read()


def entry() -> _Entry | None:
    """The process's entry, built by the first call; None where there is none."""
    global _entry, _tried
    if not _tried:
        with _lock:
            if not _tried:
                _tried = True  # also for a call from inside the test
                try:
                    _entry = _Entry() if settings.NATIVE_DISPATCH.read() else None
                except Exception:  # whatever it is, calls work without the entry
                    _entry = None
    return _entry


class _Entry:
    """Loaded code and the table that it reads. `bind` makes a builtin of it."""

    def __init__(self) -> None:
        _check_interpreter()
        self.code = _load(llvm_entry.emit_entry(_offsets()))
        self.address = self.code.address(llvm_entry.ENTRY)
        self.table = _table(ctypes.addressof(native_mode.word))
        self._methods: dict[str, Any] = {}
        # A function object of our own: those of ctypes.pythonapi are shared with everybody who sets their types.
        prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
        self._new = prototype(("PyCMethod_New", ctypes.pythonapi))
        _test(self)

    def bind(self, plan: _Plan, name: str) -> Callable[..., Any]:
        """A builtin called `name` that serves the plan. It holds the plan."""
        method = self._methods.get(name)
        if method is None:
            text = ctypes.create_string_buffer(name.encode())
            words = (ctypes.c_int64 * 4)(ctypes.addressof(text), self.address, _FASTCALL_KEYWORDS, 0)
            method = self._methods.setdefault(name, (words, text))  # never freed: builtins point to it until their last moment
        return self._new(ctypes.addressof(method[0]), plan, None, None)


def _load(text: str) -> Code:
    """The module as loaded code, from the disk if it is there."""
    import hashlib

    from tack.runtime.cpu_jit import emit_object, load_object, target_key

    names = (llvm_entry.ENTRY, *llvm_entry.SELF_TEST)
    key = hashlib.sha256(repr((llvm_entry.ENTRY, text, target_key())).encode()).digest()
    store = cache_store.store()
    found = None if store is None else store.use("variant", key, lambda image: load_object(image, names))
    if found is not None:
        return found
    image = emit_object(text, opt=1, passes=False)
    if store is not None:
        store.put("variant", key, image)
    return load_object(image, names)


def _check_interpreter() -> None:
    """Refuses what is not CPython with a lock of its own, in its main interpreter, on a 64-bit little-endian machine."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not locked or sys.byteorder != "little":
        raise _Unfit
    if ctypes.sizeof(ctypes.c_void_p) != _WORD or object.__basicsize__ != 2 * _WORD:  # free-threaded builds have a larger head
        raise _Unfit
    state = ctypes.PYFUNCTYPE(ctypes.c_void_p)
    if state(("PyInterpreterState_Get", ctypes.pythonapi))() != state(("PyInterpreterState_Main", ctypes.pythonapi))():
        raise _Unfit


def _table(mode: int) -> Any:
    """The words of the table, whose calls are served by records of the cache with the number at address `mode`."""

    def api(name: str) -> int:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0

    words = {
        Table.MODE: mode, Table.FLOAT: id(float), Table.INT: id(int), Table.ARRAY: id(Array), Table.NONE: id(None),
        Table.BYTES: id(bytes), Table.MISS: id(MISS),
        Table.CALL: api("PyObject_Vectorcall"), Table.AS_I64: api("PyLong_AsLongLongAndOverflow"),
        Table.AS_U64: api("PyLong_AsUnsignedLongLong"), Table.FAILED: api("PyErr_Occurred"), Table.CLEAR: api("PyErr_Clear"),
        Table.SAVE: api("PyEval_SaveThread"), Table.RESTORE: api("PyEval_RestoreThread"), Table.INCREF: api("Py_IncRef"),
        Table.DECREF: api("Py_DecRef"), Table.FROM_DOUBLE: api("PyFloat_FromDouble"), Table.FROM_I64: api("PyLong_FromLongLong"),
        Table.FROM_U64: api("PyLong_FromUnsignedLongLong"), Table.FROM_BOOL: api("PyBool_FromLong"),
    }  # fmt: skip
    return (ctypes.c_int64 * len(words))(*(words[each] for each in Table))


def _word_at(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _slot(cls: type[Any], name: str) -> int:
    """Where objects of a class have a slot, found by experiment."""
    thing: Any = object.__new__(cls)
    mark = object()
    setattr(thing, name, mark)
    size: Any = cls.__basicsize__
    found = [at for at in range(0, size, _WORD) if _word_at(id(thing) + at) == id(mark)]
    if len(found) != 1:
        raise _Unfit
    return found[0]


def _offsets() -> Offsets:
    """Where things lie in this interpreter; what is not probed here is compared with an example."""
    head: Any = object.__basicsize__
    payload: Any = bytes.__basicsize__ - 1
    items: Any = tuple.__basicsize__
    number, text, pair, plan = 1234.5678, bytes(range(1, 32)), (object(), object()), _Plan.__new__(_Plan)
    if (
        _word_at(id(plan) + head - _WORD) != id(_Plan)
        or ctypes.c_double.from_address(id(number) + head).value != number
        or ctypes.string_at(id(text) + payload, len(text)) != text
        or [_word_at(id(pair) + items + at) for at in (-_WORD, 0, _WORD)] != [2, id(pair[0]), id(pair[1])]
    ):
        raise _Unfit
    return Offsets(
        type=head - _WORD,
        value=head,
        payload=payload,
        size=items - _WORD,
        items=items,
        state=class_versions.OFFSET,
        descriptor=_slot(Array, "_desc"),
        end=arrays.DESC_END,
        kind=arrays.DESC_KIND,
        read_only=arrays.DESC_READ_ONLY,
        head=_slot(_Plan, "head"),
        slow=_slot(_Plan, "slow"),
        records=_slot(_Plan, "records"),
        objects=_slot(_Plan, "objects"),
        words=_slot(_Record, "words"),
    )


def _test(made: _Entry) -> None:
    """Calls the entry as kernels will be called, with what fits and what does not."""
    out, more = (Array(HOST.zeros(np.dtype(np.int64), (n,)), i64, (n,), SimpleNamespace(memory=HOST)) for n in (3, 4))
    describe_arrays((out, more))
    mode = ctypes.c_int64(5)
    table, limits = _table(ctypes.addressof(mode)), (ctypes.c_int64 * 2)(100, 1000)
    enter, body = (made.code.address(name) for name in llvm_entry.SELF_TEST)
    slow: list[Any] = []
    plan = _Plan(table, 2, lambda *args, **kwargs: slow.append((args, kwargs)) or len(slow))
    served = made.bind(plan, "test")
    kind = signature_number(out._sig)

    def record(keeps: int, *lists: int, serial: int = 5, sizes: int = 0, result: int = 0) -> _Record:
        words = (serial, enter, body, enter, result, 1, ctypes.addressof(limits), keeps, 2, sizes, 0, 1, 0, kind, Kind.I32)
        return _Record(struct.pack(f"={len(words) + len(lists) + 2}q", *words, *lists, 0, 7), limits, 5, None)

    size = (0, arrays.DESC_SHAPE, 4)
    for keeps in (100, 0):
        plan.records = (record(keeps, serial=6), record(keeps, *size, sizes=1), record(keeps))
        references = sys.getrefcount(plan.records[2])
        for count in (2, 3):
            if served(out, count) is not None or out[0] != 2 * count or slow or sys.getrefcount(plan.records[2]) != references:
                raise _Unfit
        served(more, 5)
        if more[0] != 10 or served(out, 0) is not None or slow:
            raise _Unfit
    plan.records = (record(0, result=Result.SIGNED),)
    if served(out, 50) != 50 or slow or limits[1] != 1000 - 4:
        raise _Unfit
    refused = [
        ((out, 2.0), {}), ((2, out), {}), ((out,), {}), ((out, 1, 1), {}), ((out,), {"n": 1}), ((out, True), {}),
        ((out, 2**31), {}), ((out, 2**64), {}), ((out, -(2**70)), {}), ((out, None), {}), ((out, 101), {}), ((out, -1), {}),
    ]  # fmt: skip
    if [served(*args, **kwargs) for args, kwargs in refused] != list(range(1, len(refused) + 1)) or slow != refused:
        raise _Unfit
    mode.value = 4
    if served(out, 2) != len(slow) or slow[-1] != ((out, 2), {}):
        raise _Unfit


# ------------------------------------------------------------------------------------------------------ kernels and calls


class NativeKernel:
    """What the entry knows of one kernel: its plan, and one more for each combination of layouts of objects, whose calls Python
    expands first."""

    __slots__ = ("expanded", "plan")

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan
        self.expanded: dict[Any, tuple[_Plan, Callable[..., Any]]] = {}

    def serves(self, serial: int, warm: WarmCall) -> bool:
        """Whether there is a record for such calls; those with objects are the ones that Python expands from now on."""
        plan = self.plan
        if warm.reads_objects:
            found = self.expanded.get(warm.layouts)
            if found is None:
                return False
            plan = found[0]
            self._expand(warm, found[1])
        return any(record.serial == serial and record.warm == warm for record in plan.records)

    def expanded_plan(self, made: _Entry, warm: WarmCall, name: str) -> _Plan:
        """The plan of calls with objects of such layouts, expanded."""
        known = self.expanded
        found = known.get(warm.layouts)
        if found is None:
            plan = _Plan(made.table, len(warm.kinds), _miss)
            if len(known) >= MAX_OBJECTS:
                known.clear()
            found = known[warm.layouts] = plan, object_call(warm, made.bind(plan, name))
        self._expand(warm, found[1])
        return found[0]

    def _expand(self, warm: WarmCall, expand: Callable[..., Any]) -> None:
        guards: list[int] = []
        for place, layout in enumerate(warm.layouts):
            if layout is not None:
                cls = layout.node.cls()
                guards += (place, 0 if cls is None else id(cls), layout.node.version)
        self.plan.objects = expand, struct.pack(f"={len(guards) + 1}q", len(guards) // 3, *guards)

    def forget(self, serial: int) -> None:
        """Drops the records of the cache numbered `serial`. Threads that are inside one of them hold it until they leave."""
        plan = self.plan
        plan.objects = None
        self.expanded = {}
        plan.records = tuple(record for record in plan.records if record.serial != serial)


def add(kernel: Any, serial: int, warm: WarmCall, variant: Any, backend: Backend, args: Sequence[Any]) -> None:
    """From now on calls like `warm` launch `variant` natively, if they can. `args` are such a call's, with objects expanded."""
    made = entry() if warm.kinds and backend.has_native_calls else None
    if made is None:
        return
    native = kernel.native
    if native is not None and native.serves(serial, warm):
        return
    code = backend.native(variant)
    words = None if code is None else _words(warm, serial, code)
    if words is None:
        return
    describe_arrays(args)
    native = native or _install(made, kernel)
    plan = native.expanded_plan(made, warm, kernel.__name__) if warm.reads_objects else native.plan
    plan.add(_Record(words, code, serial, warm))


def _install(made: _Entry, kernel: Any) -> NativeKernel:
    """Makes the entry the kernel's target, once: another thread may be inside the target that a kernel has."""
    with _lock:
        if kernel.native is None:
            plan = _Plan(made.table, len(kernel.param_names), kernel.slow_call)
            builtin = made.bind(plan, kernel.__name__)
            kernel.native = NativeKernel(plan)
            kernel.call_through(builtin)
        return kernel.native


def _miss(*args: Any) -> Any:
    """Takes an expanded call that is not served: Python sends the call as it was given along the slow path."""
    describe_arrays(args)
    return MISS


def describe_arrays(args: Sequence[Any]) -> None:
    """Makes the descriptors of arrays that native code has not read yet."""
    for arg in args:
        if type(arg) is Array and not hasattr(arg, "_desc"):
            arg._describe()


_NUMBERS = {float: Kind.FLOAT, i32: Kind.I32, i64: Kind.I64, u64: Kind.U64}


def _words(warm: WarmCall, serial: int, code: NativeCode) -> bytes | None:
    """The record of a variant; None for a call that the entry does not serve."""
    layout = code.layout
    textures = any(isinstance(kind, tuple) and kind[0] == "texture" for kind in warm.kinds)
    if textures or len(warm.kinds) > llvm_entry.MAX_ARGS or layout.size > llvm_entry.MAX_PACK:
        return None
    ranks = [kind[1] if isinstance(kind, tuple) else 0 for kind in warm.kinds]
    kinds = [signature_number(kind) if isinstance(kind, tuple) else _NUMBERS[kind] for kind in warm.kinds]
    sizes = [(slot, _size_at(dim, ranks[slot]), value) for slot, dim, value in warm.sizes]
    sizes += [(slot, _size_at(dim, len(shape)), value) for slot, shape in warm.shapes for dim, value in enumerate(shape)]
    written = [(slot, dict(warm.aligned).get(slot, 0)) for slot in {*warm.written, *(slot for slot, _ in warm.aligned)}]
    places = {param.name: slot for slot, param in enumerate(layout.params)}
    copies = [
        (to, places[name], _size_at(dim, ranks[places[name]])) for to, (name, dim) in enumerate(layout.dims, len(layout.params))
    ]
    result = layout.result
    head = {
        Record.SERIAL: serial,
        Record.ENTER: code.enter,
        Record.BODY: code.body,
        Record.FINISH: code.finish,
        Record.RESULT: _result(result),
        Record.RESULT_AT: layout.result_slot if result is not None else 0,
        Record.LIMITS: code.limits.buffer_info()[0],
        Record.KEEPS: code.keeps,
        Record.DISJOINT: int(warm.disjoint) if warm.overlaps else 2,
        Record.SIZES: len(sizes),
        Record.OVERLAPS: len(warm.overlaps),
        Record.WRITTEN: len(written),
        Record.COPIES: len(copies),
    }
    words = [head[Record(k)] for k in range(Record.KINDS)] + kinds
    words += [word for each in (sizes, warm.overlaps, written, copies) for entry in each for word in entry]
    return struct.pack(f"={len(words)}q", *words)


def _size_at(dim: Any, rank: int) -> int:
    """Where a descriptor has a size."""
    if isinstance(dim, int):
        return arrays.DESC_SHAPE + _WORD * (dim % rank)
    return arrays.DESC_NDIM if dim == "ndim" else arrays.DESC_SIZE


def _result(type: Any) -> Result:
    if type is None:
        return Result.NOTHING
    if type.is_float:
        return Result.FLOAT
    return Result.BOOL if type is BOOL else Result.UNSIGNED if type is u64 else Result.SIGNED
