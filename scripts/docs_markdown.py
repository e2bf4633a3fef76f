"""Markdown for the documentation site: formulas become MathML when it is built, and docstrings become Markdown.

Browsers draw MathML themselves, so the pages need no script and no network. Docstrings write formulas, references and
examples the way Sphinx reads them (``:math:``, ``.. math::``, ``:class:``, ``>>>``); here they become what Markdown
has for the same. `mkdocs.yml` names this file as an extension.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe
from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

BLOCK = re.compile(r"^( *)\.\. math::[ \t]*(.*\n(?:(?:\1 +.*)?\n)*)", re.MULTILINE)
MATH = re.compile(r":math:`([^`]+)`")
FENCED = re.compile(r"(^ *```.*?^ *```[ \t]*$)", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*\n?|\n(?=    ))+)", re.MULTILINE)
EXAMPLE = re.compile(r"^( *)(>>> .*(?:\n\1[ \t]*\S.*)*)$", re.MULTILINE)
ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`(~?)([^`]+)`")


class Docstrings(Preprocessor):
    """Turns roles and unfenced examples into Markdown, and leaves fenced code alone.

    >>> Docstrings().run(["See :meth:`~fairgate.Run.save` and :math:`x_t`.", "", ">>> 1 + 1", "2"])
    ['See `save` and $x_t$.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """

    def run(self, lines: list[str]) -> list[str]:
        """Return the lines of a text with what only Sphinx reads replaced."""
        parts = FENCED.split("\n".join(lines))
        parts[::2] = [self.replaced(text) for text in parts[::2]]
        return "".join(parts).split("\n")

    def replaced(self, text: str) -> str:
        """Return a text without fenced code with what only Sphinx reads replaced."""
        text = BLOCK.sub(lambda found: f"{found[1]}$${' '.join(textwrap.dedent(found[2]).split())}$$\n\n", text + "\n")
        text = MATH.sub(lambda found: f"${' '.join(found[1].split())}$", text.removesuffix("\n"))
        text = ROLE.sub(lambda found: f"`{found[2].rpartition('.')[2] if found[1] else found[2]}`", text)
        return EXAMPLE.sub(r"\1```pycon\n\1\2\n\1```", text)


class OneByOne(griffe.Extension):
    r"""Lists parameters that a docstring tells of together one by one, so that each has its own type.

    >>> OneByOne().apart("low, high\n    Ends of the window.\n")
    'low\n    Ends of the window.\nhigh\n    Ends of the window.\n'
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object before it is read."""
        if obj.docstring is not None:
            obj.docstring.value = self.apart(obj.docstring.value)

    def apart(self, text: str) -> str:
        """Return a docstring with one entry for each name."""
        return NAMES.sub(
            lambda found: (
                "".join(f"{name}\n{found[2].rstrip()}\n" for name in found[1].split(", "))
                + "\n" * (len(found[2]) - len(found[2].rstrip("\n")) - 1)
            ),
            text,
        )


class Formula(InlineProcessor):
    """Turns LaTeX between dollars into MathML."""

    def __init__(self, pattern: str, md: Markdown, display: str) -> None:
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]  # noqa: N802
        """Return a placeholder that becomes the formula."""
        formula = convert(m[1].replace("−", "-"), display=self.display)
        return self.md.htmlStash.store(formula), m.start(0), m.end(0)


class DocsMarkdown(Extension):
    """Docstrings and formulas, as an extension of Python-Markdown."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register before fenced code is taken out, and between code spans and backslash escapes."""
        md.preprocessors.register(Docstrings(md), "docstrings", 30)
        md.inlinePatterns.register(Formula(r"\$\$(.+?)\$\$", md, "block"), "docs-display", 186)
        md.inlinePatterns.register(Formula(r"\$(?!\s)([^$]+?)(?<!\s)\$", md, "inline"), "docs-inline", 185)


def makeExtension(**options: Any) -> DocsMarkdown:  # noqa: N802
    """Return the extension, under the name that Python-Markdown asks for."""
    return DocsMarkdown(**options)
