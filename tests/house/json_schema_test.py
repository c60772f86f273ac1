"""The JSON that `mixstack dump --json` writes keeps to docs/formats/dump.schema.json, which is open for new fields."""
import copy
import json
import pathlib
import re
import sys
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import dump_schema  # noqa: E402

SCHEMA = dump_schema.strict()
GOLDEN = sorted((ROOT / "tests/golden/report").glob("*.json"))


class WaitKinds(unittest.TestCase):
    """The table of kinds of waits is what text, JSON and schemas go by."""

    def test_schemas_list_the_table(self):
        table = re.findall(r'\.kind = Kind::(\w+),\s+\.name = "(\w+)"', (ROOT / "src/base/words/wait_kinds.cc").read_text())
        names = [name for _, name in table if name != "none"]
        self.assertGreater(len(names), 20)
        self.assertEqual([kind for kind, _ in table], [name for _, name in table])
        for schema in ("dump", "why"):
            found = re.findall(r'"kind": \{"enum": \[("monitor",.*?)\]\}', (ROOT / f"docs/formats/{schema}.schema.json").read_text(), re.S)
            self.assertGreater(len(found), 0, schema)
            for kinds in found:
                self.assertEqual(re.findall(r'"(\w+)"', kinds), names, schema)


class JsonSchema(unittest.TestCase):
    def test_schema_is_a_schema(self):
        for schema in (SCHEMA, dump_schema.OPEN):
            jsonschema.Draft7Validator.check_schema(schema)

    def test_golden_documents(self):
        self.assertGreaterEqual(len(GOLDEN), 2)
        for path in GOLDEN:
            with self.subTest(path.name):
                jsonschema.validate(json.loads(path.read_text()), SCHEMA)

    def test_promised_names_are_required(self):
        document = json.loads(GOLDEN[0].read_text())
        for key in ("kind", "ip", "sp", "name", "raw_name", "module", "file", "line"):
            broken = copy.deepcopy(document)
            del broken["threads"][0]["frames"][0][key]
            with self.subTest(key), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(broken, SCHEMA)

    def test_users_accept_fields_of_later_versions(self):
        """At every level: what a later version adds breaks nobody who validates."""
        def add(value):
            if isinstance(value, dict):
                for part in value.values():
                    add(part)
                if not all(isinstance(part, str) and part.startswith("0x") for part in value.values()):  # registers
                    value["of_a_later_version"] = 1
            elif isinstance(value, list):
                for part in value:
                    add(part)

        for path in GOLDEN:
            document = json.loads(path.read_text())
            add(document)
            with self.subTest(path.name):
                jsonschema.validate(document, dump_schema.OPEN)

    def test_unknown_fields_and_kinds_are_refused_by_the_tests(self):
        for change in ({"kind": "interpreted"}, {"surprise": 1}, {"ip": "7f00"}):
            broken = json.loads(GOLDEN[0].read_text())
            broken["threads"][0]["frames"][0].update(change)
            with self.subTest(change), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(broken, SCHEMA)


if __name__ == "__main__":
    unittest.main()
