"""What of a kernels.py a call can depend on: two that agree in it do the same in that call. Pure, trusted process.

In: the bytes of a kernels.py that an author wrote, names of entry points. Out: a fingerprint, or None where it cannot
be said what a call depends on.

What counts is what an entry point reaches by name, transitively, and every statement of the module that could do more
than bind a name. Docstrings, comments and line numbers do not count, so lines that findings quote may differ; nor do
statements that nobody reaches and that can neither fail nor do anything (see ``_Module``). A module that could look
at itself, or change something that is not its own, has no fingerprint. That is meant for honest mistakes: it compiles
the text, and somebody who wants to deceive it can. No student's mark may ever rest on it.
"""

from __future__ import annotations

import ast
import hashlib
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

# Modules that kernels.py may import and keep its fingerprint; and what of them is there for sure, so that an import of
# it that nobody uses cannot fail.
_MODULES = {"math", "numba", "numpy", "grader.vector_access"}
_OF_MODULE = {
    "numba": {
        *("cuda", "types", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    },
    "grader.vector_access": {"load4", "store4"},
}
# Ways from a name, or a text, to anything else.
_LOOKING = {
    *("globals", "locals", "vars", "dir", "eval", "exec", "compile", "getattr", "setattr", "delattr", "hasattr"),
    *("open", "input", "breakpoint", "help"),
}
_FRAMES = {"f_back", "f_globals", "f_locals", "gi_frame", "cr_frame", "ag_frame", "tb_frame", "tb_next"}
_PLAIN_JIT = ("cuda.jit", "cuda.jit()", "cuda.jit(device=True)")
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGE = 1 << 64
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def fingerprint(source: bytes, entries: Iterable[str]) -> str | None:
    """A fingerprint of what calls of ``entries``, in one process, depend on; None where it is not known."""
    try:
        text = source.decode("utf-8-sig")
        compile(text, "kernels.py", "exec", dont_inherit=True)  # refuses more than the parser does
        return _fingerprint(ast.parse(text), tuple(entries))
    except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
        return None


def _fingerprint(tree: ast.Module, entries: tuple[str, ...]) -> str | None:
    _remove_docstrings(tree)
    if _looks_around(tree):
        return None
    statements = [part for statement in tree.body for part in _parts(statement)]
    counted = _counted(statements, set(entries), _Module(tree, statements))
    bound = {name for statement in counted for name in _binds(statement)}
    if not bound.issuperset(entries) or _writes_elsewhere(statements, counted):
        return None
    digest = hashlib.sha256()
    for line in (repr(sorted(entries)), *(ast.dump(statement) for statement in counted)):
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def _counted(statements: list[ast.stmt], names: set[str], module: _Module) -> list[ast.stmt]:
    """The statements that count, in their order: those that are not inert, and what these and ``names`` reach."""
    counted: set[int] = set()
    reached, before = set(names), -1
    while before < len(counted):
        before = len(counted)
        for number, statement in enumerate(statements):
            if number in counted:
                continue
            if not module.is_inert(number) or reached & set(_binds(statement)):
                counted.add(number)
                reached |= set(_names(statement))
    return [statements[number] for number in sorted(counted)]


def _parts(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement; an import in as many statements as it binds names."""
    if isinstance(statement, ast.Import):
        yield from (ast.Import([alias]) for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        yield from (ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names)
    else:
        yield statement


def _binds(statement: ast.stmt) -> Iterator[str]:
    """Names that an import, a function definition or an assignment gives a meaning to."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (_bound_by(alias) for alias in statement.names)
    elif isinstance(statement, _Function):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _names(statement: ast.AST) -> Iterator[str]:
    """All names that a statement mentions, be they its own or the module's."""
    yield from (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))


# ------------------------------------------------------------------ what cannot matter to anybody else


class _Module:
    """Which statements of a module bind names and can do nothing else, not even raise."""

    def __init__(self, tree: ast.Module, statements: list[ast.stmt]) -> None:
        self._statements = statements
        given = Counter(name for node in ast.walk(tree) for name in _given(node))
        self._once = {name for name, count in given.items() if count == 1}
        self._numbers: dict[str, int] = {}  # names of whole numbers, which nothing else gives another meaning
        self._has_cuda = False
        self._inert = [self._look_at(statement) for statement in statements]

    def is_inert(self, number: int) -> bool:
        """Whether the statement of this number is."""
        return self._inert[number]

    def _look_at(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Import):
            return all(alias.name in ("math", "numpy") for alias in statement.names)
        if isinstance(statement, ast.ImportFrom):
            # From here on ``cuda.jit`` is Numba's.
            self._has_cuda |= ast.unparse(statement) == "from numba import cuda" and "cuda" in self._once
            return all(alias.name in _OF_MODULE.get(statement.module or "", ()) for alias in statement.names)
        if isinstance(statement, ast.Assign):
            value = self._number(statement.value)
            if value is not None:
                self._numbers |= {name: value for name in _binds(statement) if name in self._once}
            return all(isinstance(target, ast.Name) for target in statement.targets) and (
                value is not None or _is_constant(statement.value)
            )
        return isinstance(statement, ast.FunctionDef) and self._is_inert_function(statement)

    def _is_inert_function(self, function: ast.FunctionDef) -> bool:
        of = function.args
        arguments = [*of.posonlyargs, *of.args, *of.kwonlyargs, *filter(None, (of.vararg, of.kwarg))]
        defaults = [*of.defaults, *filter(None, of.kw_defaults)]
        return (
            all(self._has_cuda and ast.unparse(decorator) in _PLAIN_JIT for decorator in function.decorator_list)
            and all(map(_is_constant, defaults))
            and all(argument.annotation is None for argument in arguments)
            and function.returns is None
            and not getattr(function, "type_params", [])
        )

    def _number(self, value: ast.expr) -> int | None:
        """The value of arithmetic with whole numbers; None for anything else."""
        if isinstance(value, ast.Name):
            return self._numbers.get(value.id)
        if isinstance(value, ast.Constant):
            return value.value if type(value.value) is int else None
        if isinstance(value, ast.BinOp) and type(value.op) in _ARITHMETIC:
            left, right = self._number(value.left), self._number(value.right)
            if left is not None and right is not None and (right or not isinstance(value.op, ast.FloorDiv | ast.Mod)):
                result: int = _ARITHMETIC[type(value.op)](left, right)
                return result if abs(result) < _LARGE else None
        return None


def _is_constant(value: ast.expr) -> bool:
    """Numbers, texts, None, tuples and lists of them, and an empty dict."""
    if isinstance(value, ast.Tuple | ast.List):
        return all(map(_is_constant, value.elts))
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        return isinstance(value.operand, ast.Constant) and isinstance(value.operand.value, int | float)
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Dict) and not value.keys)


def _given(node: ast.AST) -> Iterator[str]:
    """Names to which a node gives a meaning, anywhere."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.alias):
        yield _bound_by(node)
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, _Function | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        yield node.name or ""
    elif isinstance(node, ast.MatchMapping):
        yield node.rest or ""


# ------------------------------------------------------------------ what makes it impossible to say


def _looks_around(tree: ast.Module) -> bool:
    """Whether a module, without its docstrings, may look at itself or change what is not its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (node.id in _LOOKING or _is_special(node.id)):
            return True
        if isinstance(node, ast.Attribute) and (
            not isinstance(node.ctx, ast.Load) or node.attr in _FRAMES or _is_special(node.attr)
        ):
            return True
        if isinstance(node, _Function | ast.ClassDef) and _is_special(node.name):
            return True
        if isinstance(node, ast.Import) and any(alias.name not in _MODULES for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (
            node.level or node.module not in _MODULES or any(a.name == "*" or _is_special(a.name) for a in node.names)
        ):
            return True
        # "{0.__globals__}".format(function)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__" in node.value:
            return True
    return False


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _writes_elsewhere(statements: list[ast.stmt], counted: list[ast.stmt]) -> bool:
    """Whether a function that does not count says ``global`` to a name that does."""
    reached = {name for statement in counted for name in (*_names(statement), *_binds(statement))}
    ours = {id(statement) for statement in counted}
    return any(
        isinstance(node, ast.Global) and reached & set(node.names)
        for statement in statements
        if id(statement) not in ours
        for node in ast.walk(statement)
    )


def _remove_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _Function | ast.ClassDef | ast.Module) and ast.get_docstring(node, clean=False) is not None:
            node.body[:1] = [] if len(node.body) > 1 or isinstance(node, ast.Module) else [ast.Pass()]
