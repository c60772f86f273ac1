#include "dotnet/code/stubs.h"

namespace mixstack::dotnet {

std::string_view stub_kind_name(StubKind kind) {
  switch (kind) {
    case StubKind::jump_stub:
      return "jump stub";
    case StubKind::precode:
      return "precode";
    case StubKind::dynamic_helper:
      return "dynamic helper";
    case StubKind::stub_precode:
      return "stub precode";
    case StubKind::fixup_precode:
      return "fixup precode";
    case StubKind::vsd_dispatch:
      return "dispatch stub";
    case StubKind::vsd_resolve:
      return "resolve stub";
    case StubKind::vsd_lookup:
      return "lookup stub";
    case StubKind::vsd_vtable:
      return "vtable stub";
    case StubKind::method_call_thunk:
      return "delay-load thunk";
    case StubKind::pinvoke_import_precode:
      return "P/Invoke import precode";
    case StubKind::this_ptr_ret_buf_precode:
      return "return buffer precode";
    case StubKind::um_entry_precode:
      return "unmanaged entry precode";
    case StubKind::other_precode:
      return "precode of another kind";
    case StubKind::unknown:
      break;
  }
  return "stub";
}

StubKind stub_kind_of_block(std::uint64_t number) {
  switch (number) {
    case 1:
      return StubKind::jump_stub;
    case 2:
      return StubKind::precode;
    case 3:
      return StubKind::dynamic_helper;
    case 4:
      return StubKind::stub_precode;
    case 5:
      return StubKind::fixup_precode;
    case 6:
      return StubKind::vsd_dispatch;
    case 7:
      return StubKind::vsd_resolve;
    case 8:
      return StubKind::vsd_lookup;
    case 9:
      return StubKind::vsd_vtable;
    default:
      return StubKind::unknown;
  }
}

PrecodeStubs::Pattern PrecodeStubs::read_pattern(const RuntimeMemory& memory, Address at, Field size, Field bytes,
                                                 Field ignored) {
  Pattern p;
  auto n = memory.value<std::uint8_t>(at, size);
  if (!n || *n == 0 || *n > kMaxStub || !bytes || !ignored) return p;
  const bool read = memory.reader().read_exact(at + bytes.offset, std::span(p.bytes).first(*n)).has_value() &&
                    memory.reader().read_exact(at + ignored.offset, std::span(p.ignored).first(*n)).has_value();
  if (read) p.size = *n;
  return p;
}

PrecodeStubs::PrecodeStubs(const RuntimeMemory& memory) {
  const auto& l = memory.layouts();
  const auto& m = l.precode_machine;
  if (!l.globals.platform_metadata || !l.platform_metadata.precode_machine_descriptor) return;
  const Address at = l.globals.platform_metadata.value + l.platform_metadata.precode_machine_descriptor.offset;
  stub_ = read_pattern(memory, at, m.stub_size, m.stub_bytes, m.stub_ignored);
  fixup_ = read_pattern(memory, at, m.fixup_stub_size, m.fixup_bytes, m.fixup_ignored);
  stub_type_ = memory.value<std::uint8_t>(at, m.stub_type).value_or(0);
  pinvoke_type_ = memory.value<std::uint8_t>(at, m.pinvoke_import_type).value_or(0);
  ret_buf_type_ = memory.value<std::uint8_t>(at, m.this_ptr_ret_buf_type).value_or(0);
  um_entry_type_ = memory.value<std::uint8_t>(at, m.um_entry_type).value_or(0);
  const auto page = memory.value<std::uint32_t>(at, m.stub_code_page_size).value_or(0);
  const bool sane = page >= 4096 && page <= (1u << 20) && (page & (page - 1)) == 0;
  if (sane) page_size_ = page;
}

// Stubs lie packed in code pages; each code page is followed by the page of their data.
Address PrecodeStubs::entry_before(const Pattern& pattern, const RangeSection& section, Address pc) const {
  const Address offset = (pc - section.range.begin) % (2 * Address{page_size_});
  if (pattern.size == 0 || offset >= page_size_) return 0;
  return pc - offset % pattern.size;
}

bool PrecodeStubs::matches(const RuntimeMemory& memory, const Pattern& pattern, Address entry) {
  std::array<std::byte, kMaxStub> code;
  if (entry == 0 || !memory.reader().read_exact(entry, std::span(code).first(pattern.size))) return false;
  for (unsigned i = 0; i < pattern.size; i++)
    if (pattern.ignored[i] == std::byte{0} && pattern.bytes[i] != code[i]) return false;
  return true;
}

Result<Stub> PrecodeStubs::stub_precode(const RuntimeMemory& memory, Address entry) const {
  const auto& l = memory.layouts();
  const Address data = entry + page_size_;
  auto type = memory.value<std::uint8_t>(data, l.stub_precode_data.type);
  auto secret = memory.pointer(data, l.stub_precode_data.secret_param);
  if (!type || !secret) return fail(ErrorCode::unreadable_memory, data);
  if (*type == 0) return fail(ErrorCode::not_found, entry);
  if (*type == stub_type_) return Stub{StubKind::stub_precode, entry, *secret};
  if (*type == pinvoke_type_) return Stub{StubKind::pinvoke_import_precode, entry, *secret};
  if (*type == ret_buf_type_)
    return Stub{StubKind::this_ptr_ret_buf_precode, entry,
                memory.pointer(*secret, l.this_ptr_ret_buf_precode_data.method_desc).value_or(0)};
  if (*type == um_entry_type_) return Stub{StubKind::um_entry_precode, entry, 0};
  return Stub{StubKind::other_precode, entry, 0};
}

Result<Stub> PrecodeStubs::find(const RuntimeMemory& memory, const RangeSection& section, Address pc) const {
  if (!usable() || !section.range.contains(pc)) return fail(ErrorCode::not_found, pc);
  if (const Address entry = entry_before(stub_, section, pc); matches(memory, stub_, entry))
    if (auto stub = stub_precode(memory, entry)) return stub;
  const Address entry = entry_before(fixup_, section, pc);
  if (!matches(memory, fixup_, entry)) return fail(ErrorCode::not_found, pc);
  auto method = memory.pointer(entry + page_size_, memory.layouts().fixup_precode_data.method_desc);
  if (!method) return fail(method.error());
  return Stub{StubKind::fixup_precode, entry, *method};
}

}  // namespace mixstack::dotnet
