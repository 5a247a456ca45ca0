"""The graph of a ClosedJaxpr of scalars: how functions that users wrote with `jax.numpy` come in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftjax.lanes.graph import Graph, without_dead_code

if TYPE_CHECKING:  # its import takes a tenth of a start from a warm cache
    from jax.extend.core import ClosedJaxpr

FLOATS = {np.dtype(name) for name in ("float64", "float32", "bool")}
UNARY = {"sqrt", "exp", "log", "tanh", "asin", "acos", "atan", "sinh", "cosh", "floor", "ceil", "sign", "is_finite"}
COPIES = {"copy", "copy_p", "stop_gradient", "reduce_precision", "optimization_barrier"}
SHAPE_COPIES = {"broadcast_in_dim", "reshape", "squeeze"}  # of a scalar to a scalar
INNER = {"jaxpr", "call_jaxpr", "fun_jaxpr"}  # parameters that hold the body of pjit, closed_call, custom_jvp, ...


def _table() -> dict[str, Callable[[Graph, list[int], dict[str, Any]], int]]:
    table: dict[str, Callable[[Graph, list[int], dict[str, Any]], int]] = {
        "add": lambda g, x, p: g.add(x[0], x[1]),
        "add_any": lambda g, x, p: g.add(x[0], x[1]),
        "sub": lambda g, x, p: g.add(x[0], x[1] ^ 1),
        "mul": lambda g, x, p: g.mul(x[0], x[1]),
        "div": lambda g, x, p: g.div(x[0], x[1]),
        "neg": lambda g, x, p: x[0] ^ 1,
        "sin": lambda g, x, p: g.sin(x[0]),
        "cos": lambda g, x, p: g.cos(x[0]),
        "tan": lambda g, x, p: g.div(g.sin(x[0]), g.cos(x[0])),
        "abs": lambda g, x, p: g.absolute(x[0]),
        "square": lambda g, x, p: g.mul(x[0], x[0]),
        "integer_pow": lambda g, x, p: g.power(x[0], p["y"]),
        "rsqrt": lambda g, x, p: g.div(g.const(1.0), g.node("sqrt", x[0])),
        "max": lambda g, x, p: g.node("max", min(x), max(x)),
        "min": lambda g, x, p: g.node("min", min(x), max(x)),
        "atan2": lambda g, x, p: g.node("atan2", x[0], x[1]),
        "pow": lambda g, x, p: g.node("pow", x[0], x[1]),
        "clamp": lambda g, x, p: g.node("min", *sorted((g.node("max", *sorted((x[0], x[1]))), x[2]))),
        "not": lambda g, x, p: g.node("not", x[0]),
    }
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        table[name] = lambda g, x, p, name=name: g.compare(name, x[0], x[1])
    for name in ("and", "or"):
        table[name] = lambda g, x, p, name=name: g.node(name, min(x), max(x))
    for name in UNARY:
        table[name] = lambda g, x, p, name=name: g.node(name, x[0])
    return table


HANDLERS = _table()


def graph_of_jaxpr(closed: ClosedJaxpr, precision: str) -> Graph:
    """The distinct live operations of `closed` for a kernel of `precision`.

    Raises:
        NotImplementedError: an unsupported primitive.
        TypeError: arrays, integers, or float32 code for an f64 kernel.
    """
    for var in (*closed.jaxpr.invars, *closed.jaxpr.outvars):
        _check(var.aval, precision)
    graph = Graph(signed_zeros=_uses_atan2(closed.jaxpr), single=precision == "f32")
    arguments = [graph.node("in", k) for k in range(len(closed.jaxpr.invars))]
    graph.outputs = _inline(graph, closed.jaxpr, closed.consts, arguments, precision)
    for ref in graph.outputs:
        if graph.is_boolean(ref):
            raise TypeError("an output of a piece is a boolean: select numbers by it instead")
    return without_dead_code(graph)


def _check(aval: Any, precision: str) -> None:
    if aval.shape != ():
        raise TypeError(f"a piece works on scalars, found an array of shape {aval.shape}")
    if precision == "f64" and aval.dtype == np.float32:
        raise TypeError(
            "an f64 kernel was given code traced in float32: trace it under jax.enable_x64(True) with float64 arguments"
        )
    if aval.dtype not in FLOATS:
        raise TypeError(f"a piece works on floats and booleans, found {aval.dtype}")


def _uses_atan2(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name == "atan2" or any(_uses_atan2(_body(eqn)[0]) for key in INNER if key in eqn.params)
        for eqn in jaxpr.eqns
    )


def _body(eqn: Any) -> tuple[Any, Sequence[Any]] | tuple[None, tuple[()]]:
    for key in ("call_jaxpr", "jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(key)
        if inner is not None:
            return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())
    return None, ()


def _inline(graph: Graph, jaxpr: Any, consts: Sequence[Any], arguments: list[int], precision: str) -> list[int]:
    env: dict[Any, int] = dict(zip(jaxpr.invars, arguments, strict=True))
    env.update(zip(jaxpr.constvars, (graph.const(float(c)) for c in consts), strict=True))
    handlers = HANDLERS

    def read(atom: Any) -> int:
        return _literal(graph, atom.val) if hasattr(atom, "val") else env[atom]  # a Literal has a value, a Var a name

    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        refs = [read(atom) for atom in eqn.invars]
        handler = handlers.get(name)
        if handler is not None:
            env[eqn.outvars[0]] = handler(graph, refs, eqn.params)
        elif name == "select_n" and len(refs) == 3:
            env[eqn.outvars[0]] = graph.select(*refs)
        elif name == "convert_element_type":
            env[eqn.outvars[0]] = _convert(graph, refs[0], eqn, precision)
        elif name in COPIES or (name in SHAPE_COPIES and eqn.outvars[0].aval.shape == ()):
            env.update(zip(eqn.outvars, refs, strict=True))
        else:
            inner, inner_consts = _body(eqn)
            if inner is None:
                raise NotImplementedError(f"primitive {name!r} is not part of the scalar language of lane programs")
            env.update(zip(eqn.outvars, _inline(graph, inner, inner_consts, refs, precision), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _literal(graph: Graph, value: Any) -> int:
    if np.asarray(value).dtype == np.bool_:
        return graph.node("true" if value else "false")
    return graph.const(float(value))


def _convert(graph: Graph, ref: int, eqn: Any, precision: str) -> int:
    source, target = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    _check(eqn.outvars[0].aval, precision)
    if source == target or (source.kind == "f" and target.kind == "f"):
        return ref
    if source == np.bool_:
        return graph.node("select", ref, graph.const(1.0), graph.const(0.0))
    if target == np.bool_:
        return graph.node("ne", ref, graph.const(0.0))
    literal = graph.value(ref)
    if literal is None:
        raise TypeError(f"a piece works on floats and booleans, found {source} converted to {target}")
    return graph.const(literal)
