"""Decodes OTLP profiles by OpenTelemetry's own schema, with Google's protobuf (python3-protobuf, protobuf-compiler)."""
import functools
import pathlib
import shutil
import subprocess
import tempfile

SCHEMA = pathlib.Path(__file__).resolve().parent / "otlp"
SERVICE = "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto"
REQUEST = "opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest"
RESPONSE = "opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceResponse"


def why_not():
    """Empty when profiles can be decoded."""
    try:
        import google.protobuf  # noqa: F401
    except ImportError:
        return "no python3-protobuf"
    return "" if shutil.which("protoc") else "no protobuf-compiler"


@functools.cache
def _messages():
    from google.protobuf import descriptor_pb2, descriptor_pool
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"-I{SCHEMA}", "--include_imports", f"--descriptor_set_out={out.name}", SERVICE],
                       check=True, timeout=60)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


def message(name):
    from google.protobuf import message_factory
    return message_factory.MessageFactory(_messages()).GetPrototype(_messages().FindMessageTypeByName(name))()


def response(rejected=0, words=""):
    """What a server answers."""
    answer = message(RESPONSE)
    if rejected or words:
        answer.partial_success.rejected_profiles = rejected
        answer.partial_success.error_message = words
    return answer.SerializeToString()


def _value(value):
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind else None


class Profiles:
    """One request. Whatever points into a table beyond its end raises."""

    def __init__(self, body):
        self.request = message(REQUEST)
        self.request.ParseFromString(body)
        self.tables = self.request.dictionary
        self._check_zero_values()

    def _check_zero_values(self):
        tables = self.tables
        for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.attribute_table,
                      tables.stack_table):
            assert table[0] == type(table[0])(), table[0]
        assert tables.string_table[0] == ""
        assert not any(tables.link_table[0].trace_id + tables.link_table[0].span_id)

    def text(self, index):
        return self.tables.string_table[index]

    def attributes(self, indices):
        found = {}
        for index in indices:
            attribute = self.tables.attribute_table[index]
            assert self.text(attribute.key_strindex) not in found, "a key that is there twice"
            found[self.text(attribute.key_strindex)] = _value(attribute.value)
        return found

    def stack(self, index):
        """Names, outermost first."""
        names = []
        for location in self.tables.stack_table[index].location_indices:
            for line in self.tables.location_table[location].lines:
                names.append(self.text(self.tables.function_table[line.function_index].name_strindex))
        return tuple(reversed(names))

    def profiles(self):
        """(attributes of the resource, profile) of each."""
        for resource in self.request.resource_profiles:
            attributes = {a.key: _value(a.value) for a in resource.resource.attributes}
            for scope in resource.scope_profiles:
                for profile in scope.profiles:
                    yield attributes, profile

    def sums(self):
        """{(type, unit): {stack: sum of values}}"""
        sums = {}
        for _, profile in self.profiles():
            kind = (self.text(profile.sample_type.type_strindex), self.text(profile.sample_type.unit_strindex))
            stacks = sums.setdefault(kind, {})
            for sample in profile.samples:
                stack = self.stack(sample.stack_index)
                stacks[stack] = stacks.get(stack, 0) + sum(sample.values)
        return sums
