// Questions over several rows: owners, nesting, lists. All by bisection where the format guarantees an order.
#include <algorithm>

#include "dotnet/names/metadata.h"

namespace mixstack::dotnet::names {

namespace {

/// Rows looked at when a table that should be sorted is not.
constexpr std::uint32_t kMaxScan = 1 << 16;

}  // namespace

RowRange Metadata::equal_rows(TableId id, unsigned column, std::uint32_t value) const {
  const std::uint32_t rows = row_count(id);
  if (rows == 0) return {};
  if (!table_of(id).sorted) {
    // Lists of one owner are adjacent even then in what emitters write; take the first run.
    std::uint32_t first = 1;
    const std::uint32_t end = std::min(rows, kMaxScan);
    while (first <= end && cell(id, first, column) != value) first++;
    std::uint32_t last = first;
    while (last <= end && cell(id, last, column) == value) last++;
    return first <= end ? RowRange{first, last} : RowRange{};
  }
  const auto bound = [&](bool upper) {
    std::uint32_t low = 1, high = rows + 1;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      const std::uint32_t v = cell(id, middle, column);
      if (v < value || (upper && v == value)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const std::uint32_t first = bound(false);
  return first > rows || cell(id, first, column) != value ? RowRange{} : RowRange{first, bound(true)};
}

RowRange Metadata::list_range(TableId owner, std::uint32_t rid, unsigned column, TableId pointers,
                              TableId items) const {
  const std::uint32_t rows = row_count(owner);
  if (rid == 0 || rid > rows) return {};
  const std::uint32_t available = row_count(pointers) != 0 ? row_count(pointers) : row_count(items);
  const std::uint32_t first = cell(owner, rid, column);
  std::uint32_t last = rid == rows ? available + 1 : cell(owner, rid + 1, column);
  last = std::min(last, available + 1);
  return first == 0 || first >= last ? RowRange{} : RowRange{first, last};
}

RowRange Metadata::methods_of(std::uint32_t type_rid) const {
  return list_range(TableId::type_def, type_rid, 5, TableId::method_ptr, TableId::method_def);
}
std::uint32_t Metadata::method_at(std::uint32_t position) const {
  return row_count(TableId::method_ptr) != 0 ? cell(TableId::method_ptr, position, 0) : position;
}
RowRange Metadata::params_of(std::uint32_t method_rid) const {
  return list_range(TableId::method_def, method_rid, 5, TableId::param_ptr, TableId::param);
}
std::uint32_t Metadata::param_at(std::uint32_t position) const {
  return row_count(TableId::param_ptr) != 0 ? cell(TableId::param_ptr, position, 0) : position;
}

std::uint32_t Metadata::type_of_method(std::uint32_t method_rid) const {
  if (method_rid == 0 || method_rid > row_count(TableId::method_def)) return 0;
  std::uint32_t position = method_rid;
  if (const std::uint32_t pointers = row_count(TableId::method_ptr); pointers != 0) {
    position = 1;
    while (position <= pointers && cell(TableId::method_ptr, position, 0) != method_rid) position++;
    if (position > pointers) return 0;
  }
  // The last type whose list starts at or before the method; earlier types with the same start are empty.
  std::uint32_t low = 1, high = row_count(TableId::type_def) + 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (cell(TableId::type_def, middle, 5) <= position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const std::uint32_t type = low - 1;
  return type != 0 && methods_of(type).contains(position) ? type : 0;
}

std::uint32_t Metadata::enclosing_type(std::uint32_t type_rid) const {
  const RowRange rows = equal_rows(TableId::nested_class, 0, type_rid);
  return rows.size() == 0 ? 0 : cell(TableId::nested_class, rows.first, 1);
}

RowRange Metadata::generic_params_of(Token owner) const {
  const auto value = encode_coded(CodedIndex::type_or_method_def, owner);
  return value ? equal_rows(TableId::generic_param, 2, *value) : RowRange{};
}

RowRange Metadata::interfaces_of(std::uint32_t type_rid) const {
  return equal_rows(TableId::interface_impl, 0, type_rid);
}

RowRange Metadata::custom_attributes_of(Token parent) const {
  const auto value = encode_coded(CodedIndex::has_custom_attribute, parent);
  return value ? equal_rows(TableId::custom_attribute, 0, *value) : RowRange{};
}

RowRange Metadata::local_scopes_of(std::uint32_t method_rid) const {
  return equal_rows(TableId::local_scope, 0, method_rid);
}
RowRange Metadata::local_variables_of(std::uint32_t scope_rid) const {
  // There is no table of pointers to them: an unused number has no rows.
  constexpr auto kNoPointers = static_cast<TableId>(kTableCount - 1);
  return list_range(TableId::local_scope, scope_rid, 2, kNoPointers, TableId::local_variable);
}

TypeRefRow Metadata::type_name(Token token) const {
  if (token.table() == TableId::type_def) {
    if (auto row = type_def(token.rid())) return {{}, row->name, row->name_space};
  } else if (token.table() == TableId::type_ref) {
    if (auto row = type_ref(token.rid())) return *row;
  }
  return {};
}

}  // namespace mixstack::dotnet::names
