"""The inside of a model file: a tree of nodes, each naming a type that must be on the list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias
from zipfile import ZipFile

from pliant.core.exceptions import ModelFileError
from pliant.core.text import quoted
from pliant.persistence._archive import check_array
from pliant.persistence._types import loaders

Node: TypeAlias = dict[str, Any]
Children: TypeAlias = Iterator[tuple[object, str]]

MAX_DEPTH = 100
"""The deepest nesting of nodes."""


def check_nodes(root: object, archive: ZipFile) -> None:
    """Check a node of ``schema.json`` and all below it before anything is built from them.

    One that is of a kind or names a type that is not on the closed list, or does not have the shape
    of its kind, is refused; the message names its place, such as ``model.steps[1][1].kernel``.
    """
    allowed = loaders()
    seen: dict[int, Node] = {}
    pending: list[tuple[object, str, int]] = [(root, "", 0)]
    while pending:
        value, where, depth = pending.pop()
        node = _listed_node(value, where, allowed)
        _check_identity(node, where, seen)
        if depth > MAX_DEPTH:
            raise ModelFileError(f"expected at most {MAX_DEPTH} levels of nested objects")
        if node["__loader__"] == "NdArrayNode" and node.get("type") == "numpy":
            check_array(archive, node.get("file"), f"{node['__module__']}.{node['__class__']}")
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


def _check_identity(node: Node, where: str, seen: dict[int, Node]) -> None:
    """Raise ModelFileError if two nodes differ that claim to be the same object.

    skops builds the first of them and uses it for all. So what was checked of one holds for all,
    no object contains itself, and a walk over all objects takes no longer than the file is.
    """
    identity = node.get("__id__")
    if not isinstance(identity, int):
        raise ModelFileError(f"{quoted(where)} has no number")
    first = seen.setdefault(identity, node)
    if first is not node and _content(first) != _content(node):
        raise ModelFileError(f"{quoted(where)} has the number of another object")


def _content(value: Any) -> Any:
    """Return a copy without identifiers and arrays for dtypes, which differ in each file."""
    if isinstance(value, list):
        return [_content(item) for item in value]
    if isinstance(value, dict):
        new = {"__id__", "content"} if value.get("__loader__") == "DTypeNode" else {"__id__"}
        return {key: _content(item) for key, item in value.items() if key not in new}
    return value


def _children(node: Node, where: str) -> Children:
    """Return the nodes below a node and where they are, if it has the shape of its kind."""
    match node:
        case {"__loader__": "TypeNode"}:
            return iter(())
        case {"__loader__": "JsonNode", "content": str(text)}:
            _check_scalar(text, where)
            return iter(())
        case {
            "__loader__": "SliceNode",
            "content": {"start": None | int(), "stop": None | int(), "step": None | int()},
        }:
            return iter(())
        case {"__loader__": "NdArrayNode", "type": "numpy"}:
            return iter(())
        case {"__loader__": "NdArrayNode", "type": "json", "content": list(items), "shape": shape}:
            return chain(_items(items, where), [(shape, where)])
        case {"__loader__": "ListNode" | "TupleNode", "content": list(items)}:
            return _items(items, where)
        case {"__loader__": "DTypeNode", "content": {"type": "numpy"} | {"content": []} as empty}:
            return iter([(empty, where)])
        case {"__loader__": "ObjectNode", "content": content}:
            return iter([(content, where)])
        case {"__loader__": "DictNode", "content": dict(content), "key_types": types}:
            _check_keys(types, len(content), where)
            prefix = f"{where}." if where else ""
            named = ((child, f"{prefix}{key}") for key, child in content.items())
            return chain(named, [(types, where)])
    raise ModelFileError(f"{quoted(where)} is described in an unknown way")


def _items(items: list[object], where: str) -> Children:
    """Yield the items of a sequence, with their places."""
    return ((item, f"{where}[{i}]") for i, item in enumerate(items))


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
