#include "dotnet/async/async_values.h"

#include <map>
#include <string>

#include "dotnet/names/bounded_text.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::string_view kThis = "<>4__this", kClosure = "<>8__", kHoisted = "5__";

void add_fields(ManagedObjects& objects, Values& values, const StructPlace& in, bool is_closure, std::size_t most,
                std::vector<ProgramValue>& out) {
  const auto fields = objects.types().own_fields(in.method_table);
  for (const auto& field : fields) {
    if (field.place.is_static || out.size() >= most) continue;
    if (!is_closure && field.name.starts_with(kClosure)) {
      const Address closure = objects.read<std::uint64_t>(in.address + field.place.offset).value_or(0);
      const Address type = objects.header_is_clear(closure) ? objects.type_of(closure) : 0;
      if (type != 0) add_fields(objects, values, {closure + objects.memory().pointer_size(), type}, true, most, out);
      continue;
    }
    const std::string_view name = variable_of_field(field.name);
    if (name.empty()) continue;
    ProgramValue value = values.field(in.address, in.method_table, field);
    value.name = names::printable(name);
    out.push_back(std::move(value));
  }
}

/// Blocks of a method may have locals of one name: which of them is in scope the field does not tell.
void tell_apart(std::vector<ProgramValue>& variables) {
  std::map<std::string, unsigned> seen;
  for (ProgramValue& v : variables)
    if (const unsigned nth = ++seen[v.name]; nth > 1) v.name += "#" + std::to_string(nth);
}

}  // namespace

std::string_view variable_of_field(std::string_view field) {
  if (field == kThis) return "this";
  if (!field.starts_with('<')) return field;
  const std::size_t end = field.find('>');
  if (end == std::string_view::npos || !field.substr(end + 1).starts_with(kHoisted)) return {};
  return field.substr(1, end - 1);
}

std::vector<ProgramValue> async_values(ManagedObjects& objects, Values& values, const StructPlace& machine,
                                       std::size_t most) {
  std::vector<ProgramValue> out;
  add_fields(objects, values, machine, false, most, out);
  tell_apart(out);
  return out;
}

}  // namespace mixstack::dotnet::objects
