#include "dotnet/names/metadata.h"

#include <algorithm>
#include <cstring>

#include "dotnet/names/compressed.h"

namespace mixstack::dotnet::names {

std::string_view Metadata::string(std::uint32_t offset) const {
  if (offset >= strings_.size) return {};
  return bytes_->text(strings_.offset + offset, strings_.offset + strings_.size, kMaxName);
}

std::span<const std::byte> Metadata::counted_bytes(const Heap& heap, std::uint32_t offset) const {
  if (offset >= heap.size) return {};
  const std::uint64_t head = std::min<std::uint64_t>(4, heap.size - offset);
  const std::byte* p = bytes_->at(heap.offset + offset, head);
  if (p == nullptr) return {};
  const CompressedUnsigned length = read_compressed({p, head});
  if (length.size == 0 || length.value > kMaxBlob || length.value > heap.size - offset - length.size) return {};
  p = bytes_->at(heap.offset + offset, length.size + std::uint64_t{length.value});
  if (p == nullptr) return {};
  return {p + length.size, length.value};
}

std::span<const std::byte> Metadata::blob(std::uint32_t offset) const { return counted_bytes(blobs_, offset); }

std::span<const std::byte> Metadata::user_string(std::uint32_t offset) const {
  const auto bytes = counted_bytes(user_strings_, offset);
  return bytes.first(bytes.size() & ~std::size_t{1});
}

std::optional<Mvid> Metadata::guid(std::uint32_t index) const {
  if (index == 0 || std::uint64_t{index} * 16 > guids_.size) return std::nullopt;
  const std::byte* p = bytes_->at(guids_.offset + (std::uint64_t{index} - 1) * 16, 16);
  if (p == nullptr) return std::nullopt;
  Mvid value;
  std::memcpy(value.data(), p, value.size());
  return value;
}

std::uint32_t Metadata::cell(TableId id, std::uint32_t rid, unsigned column) const {
  const Table& table = table_of(id);
  if (rid == 0 || rid > table.rows || column >= kMaxColumns || table.width[column] == 0) return 0;
  const std::byte* p =
      bytes_->at(table.offset + std::uint64_t{rid - 1} * table.row_size + table.at[column], table.width[column]);
  if (p == nullptr) return 0;
  if (table.width[column] == 2) {
    std::uint16_t value;
    std::memcpy(&value, p, 2);
    return value;
  }
  std::uint32_t value;
  std::memcpy(&value, p, 4);
  return value;
}

Token Metadata::token_cell(TableId table, std::uint32_t rid, unsigned column) const {
  const auto columns = columns_of(static_cast<unsigned>(table));
  if (column >= columns.size()) return {};
  const std::uint32_t value = cell(table, rid, column);
  if (columns[column].kind == Column::Kind::coded)
    return decode_coded(static_cast<CodedIndex>(columns[column].argument), value);
  if (columns[column].kind == Column::Kind::table) return {static_cast<TableId>(columns[column].argument), value};
  return {};
}

std::optional<TypeDefRow> Metadata::type_def(std::uint32_t rid) const {
  constexpr auto t = TableId::type_def;
  if (rid == 0 || rid > row_count(t)) return std::nullopt;
  return TypeDefRow{cell(t, rid, 0),       string_cell(t, rid, 1), string_cell(t, rid, 2),
                    token_cell(t, rid, 3), cell(t, rid, 4),        cell(t, rid, 5)};
}

std::optional<TypeRefRow> Metadata::type_ref(std::uint32_t rid) const {
  constexpr auto t = TableId::type_ref;
  if (rid == 0 || rid > row_count(t)) return std::nullopt;
  return TypeRefRow{token_cell(t, rid, 0), string_cell(t, rid, 1), string_cell(t, rid, 2)};
}

std::optional<MethodDefRow> Metadata::method_def(std::uint32_t rid) const {
  constexpr auto t = TableId::method_def;
  if (rid == 0 || rid > row_count(t)) return std::nullopt;
  return MethodDefRow{cell(t, rid, 0),
                      static_cast<std::uint16_t>(cell(t, rid, 1)),
                      static_cast<std::uint16_t>(cell(t, rid, 2)),
                      string_cell(t, rid, 3),
                      blob_cell(t, rid, 4),
                      cell(t, rid, 5)};
}

std::optional<ParamRow> Metadata::param(std::uint32_t rid) const {
  constexpr auto t = TableId::param;
  if (rid == 0 || rid > row_count(t)) return std::nullopt;
  return ParamRow{static_cast<std::uint16_t>(cell(t, rid, 0)), static_cast<std::uint16_t>(cell(t, rid, 1)),
                  string_cell(t, rid, 2)};
}

std::optional<MemberRefRow> Metadata::member_ref(std::uint32_t rid) const {
  constexpr auto t = TableId::member_ref;
  if (rid == 0 || rid > row_count(t)) return std::nullopt;
  return MemberRefRow{token_cell(t, rid, 0), string_cell(t, rid, 1), blob_cell(t, rid, 2)};
}

std::optional<GenericParamRow> Metadata::generic_param(std::uint32_t rid) const {
  constexpr auto t = TableId::generic_param;
  if (rid == 0 || rid > row_count(t)) return std::nullopt;
  return GenericParamRow{static_cast<std::uint16_t>(cell(t, rid, 0)), static_cast<std::uint16_t>(cell(t, rid, 1)),
                         token_cell(t, rid, 2), string_cell(t, rid, 3)};
}

std::optional<CustomAttributeRow> Metadata::custom_attribute(std::uint32_t rid) const {
  constexpr auto t = TableId::custom_attribute;
  if (rid == 0 || rid > row_count(t)) return std::nullopt;
  return CustomAttributeRow{token_cell(t, rid, 0), token_cell(t, rid, 1), blob_cell(t, rid, 2)};
}

}  // namespace mixstack::dotnet::names
