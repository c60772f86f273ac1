#include "helpers/dac/data_target.h"

#include <string>

#include "base/arch/cpu.h"
#include "helpers/dac/wide_text.h"

namespace mixstack::helper {

HResult DataTarget::QueryInterface(const Guid& iid, void** out) {
  if (iid == kIidUnknown || iid == kIidDataTarget || iid == kIidDataTarget2 || iid == kIidDataTarget3) {
    *out = static_cast<ICLRDataTarget3*>(this);
    return kOk;
  }
  if (iid == kIidRuntimeLocator) {
    *out = static_cast<ICLRRuntimeLocator*>(this);
    return kOk;
  }
  if (iid == kIidMetadataLocator) {
    *out = static_cast<ICLRMetadataLocator*>(this);
    return kOk;
  }
  *out = nullptr;
  return kNoInterface;
}

HResult DataTarget::GetMachineType(std::uint32_t* machine) {
  *machine = arch::cpu(facts_.arch).pe_machine;
  return *machine == 0 ? kFail : kOk;
}

HResult DataTarget::GetPointerSize(std::uint32_t* size) {
  *size = arch_registers(facts_.arch).pointer_size;
  return kOk;
}

HResult DataTarget::GetImageBase(const char16_t* name, DacAddress* base) {
  std::u16string_view wanted(name);
  if (const auto slash = wanted.rfind(u'/'); slash != std::u16string_view::npos) wanted.remove_prefix(slash + 1);
  if (wanted != u"libcoreclr.so") return kFail;
  *base = facts_.runtime_base;
  return kOk;
}

HResult DataTarget::GetRuntimeBase(DacAddress* base) {
  *base = facts_.runtime_base;
  return kOk;
}

HResult DataTarget::GetMetadata(const char16_t* path, std::uint32_t timestamp, std::uint32_t image_size, const Guid*,
                                std::uint32_t rva, std::uint32_t, std::uint32_t size, std::uint8_t* out,
                                std::uint32_t* done) {
  if (out == nullptr || path == nullptr) return kInvalidArgument;
  dotnet::dac::MetadataRequest request;
  request.timestamp = timestamp;
  request.image_size = image_size;
  request.rva = rva;
  request.path = to_utf8(path);
  const auto n = memory_.metadata(std::move(request), std::as_writable_bytes(std::span(out, size)));
  if (done != nullptr) *done = static_cast<std::uint32_t>(n);
  return n == 0 ? kFail : kOk;
}

HResult DataTarget::ReadVirtual(DacAddress address, std::uint8_t* out, std::uint32_t size, std::uint32_t* done) {
  const auto n = memory_.read(address, std::as_writable_bytes(std::span(out, size)));
  if (done != nullptr) *done = static_cast<std::uint32_t>(n);
  return n == 0 && size != 0 ? kFail : kOk;
}

HResult DataTarget::GetThreadContext(std::uint32_t thread, std::uint32_t flags, std::uint32_t size, std::uint8_t* out) {
  return memory_.context(thread, flags, std::as_writable_bytes(std::span(out, size))) ? kOk : kInvalidArgument;
}

}  // namespace mixstack::helper
