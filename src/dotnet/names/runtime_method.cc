#include "dotnet/names/runtime_method.h"

namespace mixstack::dotnet::names {
namespace {

constexpr unsigned kTokenBits = 24;

Result<void> read_instantiated(const RuntimeMemory& memory, MethodDescFacts& m) {
  const InstantiatedMethodDescLayout& l = memory.layouts().instantiated_method_desc;
  const auto flags = memory.value<std::uint16_t>(m.address, l.flags2);
  if (!flags) return fail(flags.error());
  const unsigned kind = *flags & 7u;  // KindMask of InstantiatedMethodDescFlags2: 1 definition, 2 unshared, 3 shared
  m.is_generic_definition = kind == 1;
  m.is_shared = kind == 3;
  m.instantiation = memory.pointer(m.address, l.per_inst_info).value_or(0);
  m.argument_count = memory.value<std::uint16_t>(m.address, l.num_generic_args).value_or(0);
  return {};
}

void read_stored_signature(const RuntimeMemory& memory, MethodDescFacts& m) {
  const StoredSigMethodDescLayout& l = memory.layouts().stored_sig_method_desc;
  m.signature = memory.pointer(m.address, l.sig).value_or(0);
  m.signature_size = memory.value<std::uint32_t>(m.address, l.c_sig).value_or(0);
  m.extended_flags = memory.value<std::uint32_t>(m.address, l.extended_flags).value_or(0);
}

/// In no descriptor: DynamicMethodDesc::m_pResolver follows the name; an ILStubResolver (src/coreclr/vm/
/// ilstubresolver.h) is a vtable, its compile-time state, the stub's own MethodDesc and the target's. The own
/// MethodDesc proves the layout: without it there is no target.
Address stub_target(const RuntimeMemory& memory, const MethodDescFacts& m) {
  const DynamicMethodDescLayout& l = memory.layouts().dynamic_method_desc;
  const unsigned word = memory.pointer_size();
  if (!l.method_name || (l.size != 0 && l.size < l.method_name.offset + 2 * word)) return 0;
  const auto resolver = memory.pointer_at(m.address + l.method_name.offset + word);
  if (!resolver || *resolver == 0 || *resolver % word != 0) return 0;
  const auto self = memory.pointer_at(*resolver + 2 * word);
  const auto target = memory.pointer_at(*resolver + 3 * word);
  return self && target && *self == m.address ? *target : 0;
}

}  // namespace

Result<MethodDescFacts> read_method_desc(const RuntimeMemory& memory, Address address) {
  const Layouts& l = memory.layouts();
  const GlobalValues& g = l.globals;
  if (!g.method_desc_alignment || !g.method_desc_token_remainder_bits)
    return fail(ErrorCode::field_unavailable, address);
  if (address == 0 || address % l.pointer_size != 0) return fail(ErrorCode::malformed, address);
  const auto index = memory.value<std::uint8_t>(address, l.method_desc.chunk_index);
  const auto flags = memory.value<std::uint16_t>(address, l.method_desc.flags);
  const auto remainder = memory.value<std::uint16_t>(address, l.method_desc.flags3_and_token_remainder);
  if (!index) return fail(index.error());
  if (!flags) return fail(flags.error());
  if (!remainder) return fail(remainder.error());
  const Address chunk = address - l.method_desc_chunk.size - *index * g.method_desc_alignment.value;
  const auto range = memory.value<std::uint16_t>(chunk, l.method_desc_chunk.flags_and_token_range);
  const auto type = memory.pointer(chunk, l.method_desc_chunk.method_table);
  if (!range) return fail(range.error());
  if (!type) return fail(type.error());
  if (*type == 0 || *type % l.pointer_size != 0) return fail(ErrorCode::malformed, address);

  MethodDescFacts m;
  m.address = address;
  m.method_table = *type;
  m.kind = static_cast<MethodClass>(*flags & 7);
  m.slot = memory.value<std::uint16_t>(address, l.method_desc.slot).value_or(0);
  const unsigned low_bits = static_cast<unsigned>(g.method_desc_token_remainder_bits.value);
  if (low_bits >= 16) return fail(ErrorCode::malformed, low_bits);
  const std::uint32_t low = *remainder & ((1u << low_bits) - 1);
  const std::uint32_t high = *range & ((1u << (kTokenBits - low_bits)) - 1);
  m.rid = high << low_bits | low;
  if (m.kind == MethodClass::instantiated) {
    if (auto r = read_instantiated(memory, m); !r) return fail(r.error());
  } else if (m.kind == MethodClass::array || m.kind == MethodClass::dynamic || m.kind == MethodClass::ee_impl) {
    read_stored_signature(memory, m);
    if (m.kind == MethodClass::dynamic) {
      m.name = memory.pointer(address, l.dynamic_method_desc.method_name).value_or(0);
      m.stub_target = m.is_il_stub() ? stub_target(memory, m) : 0;
    }
  }
  return m;
}

}  // namespace mixstack::dotnet::names
