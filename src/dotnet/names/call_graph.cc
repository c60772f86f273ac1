#include "dotnet/names/call_graph.h"

#include <algorithm>

#include "dotnet/names/compressed.h"

namespace mixstack::dotnet::names {
namespace {

constexpr unsigned kMostMaps = 64, kMostBases = 16, kMostNesting = 4;

// MethodImplAttributes and MethodAttributes, TypeAttributes (ECMA-335 II.23.1).
constexpr unsigned kCodeType = 3, kNoInlining = 8, kSynchronized = 0x20, kNoOptimization = 0x40, kAggressive = 0x100;
constexpr unsigned kAccess = 7, kAssembly = 3, kFinal = 0x20, kVirtual = 0x40, kAbstract = 0x400, kPInvoke = 0x2000,
                   kSealedType = 0x100;

bool is_empty(const RowRange& range) { return range.first >= range.last; }

/// The part of a method's signature that is the same in all modules: instance or not, numbers of variables and
/// parameters.
struct Shape {
  bool has_this = false;
  std::uint32_t variables = 0, parameters = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

std::optional<Shape> shape_of(std::span<const std::byte> signature) {
  constexpr unsigned kGeneric = 0x10, kHasThis = 0x20;
  if (signature.empty()) return std::nullopt;
  const auto convention = std::to_integer<unsigned>(signature.front());
  Shape shape{(convention & kHasThis) != 0, 0, 0};
  signature = signature.subspan(1);
  for (std::uint32_t* count : {(convention & kGeneric) != 0 ? &shape.variables : nullptr, &shape.parameters}) {
    if (count == nullptr) continue;
    const CompressedUnsigned c = read_compressed(signature);
    if (c.size == 0) return std::nullopt;
    *count = c.value;
    signature = signature.subspan(c.size);
  }
  return shape;
}

}  // namespace

MethodKey CallGraph::key_of(Address method_desc) const {
  const auto facts = read_method_desc(memory_, method_desc);
  if (!facts || facts->kind == MethodClass::dynamic || facts->kind == MethodClass::array) return {};
  const auto type = types_.method_table(facts->method_table);
  return type ? MethodKey{type->module, facts->rid} : MethodKey{};
}

const CallingMethod* CallGraph::method(MethodKey key) {
  if (const auto known = methods_.find(key); known != methods_.end()) return &known->second;
  if (key.rid == 0 || methods_.size() >= kMaxMethods) return nullptr;
  return &methods_.emplace(key, read(key)).first->second;
}

CallingMethod CallGraph::read(MethodKey key) const {
  CallingMethod method;
  const auto& metadata = modules_.at(key.module).metadata;
  const auto row = metadata ? metadata->method_def(key.rid) : std::nullopt;
  if (!row) return method;
  method.name = row->name;
  method.is_virtual = (row->flags & kVirtual) != 0;
  method.is_internal = (row->flags & kAccess) <= kAssembly;
  const auto type = metadata->type_def(metadata->type_of_method(key.rid));
  method.is_overridable =
      method.is_virtual && (row->flags & kFinal) == 0 && (!type || (type->flags & kSealedType) == 0);
  const Token own_type(static_cast<std::uint32_t>(TableId::type_def) << 24 | metadata->type_of_method(key.rid));
  const Token own(static_cast<std::uint32_t>(TableId::method_def) << 24 | key.rid);
  method.is_generic = !is_empty(metadata->generic_params_of(own)) || !is_empty(metadata->generic_params_of(own_type));
  constexpr unsigned kRuntime = 3;  // of kCodeType
  method.is_delegate = (row->impl_flags & kCodeType) == kRuntime && row->name == "Invoke";
  if (row->rva == 0 || (row->impl_flags & kCodeType) != 0 || (row->flags & (kAbstract | kPInvoke)) != 0) return method;
  const auto code = modules_.il(key.module, row->rva);
  if (!code) return method;
  method.handlers = code->handlers;
  const bool is_forbidden = (row->impl_flags & (kNoInlining | kSynchronized | kNoOptimization)) != 0;
  const std::size_t most = (row->impl_flags & kAggressive) != 0 ? kMaxWanted : kMaxSmall;
  if (auto calls = read_il_calls(code->code)) {
    method.calls = std::move(*calls);
    method.is_small = !is_forbidden && !code->has_handlers && code->code.size() <= most;
  }
  return method;
}

bool CallGraph::is_non_versionable(MethodKey key) const {
  constexpr std::uint32_t kMostAttributes = 64;
  const auto& metadata = modules_.at(key.module).metadata;
  if (!metadata) return false;
  const auto token = [](TableId table, std::uint32_t rid) {
    return Token(static_cast<std::uint32_t>(table) << 24 | rid);
  };
  for (const Token owner :
       {token(TableId::method_def, key.rid), token(TableId::type_def, metadata->type_of_method(key.rid))}) {
    const RowRange range = metadata->custom_attributes_of(owner);
    for (std::uint32_t i = range.first; i < range.last && i - range.first < kMostAttributes; i++) {
      const auto row = metadata->custom_attribute(i);
      if (!row) continue;
      Token type = token(TableId::type_def, 0);
      if (row->constructor.table() == TableId::method_def)
        type = token(TableId::type_def, metadata->type_of_method(row->constructor.rid()));
      else if (const auto member = metadata->member_ref(row->constructor.rid()))
        type = member->parent;
      if (metadata->type_name(type).name == "NonVersionableAttribute") return true;
    }
  }
  return false;
}

MethodKey CallGraph::target(Address module, std::uint32_t token) {
  const auto place = std::pair(module, token);
  if (const auto known = targets_.find(place); known != targets_.end()) return known->second;
  if (targets_.size() >= 16 * kMaxMethods) return {};
  return targets_.emplace(place, resolve(module, token)).first->second;
}

MethodKey CallGraph::resolve(Address module, std::uint32_t value) const {
  const auto& metadata = modules_.at(module).metadata;
  if (!metadata) return {};
  Token token(value);
  if (token.table() == TableId::method_spec) token = metadata->token_cell(TableId::method_spec, token.rid(), 0);
  if (token.table() == TableId::method_def) return {module, token.rid()};
  if (token.table() != TableId::member_ref) return {};
  const auto row = metadata->member_ref(token.rid());
  return row ? member(module, *row) : MethodKey{};
}

MethodKey CallGraph::member(Address module, const MemberRefRow& row) const {
  if (row.parent.table() == TableId::method_def) return {module, row.parent.rid()};
  const auto from = modules_.at(module).metadata;
  TypeKey type = type_of(module, row.parent);
  for (unsigned n = 0; type.rid != 0 && n < kMostBases; n++) {
    if (const MethodKey found = find(type, row, *from); found.rid != 0) return found;
    const auto& metadata = modules_.at(type.module).metadata;
    const auto definition = metadata ? metadata->type_def(type.rid) : std::nullopt;
    if (!definition || definition->extends.is_nil()) break;
    type = type_of(type.module, definition->extends);
  }
  return {};
}

/// The only method of that name and shape, or the one with the very same signature.
MethodKey CallGraph::find(TypeKey type, const MemberRefRow& row, const Metadata& from) const {
  const auto& metadata = modules_.at(type.module).metadata;
  const auto wanted = shape_of(row.signature);
  if (!metadata || !wanted) return {};
  MethodKey found;
  unsigned alike = 0;
  const RowRange range = metadata->methods_of(type.rid);
  for (std::uint32_t i = range.first; i < range.last; i++) {
    const std::uint32_t rid = metadata->method_at(i);
    const auto method = metadata->method_def(rid);
    if (!method || method->name != row.name || shape_of(method->signature) != wanted) continue;
    found = {type.module, rid};
    // Without types of other tables the bytes are the same everywhere; with them, in one module.
    const bool is_same =
        std::equal(method->signature.begin(), method->signature.end(), row.signature.begin(), row.signature.end());
    if (is_same && (&from == metadata.get() || row.signature.size() <= 3)) return found;
    alike++;
  }
  return alike == 1 ? found : MethodKey{};
}

CallGraph::TypeKey CallGraph::type_of(Address module, Token token, unsigned depth) const {
  if (token.table() == TableId::type_def) return {module, token.rid()};
  if (token.table() == TableId::type_ref) {
    const Address table = entry(memory_.layouts().module.type_ref_to_method_table_map, module, token.rid());
    const auto type = table == 0 ? fail(ErrorCode::not_found) : types_.method_table(table);
    return type ? TypeKey{type->module, type->type_def()} : TypeKey{};
  }
  const auto& metadata = modules_.at(module).metadata;
  if (token.table() != TableId::type_spec || !metadata || depth > kMostNesting) return {};
  // GENERICINST (CLASS | VALUETYPE) TypeDefOrRef: II.23.2.14.
  const auto blob = metadata->blob_cell(TableId::type_spec, token.rid(), 0);
  if (blob.size() < 3 || std::to_integer<unsigned>(blob[0]) != 0x15) return {};
  const CompressedUnsigned coded = read_compressed(blob.subspan(2));
  constexpr TableId kTables[] = {TableId::type_def, TableId::type_ref, TableId::type_spec};
  if (coded.size == 0 || (coded.value & 3) > 2) return {};
  return type_of(module, Token(kTables[coded.value & 3], coded.value >> 2), depth + 1);
}

/// LookupMap of src/coreclr/vm/ceeload.h: a list of tables, each with `count` entries; low bits of an entry are flags.
Address CallGraph::entry(Field field, Address module, std::uint32_t rid) const {
  if (!field) return 0;
  const ModuleLookupMapLayout& l = memory_.layouts().module_lookup_map;
  Address map = module + field.offset;
  const Address flags = memory_.pointer(map, l.supported_flags_mask).value_or(0);
  for (unsigned n = 0; n < kMostMaps && map != 0; n++) {
    const auto count = memory_.value<std::uint32_t>(map, l.count);
    const auto table = memory_.pointer(map, l.table_data);
    if (!count || !table) return 0;
    if (rid < *count) return memory_.pointer_at(*table + Address{rid} * memory_.pointer_size()).value_or(0) & ~flags;
    rid -= *count;
    map = memory_.pointer(map, l.next).value_or(0);
  }
  return 0;
}

Address CallGraph::method_desc(MethodKey key) const {
  return entry(memory_.layouts().module.method_def_to_desc_map, key.module, key.rid);
}

}  // namespace mixstack::dotnet::names
