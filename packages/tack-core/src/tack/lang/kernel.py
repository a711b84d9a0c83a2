"""`@tack.kernel`: the object users call, and its templates (the lowered IR), built once at the first call.

Knows lowering; launches through `hooks.slots.launch` and knows nothing of devices or variants.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, overload

from tack import settings
from tack.errors import fail, too_deep
from tack.forks import hold_over_fork
from tack.hooks import slots
from tack.lang.class_token import _class_token, _class_tokens, _ClassToken, _retire_class
from tack.lang.func import check_signature
from tack.lang.source_text import SourceText

if TYPE_CHECKING:
    from tack.ir.nodes import IRFunc
    from tack.lang.bindings import CallBindings
    from tack.lang.call_shape import CallShape
    from tack.lang.variant_info import VariantInfo

__all__ = ["MISS", "Kernel", "_ClassToken", "_class_token", "_class_tokens", "_retire_class", "end_at_the_call", "kernel"]

MISS: Any = object()  # what a quick call gives that does not fit, so that the call takes a slower path

_transform_lock = hold_over_fork(0, threading.RLock())  # a template is lowered once, even when several threads miss together


class Kernel(functools.partial[Any]):
    """A compiled-on-demand kernel. Calling it binds the arguments as Python does and runs it where its arrays are.

    `__wrapped__` is the Python function; `lowerings` counts how often it was lowered; `signatures`, `quick_call`, `native` and
    `warned_of_races` are the runtime's.

    It is a partial object without bound arguments, since these are what Python calls fastest of all objects with attributes.
    `slow_call` is the function that it calls, until `call_through` names a faster one.
    """

    __slots__ = (
        "_ir", "_ir_cache", "_meanings", "_namespace", "_text", "lowerings", "native", "param_names", "quick_call", "signatures",
        "slow_call", "warned_of_races",
    )  # fmt: skip

    slow_call: Callable[..., Any]

    def __new__(cls, fn: FunctionType, namespace: Mapping[str, Any] | None = None) -> Kernel:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return slots.launch(this(), args, kwargs)
            except Exception as error:  # whatever it is, it is raised again
                end_at_the_call(error)
                raise

        self = super().__new__(cls, call)
        this = weakref.ref(self)  # a kernel that nobody uses goes without a garbage collection
        self.slow_call = call
        return self

    def __init__(self, fn: FunctionType, namespace: Mapping[str, Any] | None = None) -> None:
        self.__wrapped__ = fn
        self.__name__: str = fn.__name__
        self.__qualname__: str = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        code = fn.__code__
        self.param_names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
        self.lowerings = 0
        self.warned_of_races = False
        self.signatures: dict[int, dict[Any, Any]] = {}
        self.quick_call: Callable[[int, Any], Any] = _no_call_yet
        self.native: Any = None
        self._namespace = None if namespace is None else dict(namespace)
        self._text = SourceText.of(fn)
        self._ir: IRFunc | None = None
        self._ir_cache: dict[tuple[Any, ...], IRFunc] = {}
        self._meanings: weakref.WeakKeyDictionary[FunctionType, dict[str, Any]] = weakref.WeakKeyDictionary()  # of names (N6)

    def call_through(self, function: Callable[..., Any]) -> None:
        """From now on a call of the kernel is a call of `function`, which must outlive it."""
        state: tuple[Any, ...] = (function, (), {}, self.__dict__)
        self.__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

    def __reduce__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Copied as functions are, which is not at all; pickled by name."""
        return self.__qualname__

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__wrapped__)

    def __repr__(self) -> str:
        return f"<tack.kernel {self.__module__}.{self.__qualname__}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A kernel in a class is a method, as a function is: `obj.kernel(x)` is `kernel(obj, x)`."""
        return self if instance is None else MethodType(self, instance)

    def specialize(self, /, *args: Any, **kwargs: Any) -> None:
        """Compiles what `kernel(*args, **kwargs)` would run, on the device where it would run, and runs nothing.

        Raises what the call would raise before its launch. The arrays are neither read nor stored to.
        """
        try:
            slots.specialize(self, args, kwargs)
        except Exception as error:  # whatever it is, it is raised again
            end_at_the_call(error)
            raise

    def variants(self) -> list[VariantInfo]:
        """What is compiled of this kernel: a row for each variant on each device, with the seconds that it took."""
        return slots.variants(self)

    def template(self, call: CallShape | None = None) -> IRFunc:
        """The lowered IR for calls of this shape (none: of numbers and scalar arrays): from memory, else from the disk or built,
        under the lock.

        Raises what the source deserves.
        """
        key = None
        if call is not None:
            key = self._make_cache_key(call.vector_arrays, call.templates, call.texture_arrays, call.debug)
        found = self._ir if key is None else self._ir_cache.get(key)
        if found is not None:
            return found
        with _transform_lock:
            found = self._ir if key is None else self._ir_cache.get(key)
            if found is None:
                found = slots.template_store(self, call)
                if key is None:
                    self._ir = found
                else:
                    for template in call.templates.values() if call is not None else ():
                        for token in template.tokens:
                            token.kernels.add(self)
                    self._ir_cache[key] = found
            return found

    def _lower(self, call: CallShape | None, bindings: CallBindings | None = None) -> IRFunc:
        """Lowers the kernel; its names are looked up through `bindings`."""
        from tack.ir.pipeline import lower_checks  # the compiler loads with the first kernel called, not with `import tack`
        from tack.lang.ast_transform import lower_kernel
        from tack.lang.bindings import CallBindings
        from tack.lang.ir_bounds import checked_template
        from tack.lang.source import parse
        from tack.lang.type_inference import check_kinds

        if call is not None and call.debug:
            return checked_template(self.template(replace(call, debug=False)))
        if call is not None:
            check_kinds(self.__name__, call.names, call.args)
        fn = self.__wrapped__
        self.lowerings += 1
        parsed = parse(fn, self._text, self.__name__, "kernel")
        bindings = bindings or CallBindings(fn, self._namespace, self._meanings)
        try:
            return lower_checks(lower_kernel(fn, parsed, bindings, call))
        except RecursionError:
            raise too_deep(self.__name__, parsed.name_span()) from None

    def _make_cache_key(
        self, vector_arrays: Mapping[int, Any], template_args: Mapping[int, Any], texture_arrays: Mapping[int, Any], debug: bool
    ) -> tuple[Any, ...] | None:
        """The key of a template in `_ir_cache`; None for the plain kernel, whose template is `_ir`.

        `vector_arrays` maps argument positions to component counts, `texture_arrays` to extents, `template_args` to objects of
        device classes, described.
        """
        parts: list[tuple[Any, ...]] = [("debug",)] if debug else []
        if vector_arrays:
            parts.append(("vec", *sorted(vector_arrays.items())))
        if texture_arrays:
            parts.append(("tex", *sorted(texture_arrays.items())))
        parts.extend((f"tmpl_{index}", *template_args[index].key) for index in sorted(template_args))
        return tuple(parts) or None

    def forget_calls(self, serial: int) -> None:
        """Drops what the fast path of the cache numbered `serial` knows of this kernel."""
        self.signatures.pop(serial, None)
        self.quick_call = _no_call_yet
        if self.native is not None:
            self.native.forget(serial)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters; `TypeError` names the kernel and what is wrong."""
        names = self.param_names
        if len(args) > len(names):
            raise self._wrong(f"takes {_count(len(names), 'argument')} but {len(args)} were given")
        bound = dict(zip(names, args, strict=False))
        only_by_place = names[: self.__wrapped__.__code__.co_posonlyargcount]
        for name, value in kwargs.items():
            if name not in names or name in only_by_place:
                from tack.lang.remedies import did_you_mean  # which words alone need

                raise self._wrong(f"has no parameter named '{name}'", did_you_mean(name, names))
            if name in bound:
                raise self._wrong(f"got two values for parameter '{name}'")
            bound[name] = value
        missing = [f"'{name}'" for name in names if name not in bound]
        if missing:
            raise self._wrong(f"misses {_count(len(missing), 'argument')}: {', '.join(missing)}")
        return tuple(bound[name] for name in names)

    def _wrong(self, what: str, hint: str = "") -> Exception:
        remedy = " ".join(filter(None, (hint, f"Call {self._shape()}.")))
        return fail(TypeError, f"{self.__name__}() {what}", kernel=self.__name__, remedy=remedy)

    def _shape(self) -> str:
        """How the kernel is called; one that is a method, on an object."""
        names = self.param_names
        if names[:1] == ("self",) and self.__qualname__ != self.__name__:
            return f"obj.{self.__name__}({', '.join(names[1:])})"
        return f"{self.__name__}({', '.join(names)})"

    def __getitem__(self, key: object) -> Any:
        """Only to refuse it: other systems launch kernels as `k[blocks, threads](x)`."""
        message = f"{self.__name__}[...]: a kernel has no launch configuration, since its loop says how many iterations run"
        try:
            raise fail(TypeError, message, kernel=self.__name__, remedy=f"Call {self._shape()}.")
        except TypeError as error:
            end_at_the_call(error)
            raise

    __iter__ = None


def end_at_the_call(error: Exception) -> None:
    """Before a bare `raise` in the function that the user called: a mistake of the user's is shown there, not inside Tack."""
    if hasattr(error, "diagnostic") and not settings.FULL_TRACEBACK.read():
        error.__traceback__ = None


def _no_call_yet(_serial: int, _args: Any) -> Any:
    return MISS


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


@overload
def kernel(fn: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(*, namespace: Mapping[str, Any] | None = None) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(fn: Any = None, /, *, namespace: Mapping[str, Any] | None = None) -> Any:
    """Makes a kernel of a plain function with one parallel loop: ``@tack.kernel`` or ``@tack.kernel(namespace={...})``.

    `namespace`: names that come before the function's closure and globals when the kernel is lowered. Nothing is compiled
    until the first call. `TypeError` for anything but a function written with `def`.
    """
    if fn is not None:
        return Kernel(check_signature(fn, "kernel"))
    if namespace is not None and not (hasattr(namespace, "keys") and all(str(name).isidentifier() for name in namespace)):
        raise fail(TypeError, "tack.kernel: namespace maps names to objects", remedy='Write namespace={"name": function}.')

    def decorate(inner: Callable[..., Any]) -> Kernel:
        return Kernel(check_signature(inner, "kernel"), namespace)

    return decorate
