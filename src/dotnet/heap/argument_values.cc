#include "dotnet/heap/argument_values.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mixstack::dotnet::objects {
namespace {

using names::ValueKind;
using names::ValueType;

}  // namespace

std::optional<std::vector<ProgramValue>> Arguments::of(const ArgumentFrame& at) {
  const auto parameters = names_.parameters(at.frame->method);
  if (!parameters) return std::nullopt;
  const auto code = place_in(at);
  std::vector<ProgramValue> values;
  std::int32_t number = 0;
  if (parameters->has_this) {
    values.push_back(value(at, code, number++, type_of_this(parameters->method_table)));
    values.back().name = "this";
  }
  for (const auto& parameter : parameters->list) {
    values.push_back(value(at, code, number, parameter.type));
    number++;
    const std::int32_t of_all = parameters->has_this ? number - 1 : number;
    values.back().name = parameter.name.empty() ? "#" + std::to_string(of_all) : parameter.name;
  }
  return values;
}

ValueType Arguments::type_of_this(Address method_table) {
  const TypeFacts* facts = objects_.types().at(method_table);
  ValueType type;
  type.text = objects_.types().csharp_name(method_table);
  type.handle = method_table;
  type.kind = ValueKind::reference;
  if (facts == nullptr || !facts->is_value) return type;
  type.kind = ValueKind::structure;
  type.is_by_ref = true;
  type.text = "ref " + type.text;
  return type;
}

std::optional<Arguments::Place> Arguments::place_in(const ArgumentFrame& at) {
  const Frame& frame = *at.frame;
  // A frame that was guessed at has registers that were guessed at.
  const bool is_trusted = frame.trust == Trust::certain || frame.trust == Trust::checkpoint;
  if (!is_trusted || at.registers == nullptr) return std::nullopt;
  const CodeInfo info = code_.find(frame.pc);
  const Address pc = frame.pc.raw();
  if (!info.is_managed() || info.method_desc != frame.method || info.origin == 0 || pc < info.origin)
    return std::nullopt;
  Place place;
  place.from = place.to = static_cast<std::uint32_t>(pc - info.origin);
  const auto map = code_.il_map(info);
  if (frame.pc.is_exact()) {
    // Registers and stack that a prologue has not arranged yet, or an epilogue has given back, are not those that the
    // table tells of. Where funclets have theirs, nothing tells.
    const bool is_arranged = map && is_body(*map, place.from) && !info.is_funclet();
    if (!is_arranged) return std::nullopt;
  } else {
    // A variable whose last use is the call may be stale: it must live behind the call as well, unless only the
    // method's end is there.
    if (place.from == 0) return std::nullopt;
    place.from--;
    if (map && begins_epilogue(*map, place.to)) place.to = place.from;
  }
  auto homes = code_.variables(info);
  if (!homes) return std::nullopt;
  place.homes = std::move(*homes);
  std::uint32_t end = 0;  // of what the table tells of: an epilogue of a funclet, or nothing, is behind it
  for (const VariableHome& home : place.homes) end = std::max(end, home.end);
  if (!frame.pc.is_exact() && place.to >= end) place.to = place.from;
  return place;
}

std::optional<std::uint64_t> Arguments::register_in(const ArgumentFrame& at, unsigned reg) const {
  // Only callee-saved registers keep their values across a call.
  if (!at.frame->pc.is_exact() && !is_kept_across_calls(at.registers->arch(), reg)) return std::nullopt;
  return at.registers->get(reg);
}

bool Arguments::read_memory(const ArgumentFrame& at, Address address, std::span<std::byte> out) const {
  const bool is_steady = address >= at.steady.begin && address < at.steady.end && at.steady.end - address >= out.size();
  return is_steady && objects_.memory().reader().read_exact(address, out).has_value();
}

bool Arguments::read(const ArgumentFrame& at, const VariablePlace& place, std::span<std::byte> out) const {
  using Kind = VariablePlace::Kind;
  constexpr std::size_t kWord = 8;
  const auto first = register_in(at, place.first);
  if (place.kind == Kind::elsewhere || place.kind == Kind::split || !first) return false;
  switch (place.kind) {
    case Kind::in_register:
      if (out.size() > kWord) return false;
      std::memcpy(out.data(), &*first, out.size());
      return true;
    case Kind::in_registers: {
      const auto second = register_in(at, place.second);
      if (!second || out.size() > 2 * kWord) return false;
      const std::array<std::uint64_t, 2> both{*first, *second};
      std::memcpy(out.data(), both.data(), out.size());
      return true;
    }
    case Kind::by_register:
      return read_memory(at, *first, out);
    case Kind::on_stack:
      return read_memory(at, *first + static_cast<Address>(std::int64_t{place.offset}), out);
    case Kind::by_stack: {
      std::uint64_t to = 0;
      const Address slot = *first + static_cast<Address>(std::int64_t{place.offset});
      return read_memory(at, slot, std::as_writable_bytes(std::span(&to, 1))) && read_memory(at, to, out);
    }
    default:
      return false;
  }
}

ProgramValue Arguments::value(const ArgumentFrame& at, const std::optional<Place>& code, std::int32_t number,
                              const ValueType& type) {
  ProgramValue out;
  out.type = type.text;
  const auto place = code ? place_of(code->homes, number, code->to) : std::nullopt;
  if (!place || place_of(code->homes, number, code->from) != place) return out;
  const std::size_t size = values_.size_of(type);
  if (size == 0 || size > Values::kMostBytes) {
    if (size != 0 || type.kind == ValueKind::structure) out.state = ValueState::told;  // its type is all
    return out;
  }
  std::array<std::byte, Values::kMostBytes> room{};
  const auto bytes = std::span(room).first(size);
  // In registers that no table of ours tells, or beyond what was copied: as good as gone.
  if (!read(at, *place, bytes)) return out;
  values_.tell(type, bytes, out);
  std::uint64_t to = 0;
  std::memcpy(&to, bytes.data(), std::min(size, sizeof(to)));
  if (type.is_by_ref && to != 0) tell_referred(at, type, to, out);
  return out;
}

/// The referent of a by-reference, if it is a variable on the copied stack; on the heap it may have changed.
void Arguments::tell_referred(const ArgumentFrame& at, const ValueType& type, Address to, ProgramValue& out) {
  ValueType referred = type;
  referred.is_by_ref = false;
  const std::size_t size = values_.size_of(referred);
  if (size == 0 || size > Values::kMostBytes) return;
  std::array<std::byte, Values::kMostBytes> room{};
  const auto bytes = std::span(room).first(size);
  if (!read_memory(at, to, bytes)) return;
  ProgramValue value;
  values_.tell(referred, bytes, value);
  if (value.state != ValueState::told) return;
  const std::string by_ref = std::move(out.type);
  out = std::move(value);
  out.type = by_ref;
}

}  // namespace mixstack::dotnet::objects
