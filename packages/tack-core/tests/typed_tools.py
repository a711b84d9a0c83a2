"""What the tests of the passes share: kernels from a few lines of text, typed for given parameter types, and a search in them."""

import textwrap

from tack.ir.annotate import annotate_types
from tack.ir.nodes import IROp, IRParam
from tack.ir.pipeline import CallFacts, compile_ir
from tack.ir.resolve import resolve_ir
from tack.ir.types import DTYPES, f32
from tack.ir.walk import walk_func
from tack.testing import kernel_from

TYPES = {t.name: t for t in DTYPES}


def template(body, params, loop="range(n)", before="", **names):
    """The lowered template of a kernel with this loop body; `params` is a list of names."""
    head = f"@tack.kernel\ndef k({', '.join(params)}):\n"
    text = head + textwrap.indent(textwrap.dedent(before), "    ") + f"    for i in {loop}:\n"
    return kernel_from(text + textwrap.indent(textwrap.dedent(body), "        ") + "\n", **names).template()


def facts(types, ranks=None, default=f32, fma=True):
    """Call facts from `{"a": "f32[]", "n": "i32"}`: arrays have 8 elements in each dimension."""
    params, shapes = [], {}
    for name, t in types.items():
        array = t.endswith("]")
        params.append(IRParam(name, array, TYPES[t.partition("[")[0]]))
        if array:
            shapes[name] = (8,) * (t.count(",") + 1)
    return CallFacts(tuple(params), shapes, default, fma=fma)


def annotated(body, types, default=f32, **more):
    """The typed function before `fuse`; every kernel has a parameter `n: i32`, the end of its loop."""
    types = {**types, "n": "i32"}
    call = facts(types, default=default)
    return annotate_types(resolve_ir(template(body, list(types), **more), call.params, call.shapes), call.params, default)


def compiled(body, types, default=f32, fma=True, **more):
    """The typed function after all passes."""
    types = {**types, "n": "i32"}
    return compile_ir(template(body, list(types), **more), facts(types, default=default, fma=fma))


def local(func, name):
    """The name of the type of a user's local."""
    (found,) = [each for each in func.locals if each.source_name == name]
    return found.type.name


def typed(text, types, default=f32, **more):
    """The type of an expression, by the local it is assigned to; locals alone give literals their own types."""
    return local(annotated(f"r = {text}\nout[i] = r", {**types, "out": "f64[]"}, default, **more), "r")


def nodes(func, kind):
    """The nodes of a class in a function."""
    return [node for node in walk_func(func) if isinstance(node, kind)]


def operations(func, *names):
    """The operations with these names in a function."""
    return [node for node in nodes(func, IROp) if node.op in names]
