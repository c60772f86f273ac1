// Builds ECMA-335 metadata blobs row by row, written against the standard and independent of the reader under test.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/byte_lists.h"

namespace mixstack::test {

/// Bytes appended little-endian.
class ByteWriter {
 public:
  ByteWriter& u8(unsigned v) { return put(v, 1); }
  ByteWriter& u16(unsigned v) { return put(v, 2); }
  ByteWriter& u32(std::uint64_t v) { return put(v, 4); }
  ByteWriter& u64(std::uint64_t v) { return put(v, 8); }
  ByteWriter& put(std::uint64_t v, unsigned n) {
    for (unsigned i = 0; i < n; i++) bytes.push_back(static_cast<std::byte>(v >> (8 * i)));
    return *this;
  }
  ByteWriter& text(std::string_view s) {
    for (const char c : s) bytes.push_back(static_cast<std::byte>(c));
    return *this;
  }
  ByteWriter& append(const std::vector<std::byte>& other) {
    bytes.insert(bytes.end(), other.begin(), other.end());
    return *this;
  }
  ByteWriter& align(std::size_t n) {
    while (bytes.size() % n != 0) bytes.push_back(std::byte{0});
    return *this;
  }
  std::vector<std::byte> bytes;
};

/// Rows are lists of cell values; the widths are the caller's statement of what the format demands.
class MetadataBuilder {
 public:
  struct Cell {
    std::uint64_t value = 0;
    unsigned width = 2;
  };

  std::uint32_t string(std::string_view s) {
    if (s.empty()) return 0;
    const auto at = static_cast<std::uint32_t>(strings_.bytes.size());
    strings_.text(s).u8(0);
    return at;
  }
  std::uint32_t blob(const std::vector<std::byte>& b) {
    const auto at = static_cast<std::uint32_t>(blobs_.bytes.size());
    if (b.size() < 0x80) {
      blobs_.u8(static_cast<unsigned>(b.size()));
    } else {
      blobs_.u8(0x80 | static_cast<unsigned>(b.size() >> 8)).u8(b.size() & 0xff);
    }
    blobs_.append(b);
    return at;
  }
  std::uint32_t guid(std::uint8_t fill) {
    for (int i = 0; i < 16; i++) guids_.u8(fill);
    return static_cast<std::uint32_t>(guids_.bytes.size() / 16);
  }
  /// Adds a row and answers its number. All heap and table indices default to two bytes.
  std::uint32_t row(unsigned table, std::initializer_list<Cell> cells) {
    for (const Cell& c : cells) tables_[table].put(c.value, c.width);
    return ++rows_[table];
  }
  static Cell four(std::uint64_t v) { return {v, 4}; }

  // Rows in narrow form.
  void module(std::string_view name) { row(0x00, {{0}, {string(name)}, {guid(0x11)}, {0}, {0}}); }
  void assembly(std::string_view name) {
    row(0x20, {four(0x8004), {1}, {0}, {0}, {0}, four(0), {0}, {string(name)}, {0}});
  }
  std::uint32_t type_ref(std::string_view space, std::string_view name, unsigned scope = 0) {
    return row(0x01, {{scope}, {string(name)}, {string(space)}});
  }
  std::uint32_t type_def(std::string_view space, std::string_view name, std::uint32_t first_method,
                         std::uint32_t flags = 0) {
    return row(0x02, {four(flags), {string(name)}, {string(space)}, {0}, {1}, {first_method}});
  }
  std::uint32_t field(std::string_view name, const std::vector<std::byte>& signature) {
    return row(0x04, {{0}, {string(name)}, {blob(signature)}});
  }
  std::uint32_t type_with_fields(std::string_view space, std::string_view name, std::uint32_t first_field,
                                 std::uint32_t first_method) {
    return row(0x02, {four(0), {string(name)}, {string(space)}, {0}, {first_field}, {first_method}});
  }
  std::uint32_t method_def(std::string_view name, const std::vector<std::byte>& signature, unsigned flags = 0x16,
                           std::uint32_t first_param = 1, unsigned impl_flags = 0) {
    return row(0x06, {four(0), {impl_flags}, {flags}, {string(name)}, {blob(signature)}, {first_param}});
  }
  void param(unsigned flags, unsigned sequence, std::string_view name) {
    row(0x08, {{flags}, {sequence}, {string(name)}});
  }
  void nested(std::uint32_t inner, std::uint32_t outer) { row(0x29, {{inner}, {outer}}); }
  /// `owner`: TypeOrMethodDef, row << 1 | (0 type, 1 method).
  void generic_param(unsigned number, unsigned owner, std::string_view name) {
    row(0x2a, {{number}, {0}, {owner}, {string(name)}});
  }
  void interface_impl(std::uint32_t type, unsigned interface_coded) { row(0x09, {{type}, {interface_coded}}); }
  std::uint32_t member_ref(unsigned parent_coded, std::string_view name, const std::vector<std::byte>& signature) {
    return row(0x0a, {{parent_coded}, {string(name)}, {blob(signature)}});
  }
  void custom_attribute(unsigned parent_coded, unsigned type_coded, const std::vector<std::byte>& value) {
    row(0x0c, {{parent_coded}, {type_coded}, {blob(value)}});
  }

  std::uint8_t heap_flags = 0;
  std::uint64_t sorted = ~std::uint64_t{0};
  std::string tables_name = "#~";
  std::vector<std::byte> pdb;  ///< the #Pdb stream; empty: none

  [[nodiscard]] std::vector<std::byte> build() const {
    ByteWriter tables;
    tables.u32(0).u8(2).u8(0).u8(heap_flags).u8(1);
    std::uint64_t present = 0;
    for (const auto& [table, n] : rows_) present |= std::uint64_t{1} << table;
    tables.u64(present).u64(sorted);
    for (const auto& [table, n] : rows_) tables.u32(n);
    for (const auto& [table, bytes] : tables_) tables.append(bytes.bytes);
    tables.align(4);

    struct Stream {
      std::string_view name;
      const std::vector<std::byte>* bytes;
    };
    std::vector<Stream> streams = {{tables_name, &tables.bytes},
                                   {"#Strings", &strings_.bytes},
                                   {"#Blob", &blobs_.bytes},
                                   {"#GUID", &guids_.bytes}};
    if (!pdb.empty()) streams.push_back({"#Pdb", &pdb});
    ByteWriter out;
    out.u32(0x424a5342).u16(1).u16(1).u32(0).u32(12).text("v4.0.30319\0\0").align(4);
    while (out.bytes.size() < 28) out.u8(0);
    out.u16(0).u16(static_cast<unsigned>(streams.size()));
    std::size_t position = out.bytes.size();
    for (const Stream& s : streams) position += 8 + (s.name.size() / 4 + 1) * 4;
    for (const Stream& s : streams) {
      out.u32(position).u32(s.bytes->size()).text(s.name).u8(0).align(4);
      position += (s.bytes->size() + 3) / 4 * 4;
    }
    for (const Stream& s : streams) out.append(*s.bytes).align(4);
    return out.bytes;
  }

 private:
  std::map<unsigned, ByteWriter> tables_;
  std::map<unsigned, std::uint32_t> rows_;
  ByteWriter strings_ = ByteWriter().u8(0), blobs_ = ByteWriter().u8(0), guids_;
};

}  // namespace mixstack::test
