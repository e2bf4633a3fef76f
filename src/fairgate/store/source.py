"""The source of the package, read but not run: what each definition uses, and what some of them rest on."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

Name = tuple[str, str]
"""A definition: its module and its name there. The name "" stands for what a module does when it is imported."""


class Source:
    """The source of a package, read but not run; `root` is the package's folder, which has its name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._digests: dict[frozenset[Name], str] = {}
        self._modules: dict[str, Module | None] = {}
        self._uses: dict[Name, set[Name]] = {}

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
                definition = self._definition((module, name))
                parts.append(f"{module}:{name} {definition.digest}")
                files |= self._files(definition.strings)
            parts += [f"{path.relative_to(self.root).as_posix()} {path.read_bytes().hex()}" for path in sorted(files)]
            self._digests[start] = hashed(parts)
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

    def _used_by(self, name: Name) -> set[Name]:
        if name not in self._uses:
            used = self._uses[name] = {(name[0], "")}  # what a module does on import happens to all in it
            for chain in self._definition(name).names:
                used.update(self._resolve(name[0], chain))
            for target, imported in self._definition(name).imports:
                used.update(self._resolve(target, [imported] if imported else []))
        return self._uses[name]

    def _definition(self, name: Name) -> Definition:
        module = self._module(name[0])
        return module.defined.get(name[1], NOTHING) if module else NOTHING

    def _resolve(self, module_name: str, chain: Sequence[str]) -> Iterator[Name]:
        """Find the definition that a dotted name means in a module: through re-exports, or a whole module if it is one.

        A name that is none of the package's, such as a local variable or a built-in, means nothing.
        """
        module = self._module(module_name)
        if module is None:
            return
        if not chain:
            for name in (*module.defined, *module.imported):
                yield from self._resolve(module_name, [name])
            return
        first, *rest = chain
        if first in module.defined:
            yield (module_name, first)
        if first in module.imported:
            target, name = module.imported[first]
            yield from self._resolve(target, [name, *rest] if name else rest)
        elif first not in module.defined:
            yield from self._resolve(f"{module_name}.{first}", rest)

    def _module(self, name: str) -> Module | None:
        """Read a module of the package; None if there is none of this name."""
        if name not in self._modules:
            parts = name.split(".")
            places = [self.root.joinpath(*parts[1:], "__init__.py"), self.root.joinpath(*parts[1:]).with_suffix(".py")]
            path = next((each for each in places if parts[0] == self.package and each.is_file()), None)
            if path is None:
                self._modules[name] = None
            else:
                folder = name if path.name == "__init__.py" else name.rpartition(".")[0]
                self._modules[name] = _read(folder, path.read_text(encoding="utf-8"))
        return self._modules[name]

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
class Definition:
    """What counts of a definition: its syntax tree, the dotted names, imports and texts in it."""

    digest: str = ""
    names: frozenset[tuple[str, ...]] = frozenset()
    imports: frozenset[Name] = frozenset()
    strings: frozenset[str] = frozenset()


NOTHING = Definition()


@dataclass(frozen=True)
class Module:
    """A module's definitions by name, under "" what else it does, and what its imported names mean.

    An imported name means a module and a name in it, or "" for the module itself.
    """

    defined: Mapping[str, Definition]
    imported: Mapping[str, Name]


@cache
def _read(folder: str, text: str) -> Module:
    """Take a module in `folder`, the package that relative imports start from, apart."""
    statements: dict[str, list[ast.stmt]] = {"": []}
    imported: dict[str, Name] = {}
    for statement in _Stripped().visit(ast.parse(text)).body:
        names: set[str] = set()
        for each in _within(statement):
            if isinstance(each, (ast.Import, ast.ImportFrom)):
                imported.update(_bindings(each, folder))
            else:
                names |= _bound(each)
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name in names or {""}:
                statements.setdefault(name, []).append(statement)
    defined = {}
    for name, parts in statements.items():
        looked = _Uses(folder)
        for each in parts:
            looked.visit(each)
        digest = hashed(map(ast.dump, parts))
        defined[name] = Definition(digest, frozenset(looked.names), frozenset(looked.imports), frozenset(looked.texts))
    return Module(defined, imported)


class _Stripped(ast.NodeTransformer):
    """Takes away what does not change what code does: docstrings, types of arguments, imports for type checkers."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if each is not None:
                each.annotation = None
        node.returns = None
        return self.visit_ClassDef(node)

    def visit_ClassDef(self, node: ast.ClassDef | ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_If(self, node: ast.If) -> Any:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return [self.visit(each) for each in node.orelse]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None  # a docstring, of a module, a constant or a definition
        return self.generic_visit(node)


class _Uses(ast.NodeVisitor):
    """Collects the dotted names that are mentioned (``a.b.c`` is one), imports, and texts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.names: set[tuple[str, ...]] = set()
        self.imports: set[Name] = set()
        self.texts: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            self.names.add((inner.id, *reversed(chain)))
        else:
            self.visit(inner)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.texts.add(node.value)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.imports.update(target for _, target in _bindings(node, self.folder))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.visit_Import(node)


def _bindings(node: ast.Import | ast.ImportFrom, folder: str) -> Iterator[tuple[str, Name]]:
    """Names that an import binds, and what each means."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, (alias.name if alias.asname else top, "")
        return
    base = folder.split(".")[: len(folder.split(".")) - node.level + 1] if node.level else []
    target = ".".join([*base, *filter(None, [node.module])])
    for alias in node.names:
        yield alias.asname or alias.name, (target, alias.name)


def _within(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement of a module, and those in its branches; not what is inside functions and classes."""
    yield statement
    if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
        for each in ast.walk(statement):
            if isinstance(each, ast.stmt) and each is not statement:
                yield each


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


def hashed(parts: Iterable[str]) -> str:
    """Fingerprint of several texts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(f"{len(part)} {part}\n".encode())
    return found.hexdigest()
