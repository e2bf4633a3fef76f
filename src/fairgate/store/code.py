"""Which code makes a file: a fingerprint of the definitions it rests on, and of no others.

From the functions and classes that make a file, the names they use are followed through the package, without running
anything. A definition counts by its syntax tree without docstrings, comments and types of arguments, so editing those,
another learner or a page's template makes no kept file stale, while editing anything that ran does.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib import metadata
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

LIBRARIES = ("numpy", "scipy", "scikit-learn")
"""Libraries whose version the numbers depend on."""

TRUSTED = frozenset((*sys.stdlib_module_names, "numpy", "scipy", "sklearn"))
"""Modules that no fingerprint reads the source of: a version says which code it is."""

Name = tuple[str, str]
"""A definition: its module and its name there. The name "" stands for what a module does when it is imported."""


def code_digest(*makers: object) -> str:
    """Fingerprint of the code that runs when `makers` do: functions, classes, and objects with all they hold.

    Of the package, exactly the definitions they rest on count. Of code from elsewhere, the file it is in counts, or its
    whole package. Code that cannot be read, such as what is typed into a console, is never the same twice.
    """
    kinds = makers_of(*makers)
    package = Source.here().package
    inside = frozenset((each.__module__, _outermost(each)) for each in kinds if _top(each) == package)
    outside = sorted(f"{_outermost(each)} {_own_code(each.__module__)}" for each in kinds if _top(each) != package)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    versions = [python, *(metadata.version(name) for name in LIBRARIES)]
    return _hashed([*versions, Source.here().digest(inside), *outside])


def makers_of(*things: object) -> list[type | FunctionType]:
    """Return the functions and classes that act when `things` do, those of everything they hold included.

    >>> import fairgate as fg
    >>> [each.__name__ for each in makers_of(fg.simulate, fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)]))]
    ['DemographicParity', 'Problem', 'Utility', 'simulate']
    """
    found: dict[str, type | FunctionType] = {}
    seen: set[int] = set()
    left: list[Any] = list(things)
    while left:
        thing = left.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, partial):
            left += [thing.func, *thing.args, *thing.keywords.values()]
        elif isinstance(thing, MethodType):
            left += [thing.__func__, thing.__self__]
        elif isinstance(thing, Mapping):
            left += thing.values()
        elif isinstance(thing, (list, tuple, set, frozenset)):
            left += thing
        maker = thing if isinstance(thing, (type, FunctionType)) else type(thing)
        if _top(maker) not in TRUSTED:
            found[f"{maker.__name__} {maker.__module__}"] = maker
            left += vars(thing).values() if maker is not thing and hasattr(thing, "__dict__") else ()
    return [found[key] for key in sorted(found)]


@dataclass(frozen=True)
class Source:
    """The source of a package, read but not run.

    Attributes
    ----------
    root
        The folder of the package, which has its name.
    """

    root: Path
    _digests: dict[frozenset[Name], str] = field(default_factory=dict, init=False, repr=False, compare=False)
    _modules: dict[str, Module | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _uses: dict[Name, frozenset[Name]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    @cache
    def here() -> Source:
        """The source of this package."""
        return Source(Path(__file__).parents[1])

    @property
    def package(self) -> str:
        """Name of the package."""
        return self.root.name

    def digest(self, makers: Iterable[Name]) -> str:
        """Fingerprint of all definitions that `makers` rest on, and of the data files those name."""
        start = frozenset(makers)
        if start not in self._digests:
            parts: list[str] = []
            files: set[Path] = set()
            for module, name in sorted(self.closure(start)):
                parts += [f"{module}:{name}", *self._module(module).text(name)]
                files |= self._files(self._module(module).strings(name))
            parts += [f"{path.relative_to(self.root).as_posix()} {path.read_bytes().hex()}" for path in sorted(files)]
            self._digests[start] = _hashed(parts)
        return self._digests[start]

    def closure(self, makers: Iterable[Name]) -> set[Name]:
        """Return every definition that `makers` rest on, themselves included."""
        found: set[Name] = set()
        left = [each for module, name in makers for each in self._resolve(module, [name])]
        while left:
            each = left.pop()
            if each not in found:
                found.add(each)
                left += self._used_by(each)
        return found

    def _used_by(self, name: Name) -> frozenset[Name]:
        if name not in self._uses:
            module = self._module(name[0])
            used = {(module.name, "")}  # whatever a module does on import happens to all in it
            for chain in module.references(name[1]):
                used.update(self._resolve(module.name, chain))
            for target, chain in module.local_imports(name[1]):
                used.update(self._resolve(target, chain))
            self._uses[name] = frozenset(used)
        return self._uses[name]

    def _resolve(self, module_name: str, chain: list[str]) -> Iterator[Name]:
        """Find the definition that a dotted name means in a module: through re-exports, or a whole module if it is one.

        A name that is none of the package's, such as a local variable or a built-in, means nothing.
        """
        module = self._find(module_name)
        if module is None:
            return
        if not chain:
            yield (module.name, "")
            for name in (*module.defined, *module.imported):
                yield from self._resolve(module.name, [name])
            return
        first, *rest = chain
        if first in module.defined:
            yield (module.name, first)
        if first in module.imported:
            target, name = module.imported[first]
            yield from self._resolve(target, [name, *rest] if name else rest)
        elif first not in module.defined and self._find(f"{module.name}.{first}"):
            yield from self._resolve(f"{module.name}.{first}", rest)

    def _find(self, name: str) -> Module | None:
        """Read a module of the package; None if there is none of this name."""
        if name not in self._modules:
            parts = name.split(".")
            places = [self.root.joinpath(*parts[1:], "__init__.py"), self.root.joinpath(*parts[1:]).with_suffix(".py")]
            path = next((each for each in places if parts[0] == self.package and each.is_file()), None)
            self._modules[name] = None if path is None else Module(name, path)
        return self._modules[name]

    def _module(self, name: str) -> Module:
        module = self._find(name)
        if module is None:
            raise LookupError(f"there is no module {name} in {self.root}")
        return module

    @cached_property
    def _data(self) -> dict[str, list[Path]]:
        """Files of the package that are no code, by their name."""
        found: dict[str, list[Path]] = {}
        for path in self.root.rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc"):
                found.setdefault(path.name, []).append(path)
        return found

    def _files(self, strings: Iterable[str]) -> set[Path]:
        """Return the data files that any of these strings name, and those that a template names in turn."""
        found: set[Path] = set()
        left = [path for text in strings for path in self._data.get(text, ())]
        while left:
            path = left.pop()
            if path not in found:
                found.add(path)
                if path.suffix == ".j2":
                    quoted = path.read_text(encoding="utf-8").replace("'", '"').split('"')[1::2]
                    left += [other for text in quoted for other in self._data.get(text, ())]
        return found


@dataclass(frozen=True)
class Module:
    """A parsed module: what it defines and imports at its top, and what each definition mentions."""

    name: str
    path: Path

    @cached_property
    def _top_level(self) -> tuple[dict[str, list[ast.stmt]], dict[str, Name]]:
        tree = _Stripped().visit(ast.parse(self.path.read_text(encoding="utf-8")))
        defined: dict[str, list[ast.stmt]] = {"": []}
        imported: dict[str, Name] = {}
        for statement in tree.body:
            names: set[str] = set()
            for each in _within(statement):
                if isinstance(each, (ast.Import, ast.ImportFrom)):
                    imported.update(self._bindings(each))
                else:
                    names |= _bound(each)
            plain_import = isinstance(statement, (ast.Import, ast.ImportFrom))
            for name in names or (set() if plain_import else {""}):
                defined.setdefault(name, []).append(statement)
        return defined, imported

    @property
    def defined(self) -> dict[str, list[ast.stmt]]:
        """Statements that define each name, and under "" those that define none."""
        return self._top_level[0]

    @property
    def imported(self) -> dict[str, Name]:
        """What each imported name means: a module and a name in it, or "" for the module itself."""
        return self._top_level[1]

    def text(self, name: str) -> list[str]:
        """The syntax trees of a definition."""
        return [ast.dump(statement) for statement in self.defined.get(name, ())]

    def strings(self, name: str) -> set[str]:
        """Texts in a definition, for the files they may name."""
        nodes = (node for statement in self.defined.get(name, ()) for node in ast.walk(statement))
        return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}

    def references(self, name: str) -> list[list[str]]:
        """Dotted names in a definition."""
        finder = _Names()
        for statement in self.defined.get(name, ()):
            finder.visit(statement)
        return finder.found

    def local_imports(self, name: str) -> Iterator[tuple[str, list[str]]]:
        """What a definition imports when it runs."""
        for statement in self.defined.get(name, ()):
            for node in ast.walk(statement):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    for _, (target, imported) in self._bindings(node):
                        yield target, [imported] if imported else []

    def _bindings(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Name]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, (alias.name if alias.asname else top, "")
            return
        target = node.module or ""
        if node.level:
            folder = self.name.split(".") if self.path.name == "__init__.py" else self.name.split(".")[:-1]
            target = ".".join([*folder[: len(folder) - node.level + 1], *filter(None, [target])])
        for alias in node.names:
            yield alias.asname or alias.name, (target, alias.name)


class _Stripped(ast.NodeTransformer):
    """Takes away what does not change what code does: docstrings, types of arguments, imports for type checkers."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if each is not None:
                each.annotation = None
        node.returns = None
        return self._visit_body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._visit_body(node)

    def visit_If(self, node: ast.If) -> Any:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return [self.visit(each) for each in node.orelse]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None  # a docstring, of a module, a constant or a definition
        return self.generic_visit(node)

    def _visit_body(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


class _Names(ast.NodeVisitor):
    """Collects the dotted names that are mentioned: ``a.b.c`` is one."""

    def __init__(self) -> None:
        self.found: list[list[str]] = []

    def visit_Name(self, node: ast.Name) -> None:
        self.found.append([node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            self.found.append([inner.id, *reversed(chain)])
        else:
            self.visit(inner)


def _within(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement of a module, and those in its branches; not what is inside functions and classes."""
    yield statement
    if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        for each in ast.iter_child_nodes(statement):
            for inner in [each] if isinstance(each, ast.stmt) else getattr(each, "body", []):
                if isinstance(inner, ast.stmt):
                    yield from _within(inner)


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement defines."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    nodes = (node for target in targets for node in ast.walk(target))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


@cache
def _own_code(module_name: str) -> str:
    """Fingerprint of code from elsewhere: all files of its package, or the file of its module."""
    package = getattr(sys.modules.get(module_name.partition(".")[0]), "__path__", ())
    files = sorted(path for folder in package for path in Path(folder).rglob("*.py"))
    own = getattr(sys.modules.get(module_name), "__file__", None)
    if not files and own is None:
        return uuid.uuid4().hex
    return _hashed(path.read_bytes().hex() for path in files or [Path(str(own))])


def _top(maker: type | FunctionType) -> str:
    return str(maker.__module__).partition(".")[0]


def _outermost(maker: type | FunctionType) -> str:
    return maker.__qualname__.partition(".")[0]


def _hashed(parts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(f"{len(part)} {part}\n".encode())
    return found.hexdigest()
