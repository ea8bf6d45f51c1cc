"""Arithmetic over the paper's numbers, the only language of the file of self-checks."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class ExpressionError(ValueError):
    """An expression uses what is not allowed; the message names it."""


def evaluate(expression: str, names: Mapping[str, Any]) -> Any:
    """Compute an expression: numbers, names, + - * /, comparisons, and, or, not, if-else and `FUNCTIONS`.

    Names stand for numbers or arrays, and operators work on each element. ``and``, ``or``, ``not`` and ``if`` need one
    truth value.

    Raises
    ------
    ExpressionError
        Where it has anything else, or a name that is not given.
    """
    try:
        return _value(ast.parse(expression, mode="eval").body, names)
    except (SyntaxError, ExpressionError) as error:
        raise ExpressionError(f"{expression!r}: {error}") from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float()):
            value = node.value
        case ast.Name(id=name) if name in names:
            value = names[name]
        case ast.UnaryOp(op=op) if type(op) in _UNARY:
            value = _UNARY[type(op)](_value(node.operand, names))
        case ast.BinOp(op=op) if type(op) in _BINARY:
            value = _BINARY[type(op)](_value(node.left, names), _value(node.right, names))
        case ast.BoolOp():
            join = all if isinstance(node.op, ast.And) else any
            value = join(bool(_value(part, names)) for part in node.values)
        case ast.Compare(ops=ops) if all(type(op) in _COMPARED for op in ops):
            values = [_value(part, names) for part in (node.left, *node.comparators)]
            steps = zip(ops, values, values[1:], strict=False)
            value = reduce(np.logical_and, [_COMPARED[type(op)](one, other) for op, one, other in steps])
        case ast.IfExp():
            value = _value(node.body if _value(node.test, names) else node.orelse, names)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            value = FUNCTIONS[name](*(_value(part, names) for part in node.args))
        case _:
            raise ExpressionError(f"{ast.unparse(node)} is no number, known name or allowed operation")
    return value


_UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.Not: operator.not_}
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@cache
def wilcoxon_levels(n: float) -> Array:
    """List every two-sided p of the exact signed-rank test of n pairs without ties or zeros, ascending."""
    # Ways to reach each rank sum: the product of the polynomials 1 + x^r.
    ways = np.ones(1)
    for rank in range(1, int(n) + 1):
        ways = np.convolve(ways, np.concatenate([[1.0], np.zeros(rank - 1), [1.0]]))
    return np.unique(np.minimum(1.0, 2 * np.cumsum(ways) / 2.0**n))


def flip_levels(n: float) -> Array:
    """List every two-sided p of all sign flips of n pairs, which are even multiples of 2^-n, ascending."""
    return np.arange(1, 2 ** (int(n) - 1) + 1) / 2.0 ** (n - 1)


def implied_prevalence(recall: ArrayLike, balanced_accuracy: ArrayLike, f1: ArrayLike) -> Array:
    """Compute the share of positives at which one classifier has these three; NaN where no share gives them.

    With recall r, specificity s = 2 BA - r and precision q = f1 r / (2 r - f1), q = pi r / (pi r + (1 - pi)(1 - s)) is
    solved for pi.
    """
    r, accuracy, f = (np.asarray(values, dtype=np.float64) for values in (recall, balanced_accuracy, f1))
    possible = f < 2 * r
    precision = f * r / np.where(possible, 2 * r - f, 1.0)
    false_alarms = 1 - (2 * accuracy - r)
    share = precision * false_alarms / (precision * false_alarms + r * (1 - precision))
    return np.where(possible, share, np.nan)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    # Of each element.
    "abs": np.abs,
    "sqrt": np.sqrt,
    "fmin": lambda *values: reduce(np.fmin, values),
    "fmax": lambda *values: reduce(np.fmax, values),
    "known": lambda value: not np.isnan(value),
    "first_known": lambda one, other: np.where(np.isnan(one), other, one),
    "implied_prevalence": implied_prevalence,
    # Of an array, to one number.
    "min": np.nanmin,
    "max": np.nanmax,
    "median": np.nanmedian,
    "all": np.all,
    "any": np.any,
    "count": np.count_nonzero,
    "size": len,
    "first": lambda values: values[0],
    "second_largest": lambda values: np.sort(values)[-2],
    "at_largest": lambda values, by: values[int(np.argmax(by))],
    "closest": lambda values, to: values[int(np.argmin(np.abs(values - to)))],
    "correlation": lambda one, other: np.corrcoef(one, other)[0, 1],
    # Of values at the corners of rounding, to one per row.
    "lowest": lambda corners: np.nanmin(corners, axis=0),
    "highest": np.fmax.reduce,
    # Arrays.
    "array": lambda *values: np.array(values),
    "wilcoxon_levels": wilcoxon_levels,
    "flip_levels": flip_levels,
}
"""What an expression may call."""
