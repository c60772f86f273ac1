#include "dotnet/names/runtime_types.h"

#include <algorithm>

#include "dotnet/bcl/types.h"
#include "dotnet/code/method_check.h"
#include "dotnet/names/raw_format.h"

namespace mixstack::dotnet::names {
namespace {

constexpr Address kTypeDescBit = 2;  // TypeHandle::IsTypeDesc (src/coreclr/vm/typehandle.h)

}  // namespace

Result<MethodTableFacts> RuntimeTypes::method_table(Address address) const {
  const Layouts& l = memory_.layouts();
  const auto flags = memory_.value<std::uint32_t>(address, l.method_table.flags);
  const auto flags2 = memory_.value<std::uint32_t>(address, l.method_table.flags2);
  const auto module = memory_.pointer(address, l.method_table.module);
  const auto class_or_canonical = memory_.pointer(address, l.method_table.ee_class_or_canon);
  const auto instantiation = memory_.pointer(address, l.method_table.per_inst_info);
  const auto virtuals = memory_.value<std::uint16_t>(address, l.method_table.num_virtuals);
  if (!flags) return fail(flags.error());
  if (!flags2) return fail(flags2.error());
  if (!module) return fail(module.error());
  if (!class_or_canonical) return fail(class_or_canonical.error());
  MethodTableFacts facts{address, *flags, *flags2, *module, address, *class_or_canonical};
  facts.per_inst_info = instantiation.value_or(0);
  facts.num_virtuals = virtuals.value_or(0);
  if ((facts.ee_class & 1) != 0) {  // the low bit marks a pointer to the canonical MethodTable
    facts.canonical = facts.ee_class & ~Address{1};
    const auto real = memory_.pointer(facts.canonical, l.method_table.ee_class_or_canon);
    if (!real) return fail(real.error());
    facts.ee_class = *real;
  }
  const auto back = memory_.pointer(facts.ee_class, l.ee_class.method_table);
  if (!back) return fail(back.error());
  if (*back == facts.canonical) return facts;
  if (!is_continuation_type(memory_, facts.canonical, facts.ee_class)) return fail(ErrorCode::mismatch, address);
  // Its name tells only its layout ("Continuation_48_0_2") and is in no metadata, so its base names it.
  const auto base = memory_.through(l.globals.continuation_method_table);
  const auto base_flags2 = base ? memory_.value<std::uint32_t>(*base, l.method_table.flags2) : fail(base.error());
  if (!base_flags2) return fail(base_flags2.error());
  facts.flags2 = *base_flags2;
  return facts;
}

TypeIndex RuntimeTypes::handle(TypeTree& tree, Address type_handle) const {
  TypeTree::Level level(tree);
  if (!level.ok() || tree.is_cut() || type_handle == 0) return tree.add(TypeKind::unknown);
  if ((type_handle & kTypeDescBit) != 0) return type_desc(tree, type_handle - kTypeDescBit);
  const auto facts = method_table(type_handle);
  return facts ? type(tree, *facts) : tree.add(TypeKind::unknown);
}

TypeIndex RuntimeTypes::type(TypeTree& tree, const MethodTableFacts& facts) const {
  if (facts.is_array()) return array(tree, facts);
  const ModuleFacts& module = modules_.at(facts.module);
  const TypeIndex own = named(tree, facts, module);
  if (!facts.has_instantiation()) return own;
  const TypeIndex t = tree.add(TypeKind::instance);
  if (t == kNoType) return t;
  tree.at(t).handle = facts.address;
  tree.at(t).assembly = module.assembly;
  tree.at(t).is_definition = facts.is_definition();
  tree.append(t, own);
  for (const TypeIndex argument : class_arguments(tree, facts)) tree.append(t, argument);
  return t;
}

TypeIndex RuntimeTypes::named(TypeTree& tree, const MethodTableFacts& facts, const ModuleFacts& module) const {
  const TypeIndex t = tree.add(TypeKind::named);
  if (t == kNoType || module.metadata == nullptr) return t;
  TypeNode& node = tree.at(t);
  node.handle = facts.address;
  node.metadata = module.metadata.get();
  node.token = Token(TableId::type_def, facts.type_def());
  node.assembly = module.assembly;
  if (module.assembly != bcl::kCoreLib) return t;
  const TypeRefRow name = node.metadata->type_name(node.token);
  if (name.name_space != "System") return t;
  node.element = primitive_of(name.name);
  if (node.element != ElementType::end && node.element != ElementType::typed_by_ref) node.kind = TypeKind::primitive;
  return t;
}

TypeIndex RuntimeTypes::array(TypeTree& tree, const MethodTableFacts& facts) const {
  const TypeIndex t = tree.add(facts.is_vector() ? TypeKind::sz_array : TypeKind::array);
  // An array's element TypeHandle lies in the word that holds the instantiation of other types.
  tree.append(t, handle(tree, facts.per_inst_info));
  if (t == kNoType) return t;
  tree.at(t).assembly = modules_.at(facts.module).assembly;
  if (!facts.is_vector()) tree.at(t).number = rank(facts);
  return t;
}

std::uint32_t RuntimeTypes::rank(const MethodTableFacts& facts) const {
  const Layouts& l = memory_.layouts();
  if (l.algorithms.array_rank == ArrayRank::array_class)
    return memory_.value<std::uint8_t>(facts.ee_class, l.array_class.rank).value_or(1);
  // Behind the part that every array has, there is a length and a lower bound for each dimension.
  constexpr std::uint32_t kBytesOfDimension = 8, kMostDimensions = 32;
  const auto of_vectors = static_cast<std::uint32_t>(l.globals.array_base_size.value);
  const auto size = memory_.value<std::uint32_t>(facts.address, l.method_table.base_size);
  if (!size || !l.globals.array_base_size || *size <= of_vectors) return 1;
  return std::min((*size - of_vectors) / kBytesOfDimension, kMostDimensions);
}

std::vector<TypeIndex> RuntimeTypes::class_arguments(TypeTree& tree, const MethodTableFacts& facts) const {
  if (facts.is_array()) return {handle(tree, facts.per_inst_info)};
  if (!facts.has_instantiation()) return {};
  // GenericsDictInfo is before the table of dictionaries that m_pPerInstInfo points at; the last one is the type's own.
  const GenericsDictInfoLayout& l = memory_.layouts().generics_dict_info;
  const Address info = facts.per_inst_info - 8;
  // .NET 9 describes only the second of the two adjacent counts (struct GenericsDictInfo in
  // src/coreclr/vm/methodtable.h).
  const Field number{l.num_dicts ? l.num_dicts.offset : l.num_type_args ? l.num_type_args.offset - 2 : Field::kAbsent};
  const auto dictionaries = memory_.value<std::uint16_t>(info, number);
  const auto count = memory_.value<std::uint16_t>(info, l.num_type_args);
  if (!dictionaries || !count || *dictionaries == 0) return {};
  const auto own = memory_.pointer_at(facts.per_inst_info + memory_.pointer_size() * (*dictionaries - 1u));
  return own ? handles(tree, *own, *count) : std::vector<TypeIndex>{};
}

std::vector<TypeIndex> RuntimeTypes::handles(TypeTree& tree, Address array, std::uint32_t count) const {
  std::vector<TypeIndex> out;
  count = std::min(count, kMaxArguments);
  for (std::uint32_t i = 0; i < count && !tree.is_cut(); i++) {
    const auto h = memory_.pointer_at(array + std::uint64_t{i} * memory_.pointer_size());
    if (!h) break;
    out.push_back(handle(tree, *h));
  }
  return out;
}

TypeIndex RuntimeTypes::type_desc(TypeTree& tree, Address address) const {
  const Layouts& l = memory_.layouts();
  const auto flags = memory_.value<std::uint32_t>(address, l.type_desc.type_and_flags);
  if (!flags) return tree.add(TypeKind::unknown);
  const auto element = static_cast<ElementType>(*flags & 0xff);
  switch (element) {
    case ElementType::pointer:
    case ElementType::by_ref: {
      const TypeIndex t = tree.add(element == ElementType::pointer ? TypeKind::pointer : TypeKind::by_ref);
      const auto argument = memory_.pointer(address, l.param_type_desc.type_arg);
      const TypeIndex child = argument ? handle(tree, *argument) : tree.add(TypeKind::unknown);
      tree.append(t, child);
      if (t != kNoType && child != kNoType) tree.at(t).assembly = tree[child].assembly;
      return t;
    }
    case ElementType::variable:
    case ElementType::method_variable:
      return type_variable(tree, address);
    case ElementType::function_pointer:
      return function_pointer(tree, address);
    default:
      return tree.add(TypeKind::unknown);
  }
}

TypeIndex RuntimeTypes::type_variable(TypeTree& tree, Address address) const {
  const Layouts& l = memory_.layouts();
  const auto module = memory_.pointer(address, l.type_var_type_desc.module);
  const auto token = memory_.value<std::uint32_t>(address, l.type_var_type_desc.token);
  const TypeIndex t = tree.add(TypeKind::unknown);
  if (!module || !token || t == kNoType) return t;
  const ModuleFacts& facts = modules_.at(*module);
  if (facts.metadata == nullptr || Token(*token).table() != TableId::generic_param) return t;
  if (const auto row = facts.metadata->generic_param(Token(*token).rid())) {
    tree.at(t).kind = TypeKind::variable_name;
    tree.at(t).text = row->name;
    tree.at(t).number = row->number;
    tree.at(t).element =
        row->owner.table() == TableId::method_def ? ElementType::method_variable : ElementType::variable;
  }
  return t;
}

TypeIndex RuntimeTypes::function_pointer(TypeTree& tree, Address address) const {
  const FnPtrTypeDescLayout& l = memory_.layouts().fn_ptr_type_desc;
  const TypeIndex t = tree.add(TypeKind::function_pointer);
  const auto count = memory_.value<std::uint32_t>(address, l.num_args);
  const auto convention = memory_.value<std::uint32_t>(address, l.call_conv);
  if (t == kNoType || !count || !convention || !l.ret_and_arg_types || *count >= kMaxArguments) return t;
  tree.at(t).number = *convention;
  // The array is part of the TypeDesc: return type first.
  for (const TypeIndex child : handles(tree, address + l.ret_and_arg_types.offset, *count + 1)) tree.append(t, child);
  if (const auto module = memory_.pointer(address, l.loader_module))
    tree.at(t).assembly = modules_.at(*module).assembly;
  return t;
}

}  // namespace mixstack::dotnet::names
