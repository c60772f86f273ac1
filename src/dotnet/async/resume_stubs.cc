#include "dotnet/async/resume_stubs.h"

#include <algorithm>
#include <cstring>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/types.h"
#include "dotnet/names/bounded_text.h"
#include "dotnet/names/raw_format.h"

namespace mixstack::dotnet::objects {
namespace {

/// "AsyncResume_ReadRow_Tier0" (CEEJitInfo::getAsyncResumptionStub in src/coreclr/vm/jitinterface.cpp).
constexpr std::string_view kKind = "AsyncResume_";

/// MethodImplOptions.Async: of methods that the runtime suspends. Others have only a wrapper that awaits their task.
constexpr std::uint16_t kAsync = 0x2000;

// ILStubResolver (src/coreclr/vm/ilstubresolver.h) in words: its vtable, its compile-time state, the stub. The state
// begins with a COR_ILMETHOD_DECODER (src/coreclr/inc/corhlpr.h): flags, size of the IL, a token; then pointers at the
// IL and at the signature of its locals, which lies right behind the IL.
constexpr unsigned kResolverState = 1, kResolverSelf = 2;
constexpr std::uint32_t kIlSize = 4, kIl = 16, kLocals = 24;

/// ldc.i8 SLOT; ldind.i; calli (ECMA-335 III.1.2.1).
constexpr std::byte kLoadConstant{0x21}, kLoadIndirect{0x4d}, kCallIndirect{0x29};

/// A DynamicMethodDesc is followed by words for its code.
constexpr unsigned kWordsBehind = 4;

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace

const ResumedMethod& ResumeStubs::method_at(Address resume) {
  if (const auto it = known_.find(resume); it != known_.end()) return it->second;
  if (resume == 0 || known_.size() == kMostStubs) return none_;
  return known_.emplace(resume, read(resume)).first->second;
}

ResumedMethod ResumeStubs::read(Address resume) {
  ResumedMethod method;
  const Address stub = delegates_.code().find(CodeAddress::exact(resume)).method_desc;
  if (stub == 0) return method;
  const auto described = delegates_.names().describe(stub);
  if (!described || !(*described)->is_il_stub || !(*described)->stub_kind.starts_with(kKind)) return method;
  std::string_view own = std::string_view((*described)->stub_kind).substr(kKind.size());
  method.name = own.substr(0, own.rfind('_'));
  const names::MethodName* behind = method_behind(stub, method.name);
  if (behind == nullptr) return method;
  const auto row = row_of(*behind);
  method.is_machinery = row && ((row->impl_flags & kAsync) == 0 ||
                                (behind->module == bcl::kCoreLib && behind->name.starts_with(bcl::kHelpers)));
  method.name = behind->name;
  method.is_proved = true;
  return method;
}

std::optional<names::MethodDefRow> ResumeStubs::row_of(const names::MethodName& method) const {
  const auto metadata = delegates_.names().module(method.module_address).metadata;
  if (metadata == nullptr || method.token == 0) return std::nullopt;
  return metadata->method_def(method.token & 0x00ffffff);
}

/// IL of a stub that has not been compiled yet.
std::vector<std::byte> ResumeStubs::il_of(Address stub) const {
  const RuntimeMemory& memory = objects_.memory();
  const DynamicMethodDescLayout& l = memory.layouts().dynamic_method_desc;
  if (!l.method_name) return {};
  const Address resolver = memory.pointer_at(stub + l.method_name.offset + 8).value_or(0);
  if (resolver == 0 || resolver % 8 != 0 || memory.pointer_at(resolver + 8 * kResolverSelf).value_or(0) != stub)
    return {};
  const Address state = memory.pointer_at(resolver + 8 * kResolverState).value_or(0);
  if (state == 0 || state % 8 != 0) return {};
  const auto size = objects_.read<std::uint32_t>(state + kIlSize);
  const auto il = objects_.read<std::uint64_t>(state + kIl), locals = objects_.read<std::uint64_t>(state + kLocals);
  if (!size || !il || !locals || *size > kMostBytes || *locals != *il + *size) return {};
  std::vector<std::byte> bytes(*size);
  if (!memory.reader().read_exact(*il, bytes)) return {};
  return bytes;
}

/// Code of a stub that has been compiled: one of the words behind its MethodDesc points at it.
std::vector<std::byte> ResumeStubs::code_of(Address stub, Address& begin) {
  const std::uint32_t size = objects_.memory().layouts().dynamic_method_desc.size;
  if (size == 0) return {};
  for (unsigned i = 0; i < kWordsBehind; i++) {
    const Address word = objects_.read<std::uint64_t>(stub + size + 8 * i).value_or(0);
    if (word == 0) continue;
    const CodeInfo& info = delegates_.code().find(CodeAddress::exact(word));
    if (info.kind != CodeKind::jit || info.method_desc != stub || info.method_start != word) continue;
    if (info.function_end <= word) continue;
    begin = word;
    std::vector<std::byte> bytes(std::min<std::uint64_t>(info.function_end - word, kMostBytes));
    const auto n = objects_.memory().reader().read_some(word, bytes);
    bytes.resize(n ? *n : 0);
    return bytes;
  }
  return {};
}

/// The method whose code begins where the word says, if it has this name.
const names::MethodName* ResumeStubs::method_in(Address slot, std::string_view name) {
  const Address code = slot == 0 ? 0 : objects_.read<std::uint64_t>(slot).value_or(0);
  if (code == 0) return nullptr;
  const CodeInfo& info = delegates_.code().find(CodeAddress::exact(code));
  if (!info.is_managed() || info.method_start != code || info.method_desc == 0) return nullptr;
  const auto method = delegates_.names().describe(info.method_desc);
  if (!method) return nullptr;
  const auto row = row_of(**method);
  return row && names::printable(row->name) == name ? *method : nullptr;
}

const names::MethodName* ResumeStubs::method_behind(Address stub, std::string_view name) {
  if (objects_.memory().pointer_size() != 8) return nullptr;
  const std::vector<std::byte> il = il_of(stub);
  for (std::size_t i = 0; i + 11 <= il.size(); i++)
    if (il[i] == kLoadConstant && il[i + 9] == kLoadIndirect && il[i + 10] == kCallIndirect)
      if (const auto* method = method_in(value_at<std::uint64_t>(il, i + 1), name); method != nullptr) return method;
  if (!il.empty()) return nullptr;
  // Compiled, the word is addressed relative to the instruction, or in full.
  Address begin = 0;
  const std::vector<std::byte> code = code_of(stub, begin);
  for (std::size_t i = 0; i + 4 <= code.size(); i++) {
    const auto distance = std::int64_t{value_at<std::int32_t>(code, i)};
    const Address near = begin + i + 4 + static_cast<std::uint64_t>(distance);
    if (near % 8 == 0)
      if (const auto* method = method_in(near, name); method != nullptr) return method;
    if (i + 8 > code.size()) continue;
    const auto far = value_at<std::uint64_t>(code, i);
    if (far % 8 == 0)
      if (const auto* method = method_in(far, name); method != nullptr) return method;
  }
  return nullptr;
}

}  // namespace mixstack::dotnet::objects
