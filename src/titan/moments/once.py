"""An attribute that is worked out when it is first asked for.

As functools.cached_property, which before Python 3.12 lets only one thread at a time work out an
attribute, of whatever object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - used as a decorator
    """The method's result, which then is the attribute."""

    def __init__(self, method: Callable[[Any], T]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, it: None, owner: type | None = None) -> once[T]: ...
    @overload
    def __get__(self, it: object, owner: type | None = None) -> T: ...
    def __get__(self, it: object | None, owner: type | None = None) -> once[T] | T:
        if it is None:
            return self
        found = it.__dict__[self._name] = self._method(it)
        return found
