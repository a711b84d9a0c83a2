"""Parses PTX text into the model, in one pass over its statements. Knows PTX's grammar, not what instructions do."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from tack_sim.ptx_model import (
    BITS,
    TYPES,
    Address,
    Call,
    Float,
    Function,
    Instruction,
    Int,
    Label,
    Name,
    Not,
    Operand,
    Pair,
    Param,
    Place,
    PtxError,
    PtxModule,
    Reg,
    Sampled,
    Signature,
    Sink,
    Special,
    Variable,
    Vector,
)

__all__ = ["parse"]

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOP = re.compile(
    r"""\s*(?:(?P<line>\.(?:version|target|address_size|file|loc)\b[^\n]*)
    | \.section\b[^{]*\{[^}]*\}
    | (?P<end>\Z)
    | (?P<head>(?:\.(?:visible|extern|weak|common)\s+)*\.(?:entry|func)\b[^{;]*)(?P<open>[{;])
    | (?P<variable>[^;]*);)""",
    re.VERBOSE,
)
_STEP = re.compile(
    r"\s*(?:(?P<brace>[{}])|(?P<line>\.(?:loc|file)\b[^\n]*)|(?P<label>[\w$.%]+)[ \t]*:(?!:)"
    r"|(?P<statement>(?:[^;\"]|\"[^\"]*\")*);)"
)
_HEAD = re.compile(r"\.(entry|func)\s*(?:\(([^)]*)\))?\s*([\w$%]+)\s*(?:\(([^)]*)\))?(.*)", re.DOTALL)
_BOUND = re.compile(r"\.(maxntid|reqntid|minnctapersm|maxnctapersm|maxnreg|noreturn)\b([\s\d,]*)")
_PARAM = re.compile(r"\.param\s+((?:\.\w+(?:\s+\d+)?\s+)*?)\.(\w+)\s+((?:\.\w+(?:\s+\d+)?\s+)*)([\w$%]+)\s*(?:\[(\d*)\])?\s*$")
_VARIABLE = re.compile(
    r"((?:\.(?:visible|extern|weak|common)\s+)*)\.(global|const|shared|local)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"([\w$%]+)\s*((?:\[\s*\d*\s*\])*)\s*(?:=\s*(.*))?$",
    re.DOTALL,
)
_REGS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)$", re.DOTALL)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_INSTRUCTION = re.compile(r"(?:@(!?)\s*(%?[\w$]+)\s+)?([\w.:]+)\s*(.*)$", re.DOTALL)
_OPERANDS = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s](?:[^,\[{(]*[^,\s\[{(])?")
_NUMBERED = re.compile(r"(%?[A-Za-z_$]+)(\d+)$")
_OFFSET = re.compile(r"([^+\-\s]+)\s*(?:\+\s*(-?\w+)|(-\s*\w+))?$")
_INTEGER = re.compile(r"-?(?:0[xX][\da-fA-F]+|0[bB][01]+|\d+)U?$")
_CALL = re.compile(
    r"(?:\(([^)]*)\)\s*,\s*)?([\w$%]+)\s*(?:,\s*\(([^)]*)\))?\s*(?:,\s*([\w$%]+))?\s*$",
    re.DOTALL,
)
_AXES = [f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
_SPECIALS = frozenset((*_AXES, "%laneid", "%warpid", "%nwarpid", "%dynamic_smem_size", "%total_smem_size"))


def parse(text: str) -> PtxModule:
    """The module that a PTX text describes. `PtxError` names the line and the instruction of what it does not understand."""
    clean = _COMMENT.sub(_blank, text)
    return _Parser(PtxModule(clean)).run()


def _blank(match: re.Match[str]) -> str:
    """Strings stay; comments go, but not their line ends."""
    found = match[0]
    return found if found[0] == '"' else "\n" * found.count("\n") or " "


class _Parser:
    """Reads the module level; `_Body` reads one function."""

    def __init__(self, module: PtxModule) -> None:
        self.module = module
        # Lines come before the table of files they name: places are collected with numbers and named at the end.
        self.files: dict[int, str] = {int(n): name for n, name in _FILE.findall(module.text)}

    def run(self) -> PtxModule:
        text, position = self.module.text, 0
        while True:
            match = _TOP.match(text, position)
            if match is None:
                raise self.module.error(position, "statement without end")
            start, position = position, match.end()
            if match["end"] is not None:
                return self.module
            if match["head"] is not None:
                position = self._function(match["head"], start, position, match["open"] == "{")
            elif match["variable"] is not None:
                self._variable(match["variable"].strip(), start)
            elif match["line"] is not None:
                self._line(match["line"], start)

    def _line(self, line: str, start: int) -> None:
        if line.startswith(".address_size") and line.split()[1] != "64":
            raise self.module.error(start, "only 64-bit addresses are simulated")

    def _variable(self, statement: str, start: int) -> None:
        if not statement or statement.startswith(".pragma"):
            return
        variable = variable_of(statement, lambda message: self.module.error(start, message))
        self.module.variables[variable.name] = variable

    def _function(self, head: str, start: int, position: int, has_body: bool) -> int:
        match = _HEAD.search(head)
        if match is None:
            raise self.module.error(start, "function header not understood")
        kind, results, name, params, tail = match.groups()
        function = Function(name, kind == "entry", self._params(results, start), self._params(params, start), start)
        rest = _BOUND.sub("", tail).strip()
        if rest:
            raise self.module.error(start, f"directive {rest.split()[0]} is not known to the simulator")
        for word, numbers in _BOUND.findall(tail):
            if word in ("maxntid", "reqntid"):
                function.max_threads = 1
                for number in numbers.split(","):
                    function.max_threads *= int(number)
        if not has_body:
            self.module.declared[name] = function
            return position
        self.module.functions[name] = function
        return _Body(self, function).read(position)

    def _params(self, listed: str | None, start: int) -> tuple[Param, ...]:
        params: list[Param] = []
        offset = 0
        for text in (listed or "").split(","):
            if not text.strip():
                continue
            name, size, align = param_of(text.strip(), lambda message: self.module.error(start, message))
            offset = -(-offset // align) * align
            params.append(Param(name, offset, size, align))
            offset += size
        return tuple(params)


def param_of(text: str, error: Callable[[str], PtxError]) -> tuple[str, int, int]:
    """Name, size and alignment of one `.param` declaration."""
    match = _PARAM.match(text)
    if match is None:
        raise error(f"parameter not understood: {text}")
    before, kind, after, name, count = match.groups()
    bits = BITS.get(kind)
    if bits is None or count == "":
        raise error(f"parameter of unknown size: {text}")
    aligns = re.findall(r"\.align\s+(\d+)", before + " " + after)
    return name, bits // 8 * int(count or 1), int(aligns[0]) if aligns else bits // 8


def variable_of(text: str, error: Callable[[str], PtxError]) -> Variable:
    """The variable of one declaration."""
    match = _VARIABLE.match(text)
    if match is None:
        raise error("declaration not understood")
    linkage, space, align, kind, name, dims, initial = match.groups()
    bits = BITS.get(kind)
    if bits is None:
        raise error(f"variables of type .{kind} are not known to the simulator")
    count = 1
    for dim in re.findall(r"\[\s*(\d*)\s*\]", dims):
        count *= int(dim or 0)
    if "extern" in linkage and not (space == "shared" and count == 0):
        raise error("a variable of another module")
    data, links = _initial(initial, kind, error) if initial else (b"", ())
    size = bits // 8 * count
    if len(data) > size:
        raise error("more values than elements")
    return Variable(name, space, size, int(align or bits // 8), data, links)


def _initial(text: str, kind: str, error: Callable[[str], PtxError]) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
    """The bytes of an initialiser, and the addresses in it."""
    width = BITS[kind] // 8
    data = bytearray()
    links: list[tuple[int, str, int]] = []
    for token in text.replace("{", " ").replace("}", " ").split(","):
        token = token.strip()
        if not token:
            continue
        if _INTEGER.match(token) and kind[0] != "f":
            data += (_integer(token) % (1 << 8 * width)).to_bytes(width, "little")
        elif token[:2] in ("0f", "0F", "0d", "0D"):
            bits = int(token[2:], 16)
            if 4 * (len(token) - 2) != 8 * width:
                raise error(f"literal {token} in a variable of type .{kind}")
            data += bits.to_bytes(width, "little")
        elif (found := re.match(r"(?:generic\(\s*([\w$]+)\s*\)|([A-Za-z_$][\w$]*))\s*(?:\+\s*(\d+))?$", token)) and width == 8:
            links.append((len(data), found[1] or found[2], int(found[3] or 0)))
            data += bytes(8)
        else:
            raise error(f"initial value {token} is not known to the simulator")
    return bytes(data), tuple(links)


def _integer(token: str) -> int:
    digits = token.rstrip("U")
    bare = digits.lstrip("-")
    octal = len(bare) > 1 and bare[0] == "0" and bare.isdigit()
    value = int(bare, 8) if octal else int(bare, 0)
    return -value if digits[0] == "-" else value


class _Scope:
    """What one pair of braces declares, and the operands understood inside it so far."""

    __slots__ = ("memo", "names")

    def __init__(self) -> None:
        self.names: dict[str, Reg | str] = {}
        self.memo: dict[str, tuple[Operand, tuple[Reg, ...]]] = {}


class _Body:
    """Reads the body of one function."""

    def __init__(self, parser: _Parser, function: Function) -> None:
        self.module = parser.module
        self.files = parser.files
        self.function = function
        self.prefixes: dict[str, str] = {}
        self.scopes = [_Scope()]
        self.serial = 0
        self.place = Place("", 0, "", 0)
        self.inlined: dict[tuple[str, str, str], tuple[str, str, str]] = {}
        self.places: dict[str, Place] = {}
        self.label = ""

    def read(self, position: int) -> int:
        """Reads from behind the opening brace to behind the closing one."""
        text, step, body = self.module.text, _STEP.match, self.function.body
        while True:
            match = step(text, position)
            if match is None:
                raise self.module.error(position, "statement without end")
            start, position = match.start(), match.end()
            kind = match.lastgroup
            if kind == "statement":
                statement = match["statement"].strip()
                if not statement:
                    continue
                if statement[0] == ".":
                    self._directive(statement, start)
                else:
                    self._close_label()
                    body.append(self._instruction(statement, start))
            elif kind == "line":
                self._line(match["line"], start)
            elif kind == "label":
                self._close_label()
                self.label = match["label"]
            elif match["brace"] == "{":
                self._close_label()
                self.scopes.append(_Scope())
            else:
                self._close_label()
                self.scopes.pop()
                if not self.scopes:
                    return position

    def _close_label(self) -> None:
        """A label is the place of an instruction, unless a directive took it for its name."""
        if self.label:
            self.function.body.append(Label(self.label))
            self.label = ""

    def _error(self, start: int) -> Callable[[str], PtxError]:
        return lambda message: self.module.error(start, message)

    def _line(self, line: str, start: int) -> None:
        known = self.places.get(line)
        match = None if known else _LOC.match(line)
        if known is None and match is None:
            if line.startswith(".file"):
                return
            raise self.module.error(start, "line directive not understood")
        if match is not None and match[4] is not None:
            self.inlined[match[1], match[2], match[3]] = (match[4], match[5], match[6])
        if match is not None:
            here = outer = (match[1], match[2], match[3])
            if match[4] is not None:
                for _ in range(len(self.inlined) + 1):
                    if outer not in self.inlined:
                        break
                    outer = self.inlined[outer]
            known = Place(self.files.get(int(here[0]), ""), int(here[1]), self.files.get(int(outer[0]), ""), int(outer[1]))
            if match[4] is None:
                self.places[line] = known
        assert known is not None
        self.place = known

    def _directive(self, statement: str, start: int) -> None:
        word = statement[: len(statement) if (k := statement.find(" ")) < 0 else k].split("\t")[0]
        if word == ".reg":
            self._registers(statement, start)
        elif word == ".param":
            name, size, _ = param_of(statement, self._error(start))
            self.serial += 1
            unique = f"{name}.{self.serial}"
            self._declare(name, unique)
            self.function.arrays[unique] = size
        elif word in (".local", ".shared"):
            variable = variable_of(statement, self._error(start))
            self.function.variables[variable.name] = variable
        elif word == ".callprototype":
            self.function.prototypes[self.label] = self._prototype(statement, start)
            self.label = ""
        elif word == ".branchtargets":
            listed = tuple(name.strip() for name in statement[len(word) :].split(","))
            self.function.branch_targets[self.label] = listed
            self.label = ""
        elif word not in (".pragma", ".calltargets"):
            raise self.module.error(start, f"directive {word} is not known to the simulator")
        elif word == ".calltargets":
            self.label = ""

    def _prototype(self, statement: str, start: int) -> Signature:
        match = re.match(r"\.callprototype\s*(?:\(([^)]*)\))?\s*_\s*(?:\(([^)]*)\))?(?:\s*\.noreturn)?\s*$", statement)
        if match is None:
            raise self.module.error(start, "prototype not understood")
        sizes = [
            tuple(param_of(text.strip(), self._error(start))[1] for text in (part or "").split(",") if text.strip())
            for part in match.groups()
        ]
        return Signature(sizes[0], sizes[1])

    def _registers(self, statement: str, start: int) -> None:
        match = _REGS.match(statement)
        if match is None or match[1] not in TYPES:
            raise self.module.error(start, "registers not understood")
        for name in match[2].split(","):
            name = name.strip()
            if name.endswith(">") and len(self.scopes) == 1:
                self.prefixes[name[: name.index("<")].strip()] = match[1]
            elif re.fullmatch(r"[\w$%]+", name):
                self.serial += 1
                self._declare(name, Reg(f"{name}.{self.serial}" if len(self.scopes) > 1 else name, match[1]))
            else:
                raise self.module.error(start, "registers not understood")

    def _declare(self, name: str, meaning: Reg | str) -> None:
        self.scopes[-1].names[name] = meaning
        self.scopes[-1].memo.clear()

    def _meaning(self, name: str) -> Reg | str | None:
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    def _instruction(self, statement: str, start: int) -> Instruction:
        match = _INSTRUCTION.match(statement)
        if match is None:
            raise self.module.error(start, "instruction not understood")
        negated, predicate, opcode, rest = match.groups()
        name, words, types = _opcode(opcode)
        registers: tuple[Reg, ...] = ()
        guard: Reg | None = None
        if predicate is not None:
            found, registers = self._operand(predicate, start)
            if not isinstance(found, Reg):
                raise self.module.error(start, "predicate is no register")
            guard = found
        if name == "call":
            call = self._call(rest, start)
            self.function.calls[start] = call
            if isinstance(call.target, Reg):
                registers += (call.target,)
            operands: list[Operand] = []
        else:
            operands = []
            memo = self.scopes[-1].memo
            pieces = _OPERANDS.findall(rest) if "[" in rest or "{" in rest else rest.split(",") if rest else ()
            for piece in pieces:
                piece = piece.strip()
                known = memo.get(piece) or self._operand(piece, start)
                operands.append(known[0])
                if known[1]:
                    registers += known[1]
        return Instruction(opcode, name, words, types, tuple(operands), guard, bool(negated), registers, self.place, start)

    def _call(self, rest: str, start: int) -> Call:
        match = _CALL.match(rest)
        if match is None:
            raise self.module.error(start, "call not understood")
        lists: list[tuple[str, ...]] = []
        for part in (match[1], match[3]):
            names: list[str] = []
            for name in (piece.strip() for piece in (part or "").split(",") if piece.strip()):
                unique = self._meaning(name)
                if not isinstance(unique, str):
                    raise self.module.error(start, f"call with {name}, which is no .param array of this function")
                names.append(unique)
            lists.append(tuple(names))
        target, _ = self._operand(match[2], start)
        if not isinstance(target, (Name, Reg)):
            raise self.module.error(start, "call not understood")
        return Call(lists[0], target, lists[1], match[4] or "")

    def _operand(self, text: str, start: int) -> tuple[Operand, tuple[Reg, ...]]:
        memo = self.scopes[-1].memo
        known = memo.get(text)
        if known is None:
            known = memo[text] = self._understand(text, start)
        return known

    def _understand(self, text: str, start: int) -> tuple[Operand, tuple[Reg, ...]]:
        first = text[:1]
        if first == "{":
            parts = [self._operand(piece.strip(), start) for piece in text[1:-1].split(",")]
            return Vector(tuple(part[0] for part in parts)), tuple(reg for part in parts for reg in part[1])
        if first == "[":
            return self._address(text[1:-1].strip(), start)
        if first == "!":
            inner, registers = self._operand(text[1:].strip(), start)
            if isinstance(inner, Reg):
                return Not(inner), registers
        elif "|" in text:
            one, two = (self._operand(piece.strip(), start) for piece in text.split("|", 1))
            return Pair(one[0], two[0]), one[1] + two[1]
        elif text == "_":
            return Sink(), ()
        elif text == "WARP_SZ":
            return Int(32), ()
        elif first.isdigit() or first == "-":
            return self._literal(text, start), ()
        elif text in _SPECIALS:
            return Special(text), ()
        elif reg := self._register(text):
            return reg, (reg,)
        elif first != "%" and (match := _OFFSET.match(text)):
            unique = self._meaning(match[1])
            offset = _integer((match[2] or match[3] or "0").replace(" ", ""))
            return Name(unique if isinstance(unique, str) else match[1], offset), ()
        raise self.module.error(start, f"operand {text or '(none)'} is not known to the simulator")

    def _register(self, text: str) -> Reg | None:
        meaning = self._meaning(text)
        if isinstance(meaning, Reg):
            return meaning
        match = _NUMBERED.match(text)
        if match and match[1] in self.prefixes:
            return Reg(text, self.prefixes[match[1]])
        return None

    def _literal(self, text: str, start: int) -> Operand:
        if _INTEGER.match(text):
            return Int(_integer(text))
        if text[:2] in ("0f", "0F") and len(text) == 10:
            return Float(int(text[2:], 16), 32)
        if text[:2] in ("0d", "0D") and len(text) == 18:
            return Float(int(text[2:], 16), 64)
        try:
            return Float(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
        except ValueError:
            raise self.module.error(start, f"literal {text} is not known to the simulator") from None

    def _address(self, inner: str, start: int) -> tuple[Operand, tuple[Reg, ...]]:
        if "{" in inner:
            texture, _, coordinates = inner.partition(",")
            one, two = self._operand(texture.strip(), start), self._operand(coordinates.strip(), start)
            if isinstance(two[0], Vector):
                return Sampled(one[0], two[0]), one[1] + two[1]
        elif match := _OFFSET.match(inner):
            base, registers = self._operand(match[1], start)
            offset = _integer((match[2] or match[3] or "0").replace(" ", ""))
            if isinstance(base, (Reg, Name, Int)):
                return Address(base, offset), registers
        raise self.module.error(start, f"address [{inner}] is not known to the simulator")


_opcodes: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {}


def _opcode(opcode: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Name, modifiers that are no types, and types of an opcode."""
    known = _opcodes.get(opcode)
    if known is None:
        name, *rest = opcode.split(".")
        words = tuple(word for word in rest if word not in TYPES)
        known = _opcodes[opcode] = name, words, tuple(word for word in rest if word in TYPES)
    return known
