"""The JSON that `mixstack dump --json` writes keeps to docs/formats/dump.schema.json, and the schema is strict."""
import copy
import json
import pathlib
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/formats/dump.schema.json").read_text())
GOLDEN = sorted((ROOT / "tests/golden/report").glob("*.json"))


class JsonSchema(unittest.TestCase):
    def test_schema_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)

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

    def test_unknown_fields_and_kinds_are_refused(self):
        for change in ({"kind": "interpreted"}, {"surprise": 1}, {"ip": "7f00"}):
            broken = json.loads(GOLDEN[0].read_text())
            broken["threads"][0]["frames"][0].update(change)
            with self.subTest(change), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(broken, SCHEMA)


if __name__ == "__main__":
    unittest.main()
