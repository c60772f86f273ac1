#include "dotnet/names/value_types.h"

#include <algorithm>

#include "dotnet/bcl/types.h"
#include "dotnet/names/csharp_format.h"
#include "dotnet/names/raw_format.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::size_t kMostText = 512;
constexpr std::uint8_t kHasThis = 0x20;                                                           // ECMA-335 II.23.2.1
constexpr std::byte kField{0x06};                                                                 // II.23.2.4
constexpr unsigned kTypeRefScope = 0, kAssemblyRefName = 6, kFieldName = 1, kFieldSignature = 2;  // columns, II.22

/// The assembly that the outermost of nested references names; empty: it is of the module itself, or of another one.
std::string_view referenced_assembly(const Metadata& metadata, Token token) {
  for (unsigned depth = 0; token.table() == TableId::type_ref && depth < NestingChain::kMax; depth++)
    token = metadata.token_cell(TableId::type_ref, token.rid(), kTypeRefScope);
  if (token.table() != TableId::assembly_ref) return {};
  return metadata.string_cell(TableId::assembly_ref, token.rid(), kAssemblyRefName);
}

std::string reflection_name(const Metadata* metadata, Token token) {
  const NestingChain chain = nesting_chain(metadata, token);
  std::string text;
  for (unsigned i = 0; i < chain.count; i++) {
    if (i != 0) text += '+';
    if (i == 0 && !chain.types[i].name_space.empty()) text.append(chain.types[i].name_space) += '.';
    text += chain.types[i].name;
  }
  return text;
}

ValueKind kind_of(ElementType element) {
  if (element == ElementType::value_type) return ValueKind::structure;
  return element == ElementType::class_ ? ValueKind::reference : ValueKind::named;
}

}  // namespace

void ValueTypes::describe_named(TypeIndex type, const MethodContext& context, ValueType& out) {
  const TypeNode& node = tree_[type];
  out.kind = kind_of(node.element);
  out.handle = node.handle;
  if (node.metadata == nullptr) return;
  out.name = reflection_name(node.metadata, node.token);
  if (node.token.table() == TableId::type_ref) {
    const std::string_view assembly = referenced_assembly(*node.metadata, node.token);
    if (!assembly.empty()) out.assemblies.emplace_back(assembly);
    out.assemblies.emplace_back(bcl::kCoreLib);  // most types that facades forward are there
    return;
  }
  if (node.token.table() != TableId::type_def) return;
  out.assemblies.emplace_back(node.assembly.empty() ? context.metadata->assembly_name() : node.assembly);
}

/// Describes a Nullable of a primitive type as that type, because nothing else of the instance is needed then.
void ValueTypes::describe_nullable(const TypeNode& instance, ValueType& out) const {
  const TypeIndex argument = instance.first_child == kNoType ? kNoType : tree_[instance.first_child].next;
  const TypeNode& of = tree_[argument];
  if (of.kind != TypeKind::primitive || of.element == ElementType::string || of.element == ElementType::object) return;
  out.kind = ValueKind::primitive;
  out.element = of.element;
  out.is_nullable = true;
}

ValueType ValueTypes::describe(TypeIndex type, const MethodContext& context) {
  ValueType out;
  BoundedText text(kMostText);
  append_csharp_type(text, tree_, type);
  out.text = std::move(text).take();
  if (tree_[type].kind == TypeKind::by_ref) {
    out.is_by_ref = true;
    type = tree_[type].first_child;
  }
  const TypeNode& node = tree_[type];
  switch (node.kind) {
    case TypeKind::primitive:
      out.element = node.element;
      out.kind = node.element == ElementType::string || node.element == ElementType::object ? ValueKind::reference
                                                                                            : ValueKind::primitive;
      if (node.element == ElementType::typed_by_ref || node.element == ElementType::void_)
        out.kind = ValueKind::unknown;
      if (node.element == ElementType::string) {
        out.name = bcl::kString;
        out.assemblies = {std::string(bcl::kCoreLib)};
      }
      break;
    case TypeKind::named:
      describe_named(type, context, out);
      break;
    case TypeKind::instance:
      if (node.first_child != kNoType) describe_named(node.first_child, context, out);
      out.handle = node.handle;
      out.is_generic = true;
      if (out.name == bcl::kNullable) describe_nullable(node, out);
      break;
    case TypeKind::sz_array:
    case TypeKind::array:
      out.kind = ValueKind::reference;
      out.is_array = true;
      break;
    case TypeKind::pointer:
    case TypeKind::function_pointer:
      out.kind = ValueKind::pointer;
      break;
    default:
      break;
  }
  return out;
}

/// A method whose types are asked for. The tree holds the types of its context.
struct ValueTypes::Method {
  MethodDescFacts facts;
  MethodDefRow row;
  MethodContext context;
  Address module = 0;
};

Result<ValueTypes::Method> ValueTypes::method(Address method_desc) {
  const auto facts = read_method_desc(memory_, method_desc);
  if (!facts) return fail(facts.error());
  if (facts->kind == MethodClass::dynamic || facts->kind == MethodClass::array)
    return fail(ErrorCode::not_found, method_desc);
  const auto type = types_.method_table(facts->method_table);
  if (!type) return fail(type.error());
  const ModuleFacts& module = modules_.at(type->module);
  if (module.metadata == nullptr) return fail(ErrorCode::not_found, method_desc);
  const Metadata& metadata = *module.metadata;
  const auto row = metadata.method_def(facts->rid);
  if (!row) return fail(ErrorCode::not_found, method_desc);
  if (metadata.type_of_method(facts->rid) != type->type_def()) return fail(ErrorCode::mismatch, method_desc);
  tree_.clear();
  MethodContext context{&metadata, facts->rid, type->type_def(), {}, {}, &types_, memory_.pointer_size()};
  context.class_arguments = types_.class_arguments(tree_, *type);
  if (facts->kind == MethodClass::instantiated && facts->instantiation != 0)
    context.method_arguments = types_.handles(tree_, facts->instantiation, facts->argument_count);
  return Method{*facts, *row, std::move(context), type->module};
}

Result<Address> ValueTypes::module_of(Address method_desc) {
  const auto m = method(method_desc);
  if (!m) return fail(m.error());
  return m->module;
}

Result<MethodParameters> ValueTypes::parameters(Address method_desc) {
  const auto m = method(method_desc);
  if (!m) return fail(m.error());
  const Metadata& metadata = *m->context.metadata;
  const ArgumentResolver resolver(m->context, true);
  const auto signature =
      read_method_signature(m->row.signature, {&metadata, &resolver, m->context.pointer_size}, tree_);
  if (!signature) return fail(signature.error());
  if (signature->is_cut || tree_.is_cut()) return fail(ErrorCode::limit_exceeded, method_desc);
  MethodParameters out;
  out.method_table = m->facts.method_table;
  out.has_this = (signature->calling_convention & kHasThis) != 0;
  for (const TypeIndex t : signature->parameters)
    if (out.list.size() < kMostParameters) out.list.push_back({{}, describe(t, m->context)});
  const RowRange rows = metadata.params_of(m->facts.rid);
  for (std::uint32_t p = rows.first; p < std::min<std::uint64_t>(rows.last, rows.first + kMostParameters + 1); p++) {
    const auto param = metadata.param(metadata.param_at(p));
    if (param && param->sequence != 0 && param->sequence <= out.list.size())
      out.list[param->sequence - 1u].name = printable(param->name.substr(0, kMostText));
  }
  return out;
}

Result<std::vector<ParameterType>> ValueTypes::locals(Address method_desc, const PortablePdb& pdb, std::uint32_t il) {
  const auto m = method(method_desc);
  if (!m) return fail(m.error());
  const Metadata& metadata = *m->context.metadata;
  const PdbLocals named = pdb.locals_at(m->facts.rid, il);
  const auto blob = metadata.blob_cell(TableId::stand_alone_sig, named.signature, 0);
  if (blob.empty() || named.list.empty()) return fail(ErrorCode::not_found, method_desc);
  const ArgumentResolver resolver(m->context, true);
  const auto types = read_local_types(blob, {&metadata, &resolver, m->context.pointer_size}, tree_);
  if (tree_.is_cut()) return fail(ErrorCode::limit_exceeded, method_desc);
  std::vector<ParameterType> out(std::min(types.size(), kMostParameters));
  for (const PdbLocals::Local& local : named.list) {
    if (local.slot >= out.size()) continue;
    out[local.slot].name = printable(local.name.substr(0, kMostText));  // the innermost scope is the last one
    out[local.slot].type = describe(types[local.slot], m->context);
  }
  return out;
}

Result<ValueType> ValueTypes::field(Address method_table, std::string_view name) {
  const auto type = types_.method_table(method_table);
  if (!type) return fail(type.error());
  const ModuleFacts& module = modules_.at(type->module);
  if (module.metadata == nullptr) return fail(ErrorCode::not_found, method_table);
  const Metadata& metadata = *module.metadata;
  const auto row = metadata.type_def(type->type_def());
  const auto next = metadata.type_def(type->type_def() + 1);
  if (!row) return fail(ErrorCode::not_found, method_table);
  constexpr std::uint32_t kMostFields = 4096;
  const std::uint32_t end = next ? next->field_list : metadata.row_count(TableId::field) + 1;
  for (std::uint32_t rid = row->field_list; rid < end && rid - row->field_list < kMostFields; rid++) {
    if (metadata.string_cell(TableId::field, rid, kFieldName) != name) continue;
    const auto blob = metadata.blob_cell(TableId::field, rid, kFieldSignature);
    if (blob.empty() || blob.front() != kField) return fail(ErrorCode::malformed, method_table);
    tree_.clear();
    MethodContext context{&metadata, 0, type->type_def(), {}, {}, &types_, memory_.pointer_size()};
    context.class_arguments = types_.class_arguments(tree_, *type);
    const ArgumentResolver resolver(context, true);
    const TypeIndex t = read_type(blob.subspan(1), {&metadata, &resolver, context.pointer_size}, tree_);
    if (t == kNoType) return fail(ErrorCode::malformed, method_table);
    return describe(t, context);
  }
  return fail(ErrorCode::not_found, method_table);
}

}  // namespace mixstack::dotnet::names
