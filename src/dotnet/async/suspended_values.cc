#include "dotnet/async/suspended_values.h"

#include <algorithm>
#include <array>

namespace mixstack::dotnet::objects {
namespace {

using names::ValueKind;
using names::ValueType;

ProgramValue value_at(ManagedObjects& objects, Values& values, Address at, const ValueType& type) {
  ProgramValue out;
  out.type = type.text;
  const std::size_t size = values.size_of(type);
  if (size == 0 || size > Values::kMostBytes) {
    out.state = type.kind == ValueKind::structure ? ValueState::told : ValueState::unread;  // its type is all
    return out;
  }
  std::array<std::byte, Values::kMostBytes> room{};
  const auto bytes = std::span(room).first(size);
  out.state = ValueState::unread;
  if (objects.memory().reader().read_exact(at, bytes)) values.tell(type, bytes, out);
  return out;
}

/// The point where the method is suspended, by its state; null where its native offset is another.
const SuspensionPoint* point_of(const std::vector<SuspensionPoint>& points, const SuspendedMethod& method,
                                std::uint32_t native) {
  const auto state = static_cast<std::size_t>(method.state);
  if (method.state < 0 || state >= points.size()) return nullptr;
  return points[state].native == native ? &points[state] : nullptr;
}

/// Local variables of the method where it is suspended, by their slots. Empty: nobody tells.
std::vector<names::ParameterType> locals_of(Delegates& delegates, const CodeInfo& code, Address resume) {
  const auto map = delegates.code().il_map(code);
  if (!map || resume < code.origin) return {};
  const auto il = il_offset_at(*map, static_cast<std::uint32_t>(resume - code.origin));
  if (!il) return {};
  auto locals = delegates.names().locals(code.method_desc, *il);
  return locals ? std::move(*locals) : std::vector<names::ParameterType>();
}

}  // namespace

std::vector<ProgramValue> suspended_values(ManagedObjects& objects, Delegates& delegates, Values& values,
                                           const SuspendedMethod& method, std::size_t most) {
  std::vector<ProgramValue> told;
  const Layouts& l = objects.memory().layouts();
  if (l.algorithms.suspended_methods != SuspendedMethods::resume_info || method.continuation == 0) return told;
  const CodeInfo code = delegates.code().find(CodeAddress::exact(method.resume));
  if (!code.is_managed() || code.method_desc == 0 || method.resume < code.method_start) return told;
  const auto points = delegates.code().suspension_points(code);
  if (!points) return told;
  const SuspensionPoint* point =
      point_of(*points, method, static_cast<std::uint32_t>(method.resume - code.method_start));
  const TypeFacts* type = objects.types().at(objects.type_of(method.continuation));
  const auto parameters = delegates.names().parameters(code.method_desc);
  if (point == nullptr || type == nullptr || !parameters) return told;
  const auto locals = locals_of(delegates, code, method.resume);
  const std::int32_t first = parameters->has_this ? 1 : 0;
  for (const KeptVariable& kept : point->variables) {
    if (told.size() >= most || kept.offset < l.continuation_object.size || kept.offset + 8 > type->base_size) continue;
    const Address at = method.continuation + kept.offset;
    const auto index = static_cast<std::size_t>(kept.number - first);
    if (kept.number == 0 && parameters->has_this) {
      ProgramValue value;
      const TypeFacts* self = objects.types().at(parameters->method_table);
      if (self == nullptr || self->is_value) continue;
      values.tell_reference(objects.read<Address>(at).value_or(0), parameters->method_table, value);
      value.name = "this";
      told.push_back(std::move(value));
    } else if (kept.number >= first && index < parameters->list.size()) {
      const auto& parameter = parameters->list[index];
      told.push_back(value_at(objects, values, at, parameter.type));
      told.back().name = parameter.name.empty() ? "#" + std::to_string(index + 1) : parameter.name;
    } else if (const std::size_t slot = index - parameters->list.size();
               kept.number >= first && slot < locals.size() && !locals[slot].name.empty()) {
      told.push_back(value_at(objects, values, at, locals[slot].type));
      told.back().name = locals[slot].name;
    }
  }
  return told;
}

}  // namespace mixstack::dotnet::objects
