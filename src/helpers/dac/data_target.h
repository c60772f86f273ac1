// The interfaces a DAC needs from its host: ICLRDataTarget, ICLRRuntimeLocator, ICLRMetadataLocator, over RemoteMemory.
#pragma once

#include <string_view>

#include "dotnet/dac/protocol.h"
#include "helpers/dac/dac_interfaces.h"
#include "helpers/dac/remote_memory.h"

namespace mixstack::helper {

/// Read-only: calls that would change the target fail. Lives as long as the program, so references are not counted.
class DataTarget final : public ICLRDataTarget3, public ICLRRuntimeLocator, public ICLRMetadataLocator {
 public:
  DataTarget(RemoteMemory& memory, const dotnet::dac::Opening& facts) : memory_(memory), facts_(facts) {}

  HResult QueryInterface(const Guid& iid, void** out) override;
  std::uint32_t AddRef() override { return 1; }
  std::uint32_t Release() override { return 1; }

  HResult GetMachineType(std::uint32_t* machine) override;
  HResult GetPointerSize(std::uint32_t* size) override;
  HResult GetImageBase(const char16_t* name, DacAddress* base) override;
  HResult ReadVirtual(DacAddress address, std::uint8_t* out, std::uint32_t size, std::uint32_t* done) override;
  HResult WriteVirtual(DacAddress, std::uint8_t*, std::uint32_t, std::uint32_t*) override { return kNotImplemented; }
  HResult GetTLSValue(std::uint32_t, std::uint32_t, DacAddress*) override { return kNotImplemented; }
  HResult SetTLSValue(std::uint32_t, std::uint32_t, DacAddress) override { return kNotImplemented; }
  HResult GetCurrentThreadID(std::uint32_t*) override { return kNotImplemented; }
  HResult GetThreadContext(std::uint32_t thread, std::uint32_t flags, std::uint32_t size, std::uint8_t* out) override;
  HResult SetThreadContext(std::uint32_t, std::uint32_t, std::uint8_t*) override { return kNotImplemented; }
  HResult Request(std::uint32_t, std::uint32_t, std::uint8_t*, std::uint32_t, std::uint8_t*) override {
    return kNotImplemented;
  }
  HResult AllocVirtual(DacAddress, std::uint32_t, std::uint32_t, std::uint32_t, DacAddress*) override {
    return kNotImplemented;
  }
  HResult FreeVirtual(DacAddress, std::uint32_t, std::uint32_t) override { return kNotImplemented; }
  HResult GetExceptionRecord(std::uint32_t, std::uint32_t*, std::uint8_t*) override { return kNotImplemented; }
  HResult GetExceptionContextRecord(std::uint32_t, std::uint32_t*, std::uint8_t*) override { return kNotImplemented; }
  HResult GetExceptionThreadID(std::uint32_t*) override { return kNotImplemented; }

  HResult GetRuntimeBase(DacAddress* base) override;
  HResult GetMetadata(const char16_t* path, std::uint32_t timestamp, std::uint32_t image_size, const Guid* mvid,
                      std::uint32_t rva, std::uint32_t flags, std::uint32_t size, std::uint8_t* out,
                      std::uint32_t* done) override;

 private:
  RemoteMemory& memory_;
  dotnet::dac::Opening facts_;
};

}  // namespace mixstack::helper
