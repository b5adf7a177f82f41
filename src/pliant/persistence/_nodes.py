"""The inside of a model file: a tree of nodes, each naming a type that must be on the list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pliant._exceptions import ModelFileError
from pliant._files import quoted
from pliant.persistence._archive import check_array
from pliant.persistence._types import loaders

__all__ = ["check_nodes"]

Node: TypeAlias = dict[str, Any]
Children: TypeAlias = Iterator[tuple[object, str]]

MAX_DEPTH = 100
"""The deepest nesting of nodes."""


def check_nodes(root: object, contents: Mapping[str, bytes]) -> None:
    """Check a node and all below it before anything is built from them.

    Parameters
    ----------
    root : object
        A node as it stands in ``schema.json``.
    contents : mapping of str to bytes
        The members of the archive, for the arrays that nodes name.

    Raises
    ------
    ModelFileError
        If a node is of a kind or names a type that is not on the closed list, or does not have
        the shape of its kind; the message tells where, such as ``model.steps[1][1].kernel``.
    """
    allowed = loaders()
    seen: dict[int, object] = {}
    pending: list[tuple[object, str, int]] = [(root, "", 0)]
    while pending:
        value, where, depth = pending.pop()
        node = _listed_node(value, where, allowed)
        _check_identity(node, where, seen)
        if depth > MAX_DEPTH:
            raise ModelFileError(f"expected at most {MAX_DEPTH} levels of nested objects")
        if node["__loader__"] == "NdArrayNode" and node.get("type") == "numpy":
            check_array(contents, node.get("file"), f"{node['__module__']}.{node['__class__']}")
        children = _children(node, where)
        pending.extend((child, place, depth + 1) for child, place in children)


def _listed_node(value: object, where: str, allowed: Mapping[str, frozenset[str]]) -> Node:
    """Return a node whose kind may name the type that it names."""
    if not isinstance(value, dict):
        raise ModelFileError(f"{quoted(where)} is not described")
    loader, name = value.get("__loader__"), f"{value.get('__module__')}.{value.get('__class__')}"
    if not isinstance(loader, str) or name not in allowed.get(loader, frozenset()):
        what = {"FunctionNode": "the function", "MethodNode": "a method of"}.get(str(loader), "a")
        raise ModelFileError(
            f"{quoted(where)} is {what} {quoted(name)}; a model file holds only plain values, "
            "arrays, and estimators and kernels on a closed list"
        )
    return value


def _check_identity(node: Node, where: str, seen: dict[int, object]) -> None:
    """Raise ModelFileError if two nodes of different form claim to be the same object.

    skops builds the first of them and uses it for all, so what is checked of one must hold for
    all: its kind, its type, and the kinds of its items.
    """
    items = node.get("content")
    kinds = (
        [i.get("__loader__") for i in items if isinstance(i, dict)]
        if isinstance(items, list)
        else 0
    )
    form = (node["__loader__"], node["__module__"], node["__class__"], kinds)
    identity = node.get("__id__")
    if not isinstance(identity, int) or seen.setdefault(identity, form) != form:
        raise ModelFileError(f"{quoted(where)} has no number of its own")


def _children(node: Node, where: str) -> Children:
    """Return the nodes below a node and where they are, if it has the shape of its kind."""
    match node:
        case {"__loader__": "TypeNode"}:
            return iter(())
        case {"__loader__": "JsonNode", "content": str(text)}:
            _check_scalar(text, where)
            return iter(())
        case {"__loader__": "NdArrayNode", "type": "numpy"}:
            return iter(())
        case {"__loader__": "NdArrayNode", "type": "json", "content": list(items), "shape": shape}:
            return _chained(_items(items, where), (shape, where))
        case {"__loader__": "ListNode" | "TupleNode", "content": list(items)}:
            return _items(items, where)
        case {"__loader__": "DTypeNode" | "ObjectNode", "content": content}:
            return iter([(content, where)])
        case {"__loader__": "DictNode", "content": dict(content), "key_types": types}:
            _check_keys(types, len(content), where)
            prefix = f"{where}." if where else ""
            named = ((child, f"{prefix}{key}") for key, child in content.items())
            return _chained(named, (types, where))
    raise ModelFileError(f"{quoted(where)} is described in an unknown way")


def _items(items: list[object], where: str) -> Children:
    """Yield the items of a sequence, with their places."""
    return ((item, f"{where}[{i}]") for i, item in enumerate(items))


def _chained(children: Children, last: tuple[object, str]) -> Children:
    """Yield some children and then one more."""
    yield from children
    yield last


def _check_scalar(text: str, where: str) -> None:
    """Raise ModelFileError if a JSON text is more than one plain value."""
    if isinstance(json.loads(text), dict | list):
        raise ModelFileError(f"{quoted(where)} is described in an unknown way")


def _check_keys(types: object, count: int, where: str) -> None:
    """Raise ModelFileError if the keys of a dictionary do not have one type each.

    Their types are called with the keys as text, so they must be types.
    """
    keys = types.get("content") if isinstance(types, dict) else None
    plain = isinstance(keys, list) and all(
        isinstance(key, dict) and key.get("__loader__") == "TypeNode" for key in keys
    )
    if not plain or not isinstance(keys, list) or len(keys) != count:
        raise ModelFileError(f"the keys of {quoted(where)} have unknown types")
