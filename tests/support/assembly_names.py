"""Names of types, fields and methods out of the metadata of assemblies (ECMA-335, partition II)."""
import collections
import struct

# Columns of the tables up to MethodDef, and of those that come before NestedClass: a number is a width in bytes, a
# letter a heap (s: #Strings, g: #GUID, b: #Blob), a tuple (bits of the tag, tables...) a coded index, "t.." a table.
TYPE_DEF_OR_REF, HAS_CONSTANT = (2, 0x02, 0x01, 0x1B), (2, 0x04, 0x08, 0x17)
HAS_ATTRIBUTE = (5, 0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x00, 0x0E, 0x17, 0x14, 0x11, 0x1A, 0x1B, 0x20, 0x23, 0x26,
                 0x27, 0x28, 0x2A, 0x2C, 0x2B)
COLUMNS = {
    0x00: [2, "s", "g", "g", "g"], 0x01: [(2, 0x00, 0x1A, 0x23, 0x01), "s", "s"],
    0x02: [4, "s", "s", TYPE_DEF_OR_REF, (0, 0x04), (0, 0x06)], 0x03: [(0, 0x04)], 0x04: [2, "s", "b"],
    0x05: [(0, 0x06)], 0x06: [4, 2, 2, "s", "b", (0, 0x08)], 0x07: [(0, 0x08)], 0x08: [2, 2, "s"],
    0x09: [(0, 0x02), TYPE_DEF_OR_REF], 0x0A: [(3, 0x02, 0x01, 0x1A, 0x06, 0x1B), "s", "b"], 0x0B: [2, HAS_CONSTANT, "b"],
    0x0C: [HAS_ATTRIBUTE, (3, 0x06, 0x0A), "b"], 0x0D: [(1, 0x04, 0x08), "b"], 0x0E: [2, (2, 0x02, 0x06, 0x20), "b"],
    0x0F: [2, 4, (0, 0x02)], 0x10: [4, (0, 0x04)], 0x11: ["b"], 0x12: [(0, 0x02), (0, 0x14)], 0x13: [(0, 0x14)],
    0x14: [2, "s", TYPE_DEF_OR_REF], 0x15: [(0, 0x02), (0, 0x17)], 0x16: [(0, 0x17)], 0x17: [2, "s", "b"],
    0x18: [2, (0, 0x06), (1, 0x14, 0x17)], 0x19: [(0, 0x02), (1, 0x06, 0x0A), (1, 0x06, 0x0A)], 0x1A: ["s"], 0x1B: ["b"],
    0x1C: [2, (1, 0x04, 0x06), "s", (0, 0x1A)], 0x1D: [4, (0, 0x04)], 0x20: [4, 2, 2, 2, 2, 4, "b", "s", "s"],
    0x21: [4], 0x22: [4, 4, 4], 0x23: [2, 2, 2, 2, 4, "b", "s", "s", "b"], 0x24: [4, (0, 0x23)], 0x25: [4, 4, 4, (0, 0x23)],
    0x26: [4, "s", "b"], 0x27: [4, 4, "s", "s", (2, 0x26, 0x23, 0x27)],
    0x28: [4, 4, "s", (2, 0x26, 0x23, 0x27)], 0x29: [(0, 0x02), (0, 0x02)],
}
TYPE_DEF, FIELD, METHOD_DEF, ASSEMBLY, NESTED_CLASS = 0x02, 0x04, 0x06, 0x20, 0x29

# name: as reflection writes it, "A.B`1+C"; methods: (name, whether it is generic) of each.
Type = collections.namedtuple("Type", "name fields methods")


def metadata_of(image):
    """The bytes from the metadata root on, of a PE file with a CLI header; None: it has none."""
    if image[:2] != b"MZ":
        return None
    pe, = struct.unpack_from("<I", image, 0x3C)
    count, size = struct.unpack_from("<H12xH", image, pe + 6)
    optional = pe + 24
    directories = optional + (112 if struct.unpack_from("<H", image, optional)[0] == 0x20B else 96)
    sections = [struct.unpack_from("<IIII", image, optional + size + 40 * i + 8) for i in range(count)]

    def at(rva):
        return next(rva - begin + raw for length, begin, raw_size, raw in sections
                    if begin <= rva < begin + max(length, raw_size))
    header, = struct.unpack_from("<I", image, directories + 8 * 14)
    if header == 0:
        return None
    return image[at(struct.unpack_from("<I", image, at(header) + 8)[0]):]


class Metadata:
    def __init__(self, root):
        version, = struct.unpack_from("<I", root, 12)
        at, streams = 20 + version, {}
        for _ in range(struct.unpack_from("<H", root, 18 + version)[0]):
            offset, size = struct.unpack_from("<II", root, at)
            end = root.index(b"\0", at + 8)
            streams[root[at + 8:end].decode()] = root[offset:offset + size]
            at += 8 + (end - at - 8) // 4 * 4 + 4
        self._strings, self._blobs, self._tables = streams["#Strings"], streams["#Blob"], streams["#~"]
        self._read_shape()

    def _read_shape(self):
        heaps, present = struct.unpack_from("<6xBxQ", self._tables)
        ids = [i for i in range(64) if present >> i & 1]
        self.rows = dict(zip(ids, struct.unpack_from(f"<{len(ids)}I", self._tables, 24)))
        self._heaps = {"s": 4 if heaps & 1 else 2, "g": 4 if heaps & 2 else 2, "b": 4 if heaps & 4 else 2}
        self._forms, at = {}, 24 + 4 * len(ids)
        for table in ids:
            if table not in COLUMNS:
                break
            form = struct.Struct("<" + "".join({2: "H", 4: "I"}[self._width(c)] for c in COLUMNS[table]))
            self._forms[table] = (at, form)
            at += form.size * self.rows[table]

    def _width(self, column):
        if isinstance(column, int):
            return column
        if isinstance(column, str):
            return self._heaps[column]
        bits, *tables = column
        return 2 if max(self.rows.get(t, 0) for t in tables) < 1 << (16 - bits) else 4

    def table(self, number):
        """All rows, as tuples."""
        if number not in self._forms:
            return []
        at, form = self._forms[number]
        return list(form.iter_unpack(self._tables[at:at + form.size * self.rows[number]]))

    def string(self, at):
        return self._strings[at:self._strings.index(b"\0", at)].decode()

    def is_generic(self, signature):
        """Of a method's signature, whose first byte follows its length."""
        first = self._blobs[signature]
        length = 1 if first < 0x80 else 2 if first < 0xC0 else 4
        return bool(self._blobs[signature + length] & 0x10)


def types_of(path):
    """(name of the assembly, its types); None: the file is no assembly."""
    root = metadata_of(path.read_bytes())
    if root is None:
        return None
    data = Metadata(root)
    types, fields, methods = data.table(TYPE_DEF), data.table(FIELD), data.table(METHOD_DEF)
    outer = dict(data.table(NESTED_CLASS))
    ends = [(t[4] - 1, t[5] - 1) for t in types[1:]] + [(len(fields), len(methods))]

    def full_name(row):
        name, space = data.string(types[row - 1][1]), data.string(types[row - 1][2])
        return f"{full_name(outer[row])}+{name}" if row in outer else f"{space}.{name}" if space else name
    found = []
    for row, (type_, (field_end, method_end)) in enumerate(zip(types, ends), 1):
        found.append(Type(full_name(row), [data.string(f[1]) for f in fields[type_[4] - 1:field_end]],
                          [(data.string(m[3]), data.is_generic(m[4])) for m in methods[type_[5] - 1:method_end]]))
    return data.string(data.table(ASSEMBLY)[0][7]), found
