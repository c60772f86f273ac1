"""The schema of `mixstack dump --json`: as users get it, open for fields of later versions, and strict, for tests."""
import copy
import json
import pathlib

OPEN = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/dump.schema.json").read_text())


def _close(schema):
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        schema = schema.values()
    if not isinstance(schema, str):
        for part in schema if hasattr(schema, "__iter__") else ():
            _close(part)


def strict():
    """Every object has the described fields only."""
    closed = copy.deepcopy(OPEN)
    _close(closed)
    return closed
