"""Random kernels for `test_lowering_random`: text that is valid Python and valid Tack, whose functions store and return early.

Every local has a value before it is read; loops are bounded by their counters; values stay small by a remainder.
"""

from random import Random

LOCALS = ("s", "t", "u")


class Program:
    """One program: device functions f0, f1, ... and a kernel `k(a, b, n, m)` over arrays of 8 integers."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.lines = []
        self.functions = []
        self.fresh = 0
        self.loops = []

    def text(self):
        for index in range(self.random.randint(1, 3)):
            self.function(index)
        self.lines += ["@kernel", "def k(a, b, n, m):"]
        self.names, self.arrays, self.values = list(LOCALS) + ["n", "m"], ("a", "b"), 1
        self.inside, self.early = False, False
        if self.random.random() < 0.5:
            self.lines.append("    m = m + n % 3")
        self.lines.append(f"    for i in range({self.random.choice(('4', 'n % 5', '1, m % 4 + 3', '6, 0, -2'))}):")
        self.names.append("i")
        for name in LOCALS:
            self.lines.append(f"        {name} = {self.expr(1, ['i', 'n', 'm'])}")
        self.inside = True
        self.block(2, 3, 5)
        self.lines.append(f"        a[i] = {self.expr(2)}")
        return "\n".join(self.lines) + "\n"

    def function(self, index):
        self.inside, self.early = False, True
        self.values = self.random.choice((1, 1, 2))
        self.names, self.arrays = ["v", "w"], ("p",)
        self.lines += ["@func", f"def f{index}(p, v, w):"]
        if self.random.random() < 0.7:
            self.lines.append(f"    s = {self.expr(1)}")
            self.names.append("s")
        self.block(1, 2, 4)
        self.lines.append(f"    return {self.result()}")
        self.functions.append((f"f{index}", self.values))

    def result(self):
        return ", ".join(f"({self.expr(2)}) % 1009" for _ in range(self.values))

    # -------------------------------------------------------------------------------------------------- statements

    def block(self, indent, depth, most):
        for _ in range(self.random.randint(1, most)):
            self.statement(indent, depth)

    def say(self, indent, line):
        self.lines.append("    " * indent + line)

    def statement(self, indent, depth):
        kinds = ["assign", "assign", "augment", "store", "store", "add", "pair", "call"]
        if depth:
            kinds += ["if", "if", "for", "while", "jump", "again"]
        getattr(self, "put_" + self.random.choice(kinds))(indent, depth)

    def target(self):
        """A local that may change: no counter, and no parameter of the kernel, whose new value another iteration must not see."""
        return self.random.choice([n for n in self.names if n in (*LOCALS, "v", "w")])

    def element(self):
        return f"{self.random.choice(self.arrays)}[{self.index()}]"

    def index(self):
        return f"({self.expr(1)}) % 8" if self.random.random() < 0.7 else str(self.random.randrange(8))

    def put_assign(self, indent, depth):
        self.say(indent, f"{self.target()} = ({self.expr(3)}) % 1009")

    def put_augment(self, indent, depth):
        name = self.target()
        self.say(indent, f"{name} {self.random.choice(('+=', '-=', '^='))} ({self.expr(2)}) % 97")

    def put_store(self, indent, depth):
        self.say(indent, f"{self.element()} = ({self.expr(3)}) % 1009")

    def put_add(self, indent, depth):
        self.say(indent, f"{self.element()} {self.random.choice(('+=', '-=', '|='))} ({self.expr(2)}) % 97")

    def put_pair(self, indent, depth):
        targets = self.random.sample([self.target(), self.element(), self.target()], 2)
        pairs = [name for name, count in self.functions if count == 2]
        if pairs and self.random.random() < 0.4:
            self.say(indent, f"{', '.join(targets)} = {self.call(self.random.choice(pairs))}")
        else:
            self.say(indent, f"{', '.join(targets)} = ({self.expr(2)}) % 1009, ({self.expr(2)}) % 1009")

    def put_call(self, indent, depth):
        self.say(indent, self.call(self.random.choice(self.functions)[0]) if self.functions else "pass")

    def put_if(self, indent, depth):
        self.say(indent, f"if {self.condition(2)}:")
        self.block(indent + 1, depth - 1, 3)
        if self.random.random() < 0.3:
            self.say(indent, f"elif {self.condition(1)}:")
            self.block(indent + 1, depth - 1, 2)
        if self.random.random() < 0.5:
            self.say(indent, "else:")
            self.block(indent + 1, depth - 1, 3)

    def put_for(self, indent, depth):
        self.fresh += 1
        name = f"j{self.fresh}"
        self.say(indent, f"for {name} in range({self.random.choice(('3', '0', f'({self.expr(1)}) % 4', '4, 0, -1'))}):")
        self.names.append(name)
        self.loops.append("for")
        self.block(indent + 1, depth - 1, 3)
        if self.random.random() < 0.2:
            self.say(indent + 1, f"{name} = {name} * 2")
            self.put_store(indent + 1, 0)
        self.loops.pop()
        self.names.remove(name)

    def put_while(self, indent, depth):
        self.fresh += 1
        name = f"c{self.fresh}"
        self.say(indent, f"{name} = 0")
        test = f"{name} < 3" if self.random.random() < 0.5 else f"{name} < 3 and ({self.condition(1)})"
        if self.random.random() < 0.3:
            self.say(indent, "while True:")
            self.say(indent + 1, f"if not ({test}):")
            self.say(indent + 2, "break")
        else:
            self.say(indent, f"while {test}:")
        self.say(indent + 1, f"{name} += 1")
        self.names.append(name)
        self.loops.append("while")
        self.block(indent + 1, depth - 1, 3)
        self.loops.pop()
        self.names.remove(name)

    def put_jump(self, indent, depth):
        words = ["break", "continue"] if self.loops else []
        words += ["continue"] if self.inside else []
        words += ["return"] if self.early else []
        if not words:
            self.say(indent, "pass")
            return
        word = self.random.choice(words)
        self.say(indent, f"if {self.condition(1)}:")
        self.say(indent + 1, f"return {self.result()}" if word == "return" else word)
        if self.random.random() < 0.15:
            self.put_store(indent + 1, 0)

    def put_again(self, indent, depth):
        """A loop over a local's name, which has a new value afterwards."""
        name = self.target()
        self.say(indent, f"for {name} in range(2):")
        self.put_store(indent + 1, 0)
        self.say(indent, f"{name} = {self.expr(1, [n for n in self.names if n != name] or ['1'])}")

    # ------------------------------------------------------------------------------------------------- expressions

    def expr(self, depth, names=None):
        r = self.random
        if not depth or r.random() < 0.15:
            return r.choice([r.choice(names or self.names), str(r.randrange(-3, 9)), self.plain_element(names)])
        kind = r.randrange(9)
        a, b = (lambda: self.expr(depth - 1, names)), (lambda: self.expr(depth - 1, names))
        if kind < 3:
            return f"({a()} {r.choice('+-*&|^')} {b()})"
        if kind == 3:
            return f"({a()} {r.choice(('// 3', '% 7', '>> 1'))})"
        if kind == 4:
            return f"({a()} if {self.condition(depth - 1, names)} else {b()})"
        if kind == 5:
            return f"{r.choice(('min', 'max'))}({a()}, {b()})"
        single = [name for name, count in self.functions if count == 1]
        if kind == 6 and single and names is None:
            return self.call(r.choice(single))
        if kind == 7:
            return f"(-{a()})"
        return f"({a()} + {b()})"

    def plain_element(self, names):
        return "2" if names is not None else f"{self.random.choice(self.arrays)}[{self.random.randrange(8)}]"

    def call(self, name):
        array = self.random.choice(self.arrays)
        v, w = self.expr(1), self.expr(1)
        return self.random.choice((f"{name}({array}, {v}, {w})", f"{name}({array}, w={w}, v={v})"))

    def condition(self, depth, names=None):
        r = self.random
        if not depth or r.random() < 0.4:
            return f"{self.expr(depth, names)} {r.choice(('<', '>', '<=', '==', '!='))} {self.expr(depth, names)}"
        kind = r.randrange(5)
        if kind == 0:
            return f"not ({self.condition(depth - 1, names)})"
        if kind == 1:
            parts = [self.expr(depth - 1, names) for _ in range(3)]
            return f"{parts[0]} < {parts[1]} <= {parts[2]}"
        if kind == 2:
            return self.expr(depth, names)
        word = r.choice(("and", "or"))
        return f"({self.condition(depth - 1, names)}) {word} ({self.condition(depth - 1, names)})"
