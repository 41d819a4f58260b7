"""What a form has sent, as text by name."""

from __future__ import annotations

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from titan.errors import InputError
from titan.web.guard import MOST_BYTES

_MOST_FIELDS = 2000


async def sent(request: Request) -> dict[str, str]:
    """Every field by its name, files as their text; the last of two with one name."""
    try:
        form = await request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=MOST_BYTES)
    except HTTPException as error:
        raise InputError("this form cannot be read", hint=str(error.detail)) from None
    return {name: await _text(name, value) for name, value in form.multi_items()}


async def _text(name: str, value: UploadFile | str) -> str:
    if isinstance(value, str):
        return value.strip()
    try:
        return (await value.read()).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"the {name} is not a text file", hint="choose the file itself") from None


def wanted(fields: dict[str, str], *names: str) -> list[str]:
    """These fields, none of them empty."""
    for name in names:
        if not fields.get(name):
            raise InputError(f"{name} is empty", hint="fill it in, and send the form again")
    return [fields[name] for name in names]
