"""`titan web` as a process, and a client that says whatever it is told to say."""

from __future__ import annotations

import http.client
import random
import re
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_CODE = re.compile(r"works once: (\S+)")


def rows_of(seed: int, rows: int = 60) -> str:
    """A table of y, age and sex."""
    random_ = random.Random(seed)
    lines = ["y,age,sex"]
    for _ in range(rows):
        age, sex = random_.randrange(20, 90), random_.choice("fm")
        lines.append(f"{100 + age // 3 + random_.randrange(20)},{age},{sex}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def links(self) -> list[str]:
        return re.findall(r' (?:href|src|action|data-live)="([^"]*)"', self.text)

    def leads_below(self, path: str) -> bool:
        """Whether all its links, forms and parts are below this path, or in the page itself."""
        return all(each.startswith((f"{path}/", "#")) for each in self.links)

    @property
    def words(self) -> str:
        return " ".join(re.sub(r"<[^>]+>", " ", self.text).split())


class Served:
    """A party's pages, until closed."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "titan", "web", str(folder), "--port", "0", "--no-browser"],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        self.address = self._line().rpartition(": ")[2].rstrip("/")
        self.port = int(self.address.rpartition(":")[2])
        self.code = self.next_code()
        self.cookie = ""
        self.below = ""
        """The path that the session's pages are below, once there is one."""
        self.folder = folder

    def _line(self) -> str:
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        assert line, "titan web has ended"
        return line.strip()

    def next_code(self) -> str:
        while not (found := _CODE.search(self._line())):
            pass
        return found[1]

    def signs_in(self) -> None:
        found = self.post("/enter", {"code": self.code})
        assert found.status == 303
        self.below = found.headers["location"].removesuffix("/study")

    def get(self, path: str, **headers: str) -> Answer:
        return self.get_at(f"{self.below}{path}", **headers)

    def get_at(self, path: str, **headers: str) -> Answer:
        """Whatever session there is."""
        return self._asks("GET", path, b"", {"Accept": "text/html"} | _named(headers))

    def post(
        self, path: str, fields: Mapping[str, str], file: tuple[str, str] | None = None,
        **headers: str,
    ) -> Answer:  # fmt: skip
        """A form, with a file as (field, text)."""
        edge = uuid.uuid4().hex
        parts = [(f'name="{name}"', value) for name, value in fields.items()]
        if file is not None:
            parts.append((f'name="{file[0]}"; filename="x"', file[1]))
        body = "".join(
            f"--{edge}\r\nContent-Disposition: form-data; {said}\r\n\r\n{value}\r\n"
            for said, value in parts
        )
        kind = {"Content-Type": f"multipart/form-data; boundary={edge}", "Origin": self.address}
        data = f"{body}--{edge}--\r\n".encode()
        return self._asks("POST", f"{self.below}{path}", data, kind | _named(headers))

    def _asks(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with_session = {"Cookie": self.cookie} if self.cookie else {}
        sent = {k: v for k, v in (with_session | headers).items() if v != "-"}
        connection.request(method, path, body or None, sent)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        if "set-cookie" in found:
            self.cookie = found["set-cookie"].partition(";")[0]
        if self.below and found.get("location", "").startswith(self.below):
            found["location"] = found["location"].removeprefix(self.below)
        text = answer.read().decode()
        connection.close()
        answered = Answer(answer.status, text, found)
        if self.below and path.startswith(self.below) and answer.status < 300:
            assert answered.leads_below(self.below), path
        return answered

    def close(self) -> str:
        """Ctrl-C; what it said in the end."""
        self._process.terminate()
        said = self._process.communicate(timeout=60)[1]
        return str(said)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
