// Interfaces between a DAC and its user. Identifiers, order and arguments are from dotnet/runtime
// src/coreclr/inc/{clrdata,xclrdata,sospriv}.idl and src/coreclr/inc/dacprivate.h. Functions that are not called here
// only hold their place in the vtable.
#pragma once

#include "helpers/dac/com.h"

namespace mixstack::helper {

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

using Place = HResult;  // a function that only holds its place
using DacAddress = std::uint64_t;

/// clrdata.idl: ICLRDataTarget, 2 and 3. Implemented by us.
struct ICLRDataTarget : IUnknown {
  virtual HResult GetMachineType(std::uint32_t* machine) = 0;
  virtual HResult GetPointerSize(std::uint32_t* size) = 0;
  virtual HResult GetImageBase(const char16_t* name, DacAddress* base) = 0;
  virtual HResult ReadVirtual(DacAddress address, std::uint8_t* out, std::uint32_t size, std::uint32_t* done) = 0;
  virtual HResult WriteVirtual(DacAddress address, std::uint8_t* in, std::uint32_t size, std::uint32_t* done) = 0;
  virtual HResult GetTLSValue(std::uint32_t thread, std::uint32_t index, DacAddress* value) = 0;
  virtual HResult SetTLSValue(std::uint32_t thread, std::uint32_t index, DacAddress value) = 0;
  virtual HResult GetCurrentThreadID(std::uint32_t* thread) = 0;
  virtual HResult GetThreadContext(std::uint32_t thread, std::uint32_t flags, std::uint32_t size,
                                   std::uint8_t* out) = 0;
  virtual HResult SetThreadContext(std::uint32_t thread, std::uint32_t size, std::uint8_t* context) = 0;
  virtual HResult Request(std::uint32_t code, std::uint32_t in_size, std::uint8_t* in, std::uint32_t out_size,
                          std::uint8_t* out) = 0;
};
inline constexpr Guid kIidDataTarget{0x3e11ccee, 0xd08b, 0x43e5, {0xaf, 0x01, 0x32, 0x71, 0x7a, 0x64, 0xda, 0x03}};

struct ICLRDataTarget2 : ICLRDataTarget {
  virtual HResult AllocVirtual(DacAddress address, std::uint32_t size, std::uint32_t type, std::uint32_t protect,
                               DacAddress* out) = 0;
  virtual HResult FreeVirtual(DacAddress address, std::uint32_t size, std::uint32_t type) = 0;
};
inline constexpr Guid kIidDataTarget2{0x6d05fae3, 0x189c, 0x4630, {0xa6, 0xdc, 0x1c, 0x25, 0x1e, 0x1c, 0x01, 0xab}};

struct ICLRDataTarget3 : ICLRDataTarget2 {
  virtual HResult GetExceptionRecord(std::uint32_t size, std::uint32_t* used, std::uint8_t* out) = 0;
  virtual HResult GetExceptionContextRecord(std::uint32_t size, std::uint32_t* used, std::uint8_t* out) = 0;
  virtual HResult GetExceptionThreadID(std::uint32_t* thread) = 0;
};
inline constexpr Guid kIidDataTarget3{0xa5664f95, 0x0af4, 0x4a1b, {0x96, 0x0e, 0x2f, 0x33, 0x46, 0xb4, 0x21, 0x4c}};

/// clrdata.idl. Implemented by us: without it the DAC asks GetImageBase("libcoreclr.so").
struct ICLRRuntimeLocator : IUnknown {
  virtual HResult GetRuntimeBase(DacAddress* base) = 0;
};
inline constexpr Guid kIidRuntimeLocator{0xb760bf44, 0x9377, 0x4597, {0x8b, 0xe7, 0x58, 0x08, 0x3b, 0xdc, 0x51, 0x46}};

/// clrdata.idl. Implemented by us: metadata that the target's memory does not hold.
struct ICLRMetadataLocator : IUnknown {
  virtual HResult GetMetadata(const char16_t* path, std::uint32_t timestamp, std::uint32_t image_size, const Guid* mvid,
                              std::uint32_t rva, std::uint32_t flags, std::uint32_t size, std::uint8_t* out,
                              std::uint32_t* done) = 0;
};
inline constexpr Guid kIidMetadataLocator{0xaa8fa804, 0xbc05, 0x4642, {0xb2, 0xc5, 0xc3, 0x53, 0xed, 0x22, 0xfc, 0x63}};

/// xclrdata.idl CLRDataSimpleFrameType.
enum SimpleFrameType : std::uint32_t { kUnrecognized = 1, kManagedMethod = 2, kManagedCode = 4, kUnmanagedCode = 8 };
inline constexpr std::uint32_t kAllFrames = 15;
/// xclrdata.idl CLRDataStackSetContextFlag.
enum SetContextFlag : std::uint32_t { kUnwindContext = 0, kCurrentContext = 1 };
/// dacprivate.h DACSTACKPRIV_REQUEST_FRAME_DATA: the address of the explicit Frame.
inline constexpr std::uint32_t kRequestFrameData = 0xf0000000;

struct IXCLRDataStackWalk : IUnknown {
  virtual HResult GetContext(std::uint32_t flags, std::uint32_t size, std::uint32_t* needed, std::uint8_t* out) = 0;
  virtual Place SetContext() = 0;
  virtual HResult Next() = 0;
  virtual Place GetStackSizeSkipped() = 0;
  virtual HResult GetFrameType(std::uint32_t* simple, std::uint32_t* detailed) = 0;
  virtual Place GetFrame() = 0;
  virtual HResult Request(std::uint32_t code, std::uint32_t in_size, std::uint8_t* in, std::uint32_t out_size,
                          std::uint8_t* out) = 0;
  virtual HResult SetContext2(std::uint32_t flags, std::uint32_t size, const std::uint8_t* context) = 0;
};

struct IXCLRDataTask : IUnknown {
  virtual Place GetProcess() = 0;
  virtual Place GetCurrentAppDomain() = 0;
  virtual Place GetUniqueID() = 0;
  virtual Place GetFlags() = 0;
  virtual Place IsSameObject() = 0;
  virtual Place GetManagedObject() = 0;
  virtual Place GetDesiredExecutionState() = 0;
  virtual Place SetDesiredExecutionState() = 0;
  virtual HResult CreateStackWalk(std::uint32_t flags, IXCLRDataStackWalk** walk) = 0;
};

/// xclrdata.idl CLRDataAddressType.
enum AddressType : std::uint32_t {
  kAddressUnrecognized,
  kAddressManagedMethod,
  kAddressRuntimeManagedCode,
  kAddressRuntimeUnmanagedCode,
  kAddressGcData,
  kAddressRuntimeManagedStub,
  kAddressRuntimeUnmanagedStub,
};

struct IXCLRDataProcess : IUnknown {
  virtual HResult Flush() = 0;
  virtual Place StartEnumTasks() = 0;
  virtual Place EnumTask() = 0;
  virtual Place EndEnumTasks() = 0;
  virtual HResult GetTaskByOSThreadID(std::uint32_t thread, IXCLRDataTask** task) = 0;
  virtual Place GetTaskByUniqueID() = 0;
  virtual Place GetFlags() = 0;
  virtual Place IsSameObject() = 0;
  virtual Place GetManagedObject() = 0;
  virtual Place GetDesiredExecutionState() = 0;
  virtual Place SetDesiredExecutionState() = 0;
  virtual HResult GetAddressType(DacAddress address, std::uint32_t* type) = 0;
  virtual HResult GetRuntimeNameByAddress(DacAddress address, std::uint32_t flags, std::uint32_t size,
                                          std::uint32_t* needed, char16_t* name, DacAddress* displacement) = 0;
};
inline constexpr Guid kIidDataProcess{0x5c552ab6, 0xfc09, 0x4cb3, {0x8e, 0x36, 0x22, 0xfa, 0x03, 0xc7, 0x98, 0xb7}};

/// dacprivate.h DacpThreadStoreData.
struct ThreadStoreData {
  std::int32_t thread_count, unstarted, background, pending, dead;
  DacAddress first_thread, finalizer_thread, gc_thread;
  std::uint32_t host_config;
};

/// dacprivate.h DacpThreadData.
struct ThreadData {
  std::uint32_t managed_id, os_id;
  std::int32_t state;
  std::uint32_t preemptive_disabled;
  DacAddress alloc_pointer, alloc_limit, context, domain, frame;
  std::uint32_t lock_count;
  DacAddress nested_exception, teb, fiber, last_thrown_handle, next;
};

/// dacprivate.h DacpMethodDescData: the members used here, then room for the rest and for later runtimes' additions.
struct MethodDescData {
  std::int32_t has_native_code, is_dynamic;
  std::uint16_t slot;
  DacAddress native_code, native_code_slot, method, method_table, module;
  std::uint32_t token;
  std::uint8_t rest[256];
};

/// dacprivate.h DacpCodeHeaderData.
struct CodeHeaderData {
  DacAddress gc_info;
  std::uint32_t jit_type;  ///< 0 unknown, 1 JIT, 2 ReadyToRun, 3 interpreter
  DacAddress method, start;
  std::uint32_t size;
  DacAddress cold_start;
  std::uint32_t cold_size, hot_size;
};

/// xclrdata.idl: 26 look-ups and enumerations come before the two names.
struct IXCLRDataModule : IUnknown {
  virtual Place Place0() = 0;
  virtual Place Place1() = 0;
  virtual Place Place2() = 0;
  virtual Place Place3() = 0;
  virtual Place Place4() = 0;
  virtual Place Place5() = 0;
  virtual Place Place6() = 0;
  virtual Place Place7() = 0;
  virtual Place Place8() = 0;
  virtual Place Place9() = 0;
  virtual Place Place10() = 0;
  virtual Place Place11() = 0;
  virtual Place Place12() = 0;
  virtual Place Place13() = 0;
  virtual Place Place14() = 0;
  virtual Place Place15() = 0;
  virtual Place Place16() = 0;
  virtual Place Place17() = 0;
  virtual Place Place18() = 0;
  virtual Place Place19() = 0;
  virtual Place Place20() = 0;
  virtual Place Place21() = 0;
  virtual Place Place22() = 0;
  virtual Place Place23() = 0;
  virtual Place Place24() = 0;
  virtual Place Place25() = 0;
  virtual HResult GetName(std::uint32_t size, std::uint32_t* needed, char16_t* name) = 0;
  virtual HResult GetFileName(std::uint32_t size, std::uint32_t* needed, char16_t* name) = 0;
};

/// sospriv.idl.
struct ISOSDacInterface : IUnknown {
  virtual HResult GetThreadStoreData(ThreadStoreData* data) = 0;
  virtual Place GetAppDomainStoreData() = 0;
  virtual Place GetAppDomainList() = 0;
  virtual Place GetAppDomainData() = 0;
  virtual Place GetAppDomainName() = 0;
  virtual Place GetDomainFromContext() = 0;
  virtual Place GetAssemblyList() = 0;
  virtual Place GetAssemblyData() = 0;
  virtual Place GetAssemblyName() = 0;
  virtual HResult GetModule(DacAddress address, IXCLRDataModule** module) = 0;
  virtual Place GetModuleData() = 0;
  virtual Place TraverseModuleMap() = 0;
  virtual Place GetAssemblyModuleList() = 0;
  virtual Place GetILForModule() = 0;
  virtual HResult GetThreadData(DacAddress thread, ThreadData* data) = 0;
  virtual Place GetThreadFromThinlockID() = 0;
  virtual HResult GetStackLimits(DacAddress thread, DacAddress* lower, DacAddress* upper, DacAddress* fp) = 0;
  virtual HResult GetMethodDescData(DacAddress method, DacAddress ip, MethodDescData* data, std::uint32_t count,
                                    void* reverted, std::uint32_t* needed) = 0;
  virtual HResult GetMethodDescPtrFromIP(DacAddress ip, DacAddress* method) = 0;
  virtual HResult GetMethodDescName(DacAddress method, std::uint32_t size, char16_t* name, std::uint32_t* needed) = 0;
  virtual HResult GetMethodDescPtrFromFrame(DacAddress frame, DacAddress* method) = 0;
  virtual Place GetMethodDescFromToken() = 0;
  virtual Place GetMethodDescTransparencyData() = 0;
  virtual HResult GetCodeHeaderData(DacAddress ip, CodeHeaderData* data) = 0;
  virtual Place GetJitManagerList() = 0;
  virtual HResult GetJitHelperFunctionName(DacAddress ip, std::uint32_t size, char* name, std::uint32_t* needed) = 0;
  virtual Place GetJumpThunkTarget() = 0;
  virtual Place GetThreadpoolData() = 0;
  virtual Place GetWorkRequestData() = 0;
  virtual Place GetHillClimbingLogEntry() = 0;
  virtual Place GetObjectData() = 0;
  virtual Place GetObjectStringData() = 0;
  virtual HResult GetObjectClassName(DacAddress object, std::uint32_t size, char16_t* name, std::uint32_t* needed) = 0;
  virtual Place GetMethodTableName() = 0;
  virtual Place GetMethodTableData() = 0;
  virtual Place GetMethodTableSlot() = 0;
  virtual Place GetMethodTableFieldData() = 0;
  virtual Place GetMethodTableTransparencyData() = 0;
  virtual Place GetMethodTableForEEClass() = 0;
  virtual Place GetFieldDescData() = 0;
  virtual HResult GetFrameName(DacAddress type, std::uint32_t size, char16_t* name, std::uint32_t* needed) = 0;
  virtual HResult GetPEFileBase(DacAddress file, DacAddress* base) = 0;
  virtual HResult GetPEFileName(DacAddress file, std::uint32_t size, char16_t* name, std::uint32_t* needed) = 0;
};
inline constexpr Guid kIidSosDac{0x436f00f2, 0xb42a, 0x4b9f, {0x87, 0x0c, 0xe7, 0x3d, 0xb6, 0x6a, 0xe9, 0x30}};

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

}  // namespace mixstack::helper
