#include "dotnet/holders/holder_words.h"

#include <algorithm>

#include "dotnet/bcl/collections.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/timers.h"
#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::holders {
namespace {

/// "Dictionary`2" of that and of "Dictionary`2+Entry".
std::string_view outermost(std::string_view name) { return name.substr(0, name.find('+')); }

/// A part of a collection, or a type that is nested in the collection's own or in a part's.
bool is_part(std::string_view collection, std::string_view type) {
  const std::string_view of = outermost(collection), part = outermost(type);
  if (of == part) return type != part;
  const auto has = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has(bcl::kMadeOfParts, of) && has(bcl::kTheirParts, part);
}

bool is_argument(const TypeWords& of, Address type) {
  return std::find(of.arguments.begin(), of.arguments.end(), type) != of.arguments.end();
}

/// And those of arguments that are structs: KeyValuePair<int, byte[]>.
std::vector<Address> arguments_of(objects::LoadedTypes& types, Address type) {
  std::vector<Address> all = types.arguments(type);
  for (std::size_t i = 0, own = all.size(); i < own; i++) {
    const objects::TypeFacts* facts = types.at(all[i]);
    if (facts == nullptr || !facts->is_value) continue;
    const auto more = types.arguments(all[i]);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

/// The name in the source of a field that the compiler has named: a property's, a variable's of an async method.
std::string source_name(const std::string& field) {
  if (field == "<>4__this") return "this";
  if (field.starts_with("<>u__")) return "awaits";
  if (field.starts_with("<>")) return field;
  for (const std::string_view end : {">k__BackingField", ">5__"}) {
    const std::size_t at = field.starts_with('<') ? field.find(end) : std::string::npos;
    if (at != std::string::npos) return field.substr(1, at - 1);
  }
  return field;
}

/// A method without its parameters and what is said behind them: the last parentheses, for arguments of its type may be
/// tuples, and a lambda has the method before it that it stands in.
std::string_view without_parameters(std::string_view method) {
  std::size_t depth = 0;
  for (std::size_t i = method.size(); i-- > 0;) {
    if (method[i] == ')') depth++;
    if (method[i] == '(' && depth != 0 && --depth == 0) return method.substr(0, i);
  }
  return method;
}

/// "(waits)" of a state machine.
const char* words_of_state(std::optional<std::int32_t> state) {
  constexpr std::int32_t kRuns = -1;
  if (!state) return "";
  return *state >= 0 ? " (waits)" : *state == kRuns ? " (runs)" : " (has ended)";
}

}  // namespace

TypeWords HolderWords::read(std::uint32_t number) {
  objects::LoadedTypes& types = objects_.types();
  TypeWords out;
  out.method_table = sizes_[number].method_table;
  out.name = types.csharp_name(out.method_table);
  const GcDesc* desc = references_.of(number);
  out.holds_references = desc != nullptr && !desc->empty();
  const objects::TypeFacts* facts = types.at(out.method_table);
  if (facts == nullptr) return out;
  const std::string name = facts->name;
  if (!facts->is_array) out.arguments = arguments_of(types, out.method_table);
  if (facts->is_array) {
    out.use = TypeUse::array;
  } else if (name == bcl::kLinkedListNode) {
    out.use = TypeUse::plain;
  } else if (name.starts_with(bcl::kCollections) || name.starts_with(bcl::kAttachedValues)) {
    out.use = TypeUse::collection;
  } else if (types.is_a(out.method_table, bcl::kMulticastDelegate)) {
    out.use = TypeUse::delegate;
  } else if (name == bcl::Timer::kType) {
    out.use = TypeUse::timer;
  } else if (machines_.box_layout(out.method_table) || machines_.runtime_async().is_type(out.method_table)) {
    out.use = TypeUse::async;
  }
  return out;
}

const TypeWords& HolderWords::type(std::uint32_t number) {
  const auto it = types_.find(number);
  if (it != types_.end()) return it->second;
  return types_.emplace(number, read(number)).first->second;
}

/// Arrays right inside of a collection or of a part of it; and types that it is made of. Items that are arrays are not:
/// they lie in an array, or their type is an argument of the part's type (a node). Inside of a delegate are its list,
/// and the delegates in it.
bool HolderWords::is_inside(const TypeWords& outer, const TypeWords& inner, const TypeWords& between, unsigned depth) {
  if (outer.use == TypeUse::delegate)
    return inner.use == TypeUse::delegate || (inner.use == TypeUse::array && depth == 0 && inner.holds_references);
  if (outer.use != TypeUse::collection) return false;
  if (inner.use == TypeUse::array) return between.use != TypeUse::array && !is_argument(between, inner.method_table);
  const objects::TypeFacts* of_inner = objects_.types().at(inner.method_table);
  if (of_inner == nullptr || inner.use != TypeUse::collection) return false;
  const std::string name = of_inner->name;
  const objects::TypeFacts* of_outer = objects_.types().at(outer.method_table);
  return of_outer != nullptr && is_part(of_outer->name, name);
}

std::string HolderWords::field(std::uint32_t holder_type, Address holder, std::uint64_t size, Address held) {
  constexpr std::uint64_t kMostSize = 1 << 16;
  const TypeWords& words = type(holder_type);
  const GcDesc* desc = references_.of(holder_type);
  if (words.use == TypeUse::array || desc == nullptr || size > kMostSize) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (!image_.read_exact(holder, bytes)) return {};
  std::optional<std::uint64_t> at;
  desc->visit(bytes, size, [&](std::uint64_t offset, Address to) {
    if (to == held && !at) at = offset;
  });
  if (!at) return {};
  // The last field that begins there or before: a struct's is the one that it lies in.
  std::string found;
  std::optional<std::uint32_t> begin;
  Address table = words.method_table;
  for (unsigned depth = 0; table != 0 && depth < objects::LoadedTypes::kMaxParents; depth++) {
    for (const auto& f : objects_.types().own_fields(table)) {
      if (f.place.is_static || f.place.offset + std::uint64_t{8} > *at || (begin && *begin > f.place.offset)) continue;
      begin = f.place.offset;
      found = f.name;
    }
    const objects::TypeFacts* facts = objects_.types().at(table);
    table = facts == nullptr ? 0 : facts->parent;
  }
  if (words.use == TypeUse::async)
    if (std::string variable = variable_of_method(words.method_table, holder, *at); !variable.empty()) return variable;
  return source_name(found);
}

/// `Shop.Orders.LoadAsync (waits).buffer`: what the method's state machine, in its box or apart from it, has at `at`.
std::string HolderWords::variable_of_method(Address type, Address box, std::uint64_t at) {
  const auto layout = machines_.box_layout(type);
  if (!layout || layout->is_iterator || at < layout->machine) return {};
  const auto machine = machines_.machine_of(box);
  if (!machine) return {};
  const std::string& method = machines_.method_of(*machine);
  if (method.empty()) return {};
  const std::string words = std::string(without_parameters(method)) + words_of_state(machines_.state_of(*machine));
  if (!layout->is_struct) return at == layout->machine ? words : std::string();
  const std::string* found = nullptr;
  std::uint32_t begin = 0;
  for (const auto& f : objects_.types().own_fields(layout->machine_type)) {
    if (f.place.is_static || f.place.offset > at - layout->machine || (found != nullptr && begin > f.place.offset))
      continue;
    begin = f.place.offset;
    found = &f.name;
  }
  return found == nullptr ? words : words + "." + source_name(*found);
}

std::string HolderWords::method(std::uint32_t number, Address object) {
  switch (type(number).use) {
    case TypeUse::delegate:
      return delegates_.method(object);
    case TypeUse::timer: {
      const Address callback = objects_.reference(object, bcl::Timer::kCallback).value_or(0);
      return callback == 0 ? std::string() : delegates_.method(callback);
    }
    case TypeUse::async: {
      std::vector<AsyncStep> steps;
      machines_.add_steps(object, steps);
      return steps.empty() ? std::string() : steps.back().method;
    }
    default:
      return {};
  }
}

}  // namespace mixstack::dotnet::holders
