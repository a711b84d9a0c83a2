"""Objects of device classes as arguments (F2): what kernels see of them, methods and loops over them, what is refused."""

import dataclasses
import threading

import numpy as np
import pytest
from emitted import EmittedTarget
from nvrtc_tools import compile_all
from rule_tools import CPU, INTERPRETER, refuses

import tack


def array(values, dtype=np.float32):
    return tack.array(np.array(values, dtype))


def both(kernel, *args, size=4, dtype=np.float32):
    """What the kernel leaves in `out`, its last argument; the interpreter must leave the same bits."""
    mine, theirs = np.zeros(size, dtype), np.zeros(size, dtype)
    CPU.run(kernel, [*args, mine])
    INTERPRETER.run(kernel, [*args, theirs])
    np.testing.assert_array_equal(mine, theirs)
    return mine.tolist()


@tack.func
def square(v):
    return v * v


@tack.func
def negate(v):
    return -v


@tack.device_class
class Line:
    factor = 2.0

    def __init__(self, offset=1.0):
        self.offset = offset

    @tack.func
    def at(self, v):
        return v * self.factor + self.offset


@tack.kernel
def evaluate(line, x, out):
    for i in range(x.shape[0]):
        out[i] = line.at(x[i])


@tack.kernel
def reads(thing, out):
    for i in range(out.shape[0]):
        out[i] = thing.value


# -------------------------------------------------------------------------------------------------- attributes


@pytest.mark.rule("F2")
def test_class_numbers_are_constants_and_instance_numbers_run_time_scalars():
    x = array([0, 1, 2, 3])
    assert both(evaluate, Line(1.0), x) == [1, 3, 5, 7]
    assert both(evaluate, Line(-4.0), x) == [-4, -2, 0, 2]
    text = tack.inspect(evaluate, Line(1.0), x, x, mode="ir")
    assert "2.0:f32" in text and "line.offset: f32" in text and "factor" not in text


@pytest.mark.rule("F2")
def test_an_attribute_of_the_instance_named_like_a_class_number_stays_a_constant():
    line = Line(0.0)
    line.factor = 7.0
    assert both(evaluate, line, array([1, 2])[0:2], size=2) == [7, 14]
    assert "7.0:f32" in tack.inspect(evaluate, line, array([1]), array([1]), mode="ir")
    assert both(evaluate, Line(0.0), array([1, 2]), size=2) == [2, 4]


@pytest.mark.rule("F2", "T1")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.5, 2.5),
        (7, 7),
        (True, 1),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.int8(-3), -3),
        (np.bool_(True), 1),
        (2**40, 2**40),
    ],
)
def test_numbers_of_every_kind(value, expected):
    @tack.device_class
    class Holds:
        pass

    @tack.device_class
    class Constant:
        pass

    holds = Holds()
    holds.value = value
    Constant.value = value
    assert both(reads, holds, size=1, dtype=np.float64) == [expected]
    assert both(reads, Constant(), size=1, dtype=np.float64) == [expected]


@pytest.mark.rule("T8")
def test_class_numbers_are_weak_like_literals():
    @tack.device_class
    class Step:
        value = 0.1

    assert both(reads, Step(), size=1, dtype=np.float64) == [0.1]
    assert both(reads, Step(), size=1, dtype=np.float32) == [float(np.float32(0.1))]


@pytest.mark.rule("F2", "N1")
def test_a_tack_constant_keeps_its_type():
    @tack.device_class
    class Typed:
        value = tack.constant(100, tack.i8)

        def __init__(self, by):
            self.by = by

    @tack.kernel
    def k(t, out):
        for i in range(out.shape[0]):
            out[i] = t.value + t.by

    assert both(k, Typed(tack.constant(100, tack.i8)), size=1) == [200 - 256]
    assert both(k, Typed(tack.constant(100)), size=1) == [200 - 256]
    assert both(k, Typed(100), size=1) == [200]


@pytest.mark.rule("T1")
def test_arrays_of_objects_count_for_the_default_float():
    @tack.device_class
    class Table:
        def __init__(self, data, scale):
            self.data = data
            self.scale = scale

    @tack.kernel
    def k(t, out):
        for i in range(out.shape[0]):
            out[i] = t.data[i] * t.scale

    wide, narrow = Table(array([1], np.float64), 0.1), Table(array([1]), 0.1)
    assert both(k, wide, size=1, dtype=np.float32) == [float(np.float32(0.1))]
    assert "t.scale: f64" in tack.inspect(k, wide, array([1]), mode="ir")
    assert "t.scale: f32" in tack.inspect(k, narrow, array([1]), mode="ir")


@tack.device_class
class Table:
    def __init__(self, rows):
        self.rows = rows


@pytest.mark.rule("F2", "M1")
def test_arrays_of_objects_have_sizes_and_elements():
    @tack.kernel
    def k(t, out):
        h, w = t.rows.shape
        for i in range(t.rows.shape[0]):
            total = 0.0
            for j in range(w):
                total += t.rows[i, j]
                t.rows[i, j] += 1.0
            t.rows[i, 0] = t.rows.size + t.rows.ndim + len(t.rows)
            out[i] = total * h

    t = Table(array([[1, 2, 3], [4, 5, 6]]))
    out = array([0, 0])
    k(t, out)
    assert out.numpy().tolist() == [12, 30]
    assert t.rows.numpy().tolist() == [[10, 3, 4], [10, 6, 7]]


def test_an_object_of_arrays_may_be_passed_twice_and_stored_to():
    @tack.kernel
    def shift(a, b):
        for i in range(a.rows.shape[0] - 1):
            b.rows[i] = a.rows[i + 1] * 2.0

    a, b = Table(array([1, 2, 3])), Table(array([0, 0, 0]))
    shift(a, b)
    assert b.rows.numpy().tolist() == [4, 6, 0]
    shift(a, a)
    assert a.rows.numpy().tolist()[2] == 3


@pytest.mark.rule("F2")
def test_class_attributes_of_other_kinds_are_what_instance_attributes_are():
    @tack.device_class
    class Shared:
        data = array([5, 6, 7])
        line = Line(10.0)
        value = 1

    @tack.kernel
    def k(s, out):
        for i in range(out.shape[0]):
            out[i] = s.line.at(s.data[i]) + s.value

    assert both(k, Shared(), size=3) == [21, 23, 25]


@pytest.mark.rule("F2")
def test_slots_and_dataclasses():
    @tack.device_class
    @dataclasses.dataclass(slots=True)
    class Point:
        x: float
        y: float

        @tack.func
        def norm(self):
            return self.x * self.x + self.y * self.y

    @tack.device_class
    @dataclasses.dataclass
    class Weighted:
        weight: float = 2.0

    @tack.kernel
    def k(p, w, out):
        for i in range(out.shape[0]):
            out[i] = p.norm() * w.weight

    assert both(k, Point(3.0, 4.0), Weighted(), size=1) == [50]
    assert both(k, Point(3.0, 4.0), Weighted(3.0), size=1) == [75]


@pytest.mark.rule("F2", "K1", "K5")
def test_class_constants_bound_loops():
    @tack.device_class
    class Loop:
        n = 3
        step = tack.constant(2)

        @tack.func
        def total(self):
            t = 0
            for k in range(0, self.n * 2, self.step):
                t += k
            return t

    @tack.kernel
    def k(loop, out):
        for i in range(loop.n):
            out[i] = loop.total()

    assert both(k, Loop(), size=5) == [6, 6, 6, 0, 0]


@pytest.mark.rule("K1", "F2")
def test_instance_numbers_bound_the_parallel_loop():
    @tack.kernel
    def k(thing, out):
        n = thing.value
        for i in range(1, n):
            out[i] = i

    @tack.device_class
    class Holds:
        def __init__(self, value):
            self.value = value

    assert both(k, Holds(3)) == [0, 1, 2, 0]
    assert both(k, Holds(0)) == [0, 0, 0, 0]


# ----------------------------------------------------------------------------------------------------- nesting


@tack.device_class
class Sum:
    def __init__(self, left, right):
        self.left = left
        self.right = right

    @tack.func
    def at(self, v):
        return self.left.at(v) + self.right.at(v)


@pytest.mark.rule("F2")
def test_objects_hold_objects_also_of_their_own_class():
    """A method calls itself for an object that its own holds: that ends, so it is no recursion."""
    x = array([1, 2])
    deep = Sum(Sum(Line(1.0), Line(2.0)), Sum(Line(3.0), Sum(Line(4.0), Line(5.0))))
    assert both(evaluate, deep, x, size=2) == [5 * 2 + 15, 5 * 4 + 15]
    deep.left.right.factor = 10.0
    assert both(evaluate, deep, x, size=2) == [4 * 2 + 10 + 15, 4 * 4 + 20 + 15]


@pytest.mark.rule("F2")
def test_one_object_in_two_places():
    line = Line(1.0)
    assert both(evaluate, Sum(line, line), array([1]), size=1) == [6]


@pytest.mark.rule("F1", "F2")
def test_objects_pass_to_device_functions():
    @tack.func
    def apply(line, v, by=1.0):
        return line.at(v) * by

    @tack.kernel
    def k(pair, x, out):
        for i in range(x.shape[0]):
            out[i] = apply(pair.left, x[i]) + apply(v=x[i], line=pair.right, by=10.0)

    assert both(k, Sum(Line(1.0), Line(2.0)), array([0, 1]), size=2) == [21, 43]


@pytest.mark.rule("F2", "E1")
def test_arguments_keep_their_order_around_objects():
    @tack.device_class
    class Counter:
        def __init__(self, cell):
            self.cell = cell

        @tack.func
        def next(self):
            self.cell[0] += 1
            return self.cell[0]

    @tack.func
    def mix(a, counter, b, c):
        return a * 100 + b * 10 + c + 1000 * counter.next()

    @tack.kernel
    def k(counter, out):
        for _ in range(1):
            out[0] = mix(counter.cell[0], counter, counter.next(), c=counter.cell[0] + counter.next())

    counter, out = Counter(array([0], np.int32)), array([0], np.int32)
    k(counter, out)
    assert out.numpy().tolist() == [0 * 100 + 1 * 10 + (1 + 2) + 1000 * 3]


@pytest.mark.rule("F2")
def test_device_functions_held_as_attributes():
    @tack.device_class
    class Applies:
        def __init__(self, fn):
            self.fn = fn

        @tack.func
        def at(self, v):
            return self.fn(v)

    x = array([1, 2, 3])
    assert both(evaluate, Applies(square), x, size=3) == [1, 4, 9]
    assert both(evaluate, Applies(negate), x, size=3) == [-1, -2, -3]
    assert both(evaluate, Applies(square), x, size=3) == [1, 4, 9]


@pytest.mark.rule("F2")
def test_a_function_of_the_instance_hides_a_method():
    line = Line(1.0)
    line.at = square
    assert both(evaluate, line, array([3]), size=1) == [9]
    assert both(evaluate, Line(1.0), array([3]), size=1) == [7]


# ----------------------------------------------------------------------------------- inheritance and static functions


@pytest.mark.rule("F2")
def test_inheritance():
    @tack.device_class
    class Base:
        scale = 2.0

        @tack.func
        def at(self, v):
            return self.part(v) * self.scale

        @tack.func
        def part(self, v):
            return v

    class Child(Base):
        scale = 3.0

        @tack.func
        def part(self, v):
            return super().part(v) + 1.0

    class Grandchild(Child):
        @tack.func
        def at(self, v):
            return Base.at(self, v) + Child.part(self, v) * 100.0

    x = array([1, 2])
    assert both(evaluate, Base(), x, size=2) == [2, 4]
    assert both(evaluate, Child(), x, size=2) == [6, 9]
    assert both(evaluate, Grandchild(), x, size=2) == [206, 309]


@tack.device_class
class Statics:
    count = tack.constant(5)
    plain = 4

    @staticmethod
    @tack.func
    def below(v):
        return v + 1.0

    @tack.func
    @staticmethod
    def above(v):
        return v * 10.0

    @tack.func
    def at(self, v):
        return self.below(v) + self.above(v) + Statics.below(v) + Statics.above(v)


@pytest.mark.rule("F2")
def test_static_functions_in_either_order_through_self_and_the_class():
    assert both(evaluate, Statics(), array([1, 2]), size=2) == [2 * 2 + 2 * 10, 2 * 3 + 2 * 20]

    @tack.kernel
    def without_an_object(x, out):
        for i in range(x.shape[0]):
            out[i] = Statics.below(x[i]) + Statics.above(x[i]) + Statics.count

    assert both(without_an_object, array([1]), size=1) == [17]


@pytest.mark.rule("F2")
def test_methods_with_underscores_are_methods():
    @tack.device_class
    class Private:
        @tack.func
        def _half(self, v):
            return v * 0.5

        @tack.func
        def at(self, v):
            return self._half(v)

    assert both(evaluate, Private(), array([4]), size=1) == [2]


@pytest.mark.rule("F2", "N4")
def test_objects_in_emitted_c(tmp_path):
    @tack.device_class
    class Mix:
        __tack_iterate__ = ("nx", "long")
        nx = 3

        def __init__(self):
            self.long = 2  # a keyword of C
            self.double = array([1, 2, 3, 4, 5, 6])
            self.line = Line(0.5)

    @tack.kernel
    def k(mix, out):
        for x, y in mix:
            total = 0.0
            for a, b in mix:
                if a + b > 2:
                    break
                total += mix.line.at(mix.double[a * 2 + b])
            out[y * mix.nx + x] = total + mix.double[x]

    target = EmittedTarget(tmp_path)
    out = np.zeros(6, np.float32)
    target.run(k, [Mix(), out])
    assert out.tolist() == both(k, Mix(), size=6) == [32.5 + n for n in (1, 2, 3, 1, 2, 3)]
    compile_all(target.kernels)


# -------------------------------------------------------------------------------------------------- kernel methods


@tack.device_class
class Field:
    gain = 3.0

    def __init__(self, data):
        self.data = data

    @tack.kernel
    def fill(self, value, out):
        for i in range(self.data.shape[0]):
            self.data[i] = value * self.gain
            out[i] = i

    @staticmethod
    @tack.kernel
    def double(x):
        for i in range(x.shape[0]):
            x[i] *= 2.0


@pytest.mark.rule("F2")
def test_methods_may_be_kernels():
    field, out = Field(array([0, 0])), array([7, 7])
    field.fill(2.0, out)
    assert field.data.numpy().tolist() == [6, 6] and out.numpy().tolist() == [0, 1]
    field.fill(out=out, value=1.0)
    assert field.data.numpy().tolist() == [3, 3]
    Field.fill(field, 4.0, out)
    assert field.data.numpy().tolist() == [12, 12]
    field.double(field.data)
    assert field.data.numpy().tolist() == [24, 24]
    assert "self.data" in tack.inspect(field.fill, 1.0, out, mode="ir")
    assert isinstance(Field.fill, tack.Kernel)
    with pytest.raises(TypeError, match=r"fill\(\) misses 1 argument: 'out'"):
        field.fill(2.0)


@pytest.mark.rule("M3", "M2")
def test_a_read_only_array_of_an_object_is_refused():
    values = np.zeros(2, np.float32)
    data = tack.array_from_ptr(values.ctypes.data, tack.f32, 2, writable=False, owner=values)
    with pytest.raises(ValueError, match=r"'self\.data' is read-only"):
        Field(data).fill(1.0, array([0, 0]))
    assert values.tolist() == [0, 0]


# ------------------------------------------------------------------------------------------------------- loops


@tack.device_class
class Grid:
    __tack_iterate__ = ("nx", "ny", "nz")
    nx = 2

    def __init__(self, ny, nz):
        self.ny = ny
        self.nz = nz


@tack.device_class
class Plane:
    __tack_iterate__ = ["nx", "ny"]

    def __init__(self, nx, ny):
        self.nx = nx
        self.ny = ny


@tack.device_class
class Row:
    __tack_iterate__ = "n"

    def __init__(self, n):
        self.n = n


@pytest.mark.rule("F2", "K1")
def test_the_parallel_loop_over_an_object():
    @tack.kernel
    def one(row, out):
        for i in row:
            out[i] = i + 10

    @tack.kernel
    def two(plane, out):
        for x, y in plane:
            out[x, y] = x * 10 + y + 100

    @tack.kernel
    def three(grid, out):
        for x, y, z in grid:
            out[x, y, z] = x * 100 + y * 10 + z + 1000

    assert both(one, Row(3)) == [10, 11, 12, 0]
    i, j = np.indices((3, 4))
    assert both(two, Plane(3, 4), size=(3, 4)) == (i * 10 + j + 100).tolist()
    i, j, k = np.indices((2, 3, 4))
    assert both(three, Grid(3, 4), size=(2, 3, 4)) == (i * 100 + j * 10 + k + 1000).tolist()
    assert both(three, Grid(0, 4), size=(2, 3, 4)) == np.zeros((2, 3, 4)).tolist()
    assert both(three, Grid(-1, 4), size=(2, 3, 4)) == np.zeros((2, 3, 4)).tolist()
    assert "parallel z in" in tack.inspect(three, Grid(3, 4), tack.zeros((2, 3, 4)), mode="ir")  # x runs fastest


@pytest.mark.rule("F2", "V1")
def test_one_loop_variable_is_an_integer_vector():
    @tack.kernel
    def k(plane, grid, out):
        for c in plane:
            seen = 0
            for d in grid:
                if d.z == 2:
                    break
                seen += d.x + 10 * d.y + 100 * d[2]
            c.x += 1
            out[c.x - 1, c.y] = c.x * 1000 + c[1] * 10000 + seen

    i, j = np.indices((3, 4))
    inner = sum(x + 10 * y + 100 * z for x in range(2) for y in range(3) for z in range(2))
    expected = (i + 1) * 1000 + j * 10000 + inner
    assert both(k, Plane(3, 4), Grid(3, 4), size=(3, 4), dtype=np.int64) == expected.tolist()


@pytest.mark.rule("F2", "K4")
def test_inner_loops_over_objects():
    @tack.kernel
    def k(row, plane, out):
        for i in range(out.shape[0]):
            seen = 0
            for a in row:
                if a == 2:
                    continue
                seen += a
            for x, y in plane:
                if x == 1:
                    continue
                if y == 2:
                    break
                seen += 100
                for b in row:
                    if b == 1:
                        break
                    seen += 1000
            out[i] = seen

    assert both(k, Row(4), Plane(3, 5), size=1) == [0 + 1 + 3 + 4 * 1100]
    assert both(k, Row(0), Plane(3, 0), size=1) == [0]


@pytest.mark.rule("F2", "F1")
def test_a_return_leaves_an_inner_loop_over_an_object():
    @tack.func
    def first(plane, v):
        for x, y in plane:
            if x + y * 10 >= v:
                return x + y * 10
        return -1

    @tack.kernel
    def k(plane, out):
        for i in range(out.shape[0]):
            out[i] = first(plane, i * 5)

    assert both(k, Plane(3, 3), size=6) == [0, 10, 10, 20, 20, -1]


# --------------------------------------------------------------------------------------------------- refusals


def refused_value(value, kind, *words, name="value", at=None):
    """A kernel that reads `thing.<name>` must be refused, at the attribute."""

    @tack.device_class
    class Thing:
        pass

    thing = Thing()
    setattr(thing, name, value)
    text = f"@tack.kernel\ndef k(thing, out):\n    for i in range(out.shape[0]):\n        out[i] = thing.{name}\n"
    from tack.testing import kernel_from

    k = kernel_from(text)
    out = array([77])
    refuses(kind, lambda: k(thing, out), "'k'", *words, at=at or f"thing.{name}")
    assert out.numpy().tolist() == [77]


@pytest.mark.rule("F2")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("text", ("'value' of class Thing", "of type str")),
        (None, ("of type NoneType",)),
        ([1, 2], ("of type list",)),
        (np.zeros(3), ("of type ndarray", "tack.array(value)")),
        (1j, ("of type complex",)),
    ],
)
def test_attributes_of_other_types_are_ignored_until_used(value, words):
    @tack.kernel
    def unused(thing, out):
        for i in range(out.shape[0]):
            out[i] = thing.other

    class Thing(Row):
        other = 5

    thing = Thing(1)
    thing.value = value
    assert both(unused, thing, size=1) == [5]
    refused_value(value, TypeError, *words)


@pytest.mark.rule("F2")
def test_names_with_a_leading_underscore_are_not_seen():
    refused_value(1.0, TypeError, "'_hidden'", "starts with `_`", "`hidden`", name="_hidden")


@pytest.mark.rule("F2")
def test_a_misspelt_attribute_is_told():
    line, out = Line(), array([1])

    @tack.kernel
    def k(line, out):
        for i in range(out.shape[0]):
            out[i] = line.ofset

    refuses(NameError, lambda: k(line, out), "no 'ofset'", "'offset'", at="line.ofset")


@pytest.mark.rule("F2")
def test_objects_are_no_values():
    @tack.kernel
    def stored(line, out):
        for i in range(out.shape[0]):
            out[i] = line

    @tack.kernel
    def bound(line, out):
        for i in range(out.shape[0]):
            other = line
            out[i] = 1

    @tack.kernel
    def assigned(line, out):
        line = 3
        for i in range(out.shape[0]):
            out[i] = line

    @tack.kernel
    def stores(line, out):
        for i in range(out.shape[0]):
            line.offset = 3.0

    @tack.kernel
    def augments(line, out):
        for i in range(out.shape[0]):
            line.offset += 3.0

    @tack.kernel
    def indexes(line, out):
        for i in range(out.shape[0]):
            out[i] = line[i]

    @tack.kernel
    def number(line, out):
        for i in range(out.shape[0]):
            out[i] = line.offset[i]

    line, out = Line(), array([1])
    refuses(TypeError, lambda: stored(line, out), "'line' is an object of class Line", at="line")
    refuses(TypeError, lambda: bound(line, out), "'line' is an object of class Line", at="line")
    refuses(tack.UnsupportedSyntaxError, lambda: assigned(line, out), "cannot be assigned", at="line")
    refuses(tack.UnsupportedSyntaxError, lambda: stores(line, out), "assigning an attribute", at="line.offset")
    refuses(tack.UnsupportedSyntaxError, lambda: augments(line, out), "assigning an attribute", at="line.offset")
    refuses(TypeError, lambda: indexes(line, out), "'line' is an object of class Line", at="line")
    refuses(TypeError, lambda: number(line, out), "'line.offset' is a number and no array", at="line.offset")


@pytest.mark.rule("F2")
def test_methods_that_cannot_be_called():
    @tack.device_class
    class Things:
        value = 1

        def plain(self, v):
            return v

        @tack.kernel
        def run(self, x):
            for i in range(x.shape[0]):
                x[i] = 1

        @property
        def lazy(self):
            return 1.0

        @tack.func
        def nothing():
            return 1.0

    def call(text):
        from tack.testing import kernel_from

        return kernel_from(f"@tack.kernel\ndef k(t, out):\n    for i in range(1):\n        out[i] = {text}\n")

    t, out = Things(), array([1])
    refuses(tack.UnsupportedSyntaxError, lambda: call("t.plain(1.0)")(t, out), "`Things.plain`", "@tack.func", at="t.plain")
    refuses(tack.UnsupportedSyntaxError, lambda: call("t.run(out)")(t, out), "kernel `Things.run`", at="t.run")
    refuses(TypeError, lambda: call("t.lazy")(t, out), "of type property", at="t.lazy")
    refuses(TypeError, lambda: call("t.value(2)")(t, out), "'t.value' is no function", at="t.value")
    refuses(NameError, lambda: call("t.nothin()")(t, out), "no 'nothin'", "'nothing'", at="t.nothin")
    refuses(TypeError, lambda: call("t.nothing()")(t, out), "no parameter for the object", at="t.nothing()")
    refuses(NameError, lambda: call("t.nothing")(t, out), "is a function", at="t.nothing")
    line = Line()
    refuses(TypeError, lambda: call("t.at(1.0, 2.0)")(line, out), "takes 1 positional argument, not 2", at="t.at(1.0, 2.0)")
    refuses(TypeError, lambda: call("t.at(1.0, self=t)")(line, out), "no parameter named 'self'", at="self=t")


@pytest.mark.rule("F2")
def test_recursion_is_still_refused():
    @tack.device_class
    class Loop:
        @tack.func
        def at(self, v):
            return self.again(v)

        @tack.func
        def again(self, v):
            return self.at(v)

    refuses(tack.UnsupportedSyntaxError, lambda: evaluate(Loop(), array([1]), array([1])), "recursion", at="self.at(v)")


def test_objects_that_hold_each_other_are_refused():
    a, b = Sum(None, None), Sum(None, None)
    a.left, b.left = b, a
    with pytest.raises(TypeError, match=r"'line\.left\.left' is an object that holds itself"):
        evaluate(a, array([1]), array([1]))


def test_an_object_of_another_class_is_told_so():
    class Plain:
        offset = 1.0

        def at(self, v):
            return v

    for k, name, args in ((evaluate, "line", (array([1]), array([1]))), (reads, "thing", (array([1]),))):
        with pytest.raises(TypeError) as caught:
            k(Plain(), *args)
        assert f"argument '{name}' is an object of class Plain, which is no device class" in str(caught.value)
        assert "Put @tack.device_class above class Plain" in str(caught.value)


def test_a_number_of_the_class_is_not_read_through_the_class():
    @tack.kernel
    def k(s, out):
        for i in range(out.shape[0]):
            out[i] = Statics.plain

    refuses(NameError, lambda: k(Statics(), array([1])), "'Statics.plain' is a plain number", at="Statics.plain")


@pytest.mark.rule("F2")
def test_iteration_is_checked():
    for names in (3, ("a", "b", "c", "d"), (1,)):
        with pytest.raises(TypeError, match="__tack_iterate__"):
            tack.device_class(type("Bad", (), {"__tack_iterate__": names}))

    @tack.kernel
    def one(thing, out):
        for i in thing:
            out[i] = 1

    @tack.kernel
    def two(thing, out):
        for i, j in thing:
            out[i] = 1

    @tack.kernel
    def same(thing, out):
        for i, i in thing:
            out[i] = 1

    class Missing(Row):
        __tack_iterate__ = ("m",)

    out = array([1])
    refuses(TypeError, lambda: one(Line(), out), "say nothing to loop over", at="thing")
    refuses(TypeError, lambda: one(Missing(1), out), "counts up to 'thing.m'", "of class Missing", "does not exist", at="thing")
    words = ("a loop over 'thing' counts up to 'thing.n', which must be an integer", "`thing.n = int(thing.n)`")
    refuses(TypeError, lambda: one(Row(2.0), out), *words, at="thing")
    one(Row(1), out)  # makes the template
    refuses(TypeError, lambda: one(Row(2.0), out), *words, at="thing")
    refuses(ValueError, lambda: two(Row(2), out), "2 loop variables", at="i, j")
    refuses(tack.UnsupportedSyntaxError, lambda: same(Plane(1, 2), out), "of one name", at="i, i")


def test_only_classes_are_decorated():
    with pytest.raises(TypeError, match="takes a class, not function"):
        tack.device_class(lambda: None)
    assert tack.device_class(Line) is Line


def test_integers_beyond_64_bits_are_refused_by_name():
    thing = Row(1)
    thing.value = 2**70
    with pytest.raises(TypeError, match=r"'thing\.value'"):
        reads(thing, array([1]))


# ----------------------------------------------------------------------------------------------------- threads


@pytest.mark.rule("F2")
def test_threads_with_objects_of_their_own():
    wrong = []

    def work(offset):
        line, out, x = Line(offset), array([0] * 8), array(range(8))
        line.factor = float(offset % 3)
        for _ in range(30):
            evaluate(line, x, out)
            expected = (np.arange(8, dtype=np.float32) * np.float32(offset % 3) + np.float32(offset)).tolist()
            if out.numpy().tolist() != expected:
                wrong.append((offset, out.numpy().tolist()))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --------------------------------------------------------------------------------- vectors and textures in objects


@pytest.mark.rule("F2", "V1")
def test_vector_arrays_in_objects():
    @tack.device_class
    class Points:
        up = tack.constant((0.0, 2.0), tack.vec2)

        def __init__(self, data):
            self.data = data

        @tack.func
        def at(self, i):
            return self.data[i] * 2.0 + self.up

        @tack.func
        def move(self, i, by):
            self.data[i] += by
            self.data[i].x = 9.0

    @tack.kernel
    def k(p, out):
        for i in range(p.data.shape[0]):
            v = p.at(i)
            out[i] = v.x * 10.0 + v.y + p.data[i].dot(p.up)
            p.move(i, p.up)

    points = Points(tack.array([[1, 2], [3, 4]], dtype=tack.vec2))
    out = array([0, 0])
    k(points, out)
    assert out.numpy().tolist() == [20 + 6 + 4, 60 + 10 + 8]
    assert points.data.numpy().tolist() == [[9, 4], [9, 6]]


@pytest.mark.rule("F2")
def test_textures_in_objects():
    @tack.device_class
    class Volume:
        def __init__(self, texture):
            self.texture = texture

        @tack.func
        def at(self, u):
            return self.texture.sample(u, 0.5, 0.5)

    @tack.func
    def sampled(texture, u):
        return texture.sample(u, 0.5, 0.5)

    @tack.kernel
    def k(volume, out):
        for i in range(out.shape[0]):
            out[i] = volume.at(i * 0.5) + 10.0 * sampled(volume.texture, 0.0)

    for values, low, high in (([1, 5], 1, 5), ([2, 4], 2, 4)):
        volume = Volume(tack.texture3d(array(values), shape=(2, 1, 1)))
        out = array([0, 0, 0])
        k(volume, out)
        assert out.numpy().tolist() == [low + 10 * low, (low + high) / 2 + 10 * low, high + 10 * low]
    assert len(k._ir_cache) == 1
    k(Volume(tack.texture3d(array([1, 2, 3]), shape=(3, 1, 1))), out)
    assert len(k._ir_cache) == 2


@pytest.mark.rule("F2", "M1")
def test_debug_mode_names_the_array_of_an_object():
    @tack.kernel
    def k(t, out):
        for i in range(out.shape[0]):
            out[i] = t.rows[i + 1]

    tack.set_debug(True)
    try:
        with pytest.raises(IndexError, match=r"index 2 is outside 't\.rows'"):
            k(Table(array([1, 2])), array([0, 0]))
    finally:
        tack.set_debug(False)


@pytest.mark.rule("K6", "F2")
def test_kernel_methods_may_return_a_number():
    @tack.device_class
    class Total:
        weight = 10

        def __init__(self, data):
            self.data = data

        @tack.kernel
        def doubled(self, by) -> float:
            for i in range(self.data.shape[0]):
                self.data[i] *= 2.0
            return self.data[0] * self.weight + by

    total = Total(array([1, 2]))
    assert [total.doubled(0.5), total.doubled(by=1.5)] == [20.5, 41.5]


@tack.func
def plus_two(x):
    return x + 2


@pytest.mark.rule("N6", "F2")
def test_a_method_keeps_the_meaning_it_had_at_the_first_lowering():
    @tack.device_class
    class Scaled:
        n = 1

        @staticmethod
        @tack.func
        def at(x):
            return x * 10

        @tack.func
        def twice(self, x):
            return x * 2 * self.n

    @tack.kernel
    def kernel(thing, out):
        for i in range(out.shape[0]):
            out[i] = thing.at(i + 1) + thing.twice(i + 1)

    thing, out = Scaled(), tack.zeros(1)

    def value(run):
        run(thing, out)
        return out[0]

    assert value(kernel) == 12
    Scaled.at = staticmethod(plus_two)
    assert value(kernel) == 12
    Scaled.n = 5
    assert value(kernel) == 20  # a new variant, the old function

    @tack.kernel
    def later(thing, out):
        for i in range(out.shape[0]):
            out[i] = thing.at(i + 1)

    assert value(later) == 3


@pytest.mark.rule("F2")
def test_a_parameter_may_be_called_self():
    @tack.kernel
    def kernel(self, out):
        for i in range(out.shape[0]):
            out[i] = self

    out = tack.zeros(2)
    kernel(self=3, out=out)
    assert out.numpy().tolist() == [3, 3]
