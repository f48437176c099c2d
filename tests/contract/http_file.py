"""Sends what a .http file holds: requests between lines of `###`, variables in double braces."""

import json
import re
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import urllib3

_DELIMITER = re.compile(r"^###.*\n", re.MULTILINE)
_VARIABLE = re.compile(r"^@(\w+) = (.+)$", re.MULTILINE)
_NAME = re.compile(r"^# @name (\w+)\n", re.MULTILINE)
_USED = re.compile(r"\{\{(.+?)\}\}")
_FIELD_OF_AN_ANSWER = re.compile(r"(\w+)\.response\.body\.\$\.(.+)")


class Sent(NamedTuple):
    """A request that was sent, and the status of its answer."""

    method: str
    path: str
    status: int


def send_all(text: str, settings: Mapping[str, str]) -> list[Sent]:
    """Send the requests one after the other; `settings` stand in the place of the file's own."""
    head, *blocks = _DELIMITER.split(text)
    variables = dict(_VARIABLE.findall(head))
    assert settings.keys() <= variables.keys()
    variables |= settings
    answers: dict[str, Any] = {}
    sent = []
    with urllib3.PoolManager(retries=False) as pool:
        for block in blocks:
            method, url, headers, body = _request(_filled(block, variables, answers))
            reply = pool.request(method, url, headers=headers, body=body)
            sent.append(Sent(method, urlsplit(url).path, reply.status))
            for name in _NAME.findall(block):
                answers[name] = json.loads(reply.data)
    return sent


def _request(block: str) -> tuple[str, str, dict[str, str], str | None]:
    top, _, body = _NAME.sub("", block).strip().partition("\n\n")
    line, *headers = top.splitlines()
    method, url = line.split(" ")
    return method, url, dict(header.split(": ", 1) for header in headers), body or None


def _filled(block: str, variables: Mapping[str, str], answers: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        field = _FIELD_OF_AN_ANSWER.fullmatch(match[1])
        if field is None:
            return str(uuid.uuid4()) if match[1] == "$guid" else variables[match[1]]
        found = answers[field[1]]
        for step in re.findall(r"\w+", field[2]):
            found = found[int(step) if step.isdigit() else step]
        return str(found)

    return _USED.sub(value, block)
