"""The source of a package, read but not run: what each definition uses, and so what some of them rest on.

Imports in the package are absolute.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

Name = tuple[str, str]
"""A module and a name in it, or the name and an attribute; "" is what the module does on import, "*" all that is in it.

The module "" has the package's data files, by the name of the file.
"""


class Definition(NamedTuple):
    """What counts of a definition: a fingerprint, none for an import, and the names it uses, if they mean anything."""

    digest: str = ""
    uses: frozenset[Name] = frozenset()


class Source:
    """The source of a package; `root` is the package's folder, which has its name."""

    def __init__(self, root: Path) -> None:
        self._modules: dict[str, Path] = {}
        self._files: dict[str, list[Path]] = {}
        for path in sorted(each for each in root.rglob("*") if each.is_file()):
            if path.suffix == ".py":
                module = ".".join((root.name, *path.relative_to(root).with_suffix("").parts))
                self._modules[module.removesuffix(".__init__")] = path
            elif path.suffix != ".pyc":
                self._files.setdefault(path.name, []).append(path)
        self._names: dict[str, Mapping[str, Definition]] = {}

    def digest(self, makers: Iterable[Name]) -> str:
        """Fingerprint of all definitions and data files that `makers` rest on."""
        found: dict[Name, str] = {}
        left = list(makers)
        while left:
            name = left.pop()
            if name not in found:
                found[name], uses = self._definition(*name)
                left += uses
        return hashed(f"{module}:{name} {found[module, name]}" for module, name in sorted(found) if found[module, name])

    def _definition(self, module: str, name: str) -> Definition:
        if not module:
            return _data(self._files.get(name, []))
        if name.startswith("*"):
            return Definition(uses=frozenset((module, each) for each in self._within(module)))
        first, _, attribute = name.partition(".")
        known = self._within(module).get(first)
        if known is None:
            inner = f"{module}.{first}"
            return Definition(uses=frozenset({(inner, attribute or "*")})) if inner in self._modules else Definition()
        if known.digest or not attribute:
            return known
        return Definition(uses=frozenset((where, f"{name}.{attribute}") for where, name in known.uses if name))

    def _within(self, module: str) -> Mapping[str, Definition]:
        """Return the definitions of a module by name; none if it is not of the package."""
        if module not in self._names:
            path = self._modules.get(module)
            self._names[module] = _read(module, path.read_text(encoding="utf-8")) if path else {}
        return self._names[module]


@cache
def _read(module: str, text: str) -> dict[str, Definition]:
    """Take a module apart into what each of its names means."""
    parts: dict[str, list[ast.stmt]] = {}
    for statement in _stripped(ast.parse(text)).body:
        for name, part in _bindings(statement):
            parts.setdefault(name, []).append(part)
    found = {}
    for name, statements in parts.items():
        imported = all(isinstance(each, (ast.Import, ast.ImportFrom)) for each in statements)
        digest = "" if imported else hashed(map(ast.dump, statements))
        found[name] = Definition(digest, frozenset(_uses(module, statements)))
    return found


def _stripped(tree: ast.Module) -> ast.Module:
    """Take away what does not change what code does: docstrings, types of arguments, imports for type checkers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [each for each in node.body if not _is_idle(each)] or [ast.Pass()]
    return tree


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(ast.Constant(str())) | ast.If(ast.Name("TYPE_CHECKING")):
            return True
    return False


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """Names that a statement of a module binds, each with the part that does; "" if it does anything else."""
    match statement:
        case ast.FunctionDef(name) | ast.ClassDef(name):
            yield name, statement
        case ast.ImportFrom(module, names):
            yield from ((each.asname or each.name, ast.ImportFrom(module, [each], 0)) for each in names)
        case ast.Import(names):
            yield from ((each.asname or each.name.partition(".")[0], ast.Import([each])) for each in names)
        case ast.AnnAssign(ast.Name(name)) | ast.Assign([ast.Name(name)]):
            yield name, statement
        case _:
            yield "", statement
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id, statement
                elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
                    yield from ((name, statement) for name, _ in _bindings(node))


def _uses(module: str, statements: list[ast.stmt]) -> Iterator[Name]:
    yield module, ""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    attributes = {node.value: f".{node.attr}" for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        match node:
            case ast.Name(name):
                yield module, name + attributes.get(node, "")
            case ast.ImportFrom(str(origin), names):
                yield from ((origin, each.name) for each in names)
            case ast.Import(names):
                yield from ((each.name, "*") for each in names)
            case ast.Constant(str(text)):
                yield "", text


def _data(files: list[Path]) -> Definition:
    """Data files of one name; a template uses what it names in quotes."""
    templates = [path.read_text(encoding="utf-8") for path in files if path.suffix == ".j2"]
    quoted = (each for text in templates for each in text.replace("'", '"').split('"')[1::2])
    digest = hashed(path.read_bytes().hex() for path in files) if files else ""
    return Definition(digest, frozenset(("", each) for each in quoted))


def hashed(parts: Iterable[str]) -> str:
    """Fingerprint of several texts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(f"{len(part)} {part}\n".encode())
    return found.hexdigest()
