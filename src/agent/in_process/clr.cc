// Input: the ICorProfilerInfo object that the runtime gives a profiler.
// Output: functions, modules, threads, code ranges as plain data, names as UTF-8.
// Algorithm: 1. `of` queries the newest interface first; runtimes before .NET 5 have none of them.
// 2. A call goes to a slot of the vtable, by the method's place in corprof.idl and cor.h: no SDK is needed.
// 3. Lists come from enumerators, kAtOnce elements a call, until an answer is short.
// 4. A name is the method's from its metadata, with its type in front, and the outer types of a nested one. Dynamic
// methods have no metadata: `dynamic_name`.
// Bounds: kMostFunctions, kMostModules, kMostThreads per list; kMostVersions, kMostChunks per function; names are cut
// to the fixed buffers; 16 levels of nested types; kStopTries to stop the runtime.
#include "agent/in_process/clr.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace mixstack::agent::clr {
namespace {

constexpr std::size_t kAtOnce = 256;  // elements per call of an enumerator
constexpr std::size_t kMostVersions = 1024, kMostChunks = 64, kMostFunctions = 1 << 20, kMostModules = 1 << 16,
                      kMostThreads = 1 << 16;
constexpr int kStopTries = 1'000;  // a millisecond each: most collections are over by then

// Interface ids, newest first: ICorProfilerInfo14, 13, 12.
constexpr std::array<Guid, 3> kInfo{{
    {0xf460e352, 0xd76d, 0x4fe9, {0x83, 0x5f, 0xf6, 0xaf, 0x9d, 0x6e, 0x86, 0x2d}},
    {0x6e6c7ee2, 0x0701, 0x4ec2, {0x9d, 0x29, 0x2e, 0x87, 0x33, 0xb6, 0x69, 0x34}},
    {0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}},
}};
constexpr Guid kMetadataImport{0x7dac8207, 0xd3ae, 0x4c75, {0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44}};

// Slots of the vtables. ICorProfilerInfo:
constexpr unsigned kQueryInterface = 0, kRelease = 2, kGetFunctionFromIp = 7, kGetThreadInfo = 12,
                   kGetFunctionInfo = 15, kGetTokenAndMetadata = 19;
constexpr unsigned kEnumModules = 66, kGetRuntimeInformation = 67, kGetModuleInfo2 = 70, kEnumThreads = 71,
                   kEnumJitedFunctions2 = 79;
constexpr unsigned kSetEventMask2 = 82, kGetFunctionFromIp3 = 88, kGetDynamicFunctionInfo = 89,
                   kGetNativeCodeStartAddresses = 90, kGetCodeInfo4 = 92, kSuspendRuntime = 97, kResumeRuntime = 98;
// Its enumerators, and IMetaDataImport:
constexpr unsigned kNext = 7;
constexpr unsigned kGetTypeDefProps = 12, kGetMethodProps = 30, kGetNestedClassProps = 62;

struct CodeInfo {  // COR_PRF_CODE_INFO
  Id start;
  std::uintptr_t size;
};

/// Releases an object at the end of a block.
class Released {
 public:
  explicit Released(void* object) : object_(object) {}
  ~Released() {
    if (object_ != nullptr) (void)call<std::uint32_t>(object_, kRelease);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  void* object_;
};

template <class T>
[[nodiscard]] std::vector<T> all_of(void* enumerator, std::size_t most) {
  const Released released(enumerator);
  std::vector<T> all;
  std::array<T, kAtOnce> some;
  for (std::uint32_t got = kAtOnce; got == kAtOnce && all.size() < most;) {
    got = 0;
    if (call(enumerator, kNext, static_cast<std::uint32_t>(some.size()), some.data(), &got) < 0) break;
    all.insert(all.end(), some.begin(), some.begin() + std::min<std::uint32_t>(got, kAtOnce));
  }
  return all;
}

[[nodiscard]] std::string type_name(void* metadata, std::uint32_t type) {
  std::array<char16_t, 512> text;
  std::string name;
  for (int depth = 0; depth < 16 && type != 0; depth++) {
    std::uint32_t length = 0, flags = 0, base = 0, outer = 0;
    const auto room = static_cast<std::uint32_t>(text.size());
    if (call(metadata, kGetTypeDefProps, type, text.data(), room, &length, &flags, &base) < 0) break;
    const std::string own = utf8(text.data(), std::min<std::uint32_t>(length, room));
    name = name.empty() ? own : own + "+" + name;
    constexpr std::uint32_t kVisibility = 7;  // CorTypeAttr: 2 and above are nested
    if ((flags & kVisibility) < 2 || call(metadata, kGetNestedClassProps, type, &outer) < 0) break;
    type = outer;
  }
  return name;
}

}  // namespace

std::string utf8(const char16_t* text, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size && text[i] != 0; i++) {
    std::uint32_t c = text[i];
    const bool is_high = c >= 0xd800 && c < 0xdc00;
    if (is_high && i + 1 < size && text[i + 1] >= 0xdc00 && text[i + 1] < 0xe000) {
      c = 0x10000 + ((c - 0xd800) << 10) + (text[++i] - 0xdc00u);
    } else if (c >= 0xd800 && c < 0xe000) {
      c = 0xfffd;
    }
    const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xc0 | c >> 6), put(0x80 | (c & 63));
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    } else {
      put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    }
  }
  return out;
}

std::optional<ProfilerInfo> ProfilerInfo::of(void* unknown) {
  for (const Guid& id : kInfo) {
    void* object = nullptr;
    if (call(unknown, kQueryInterface, &id, &object) == kOk && object != nullptr) return ProfilerInfo(object);
  }
  return std::nullopt;
}

Status ProfilerInfo::set_events(std::uint32_t low, std::uint32_t high) const {
  return call(object_, kSetEventMask2, low, high);
}

std::vector<Address> ProfilerInfo::code_starts(const Function& function) const {
  std::vector<Id> starts(16);
  std::uint32_t count = 0;
  for (;;) {
    const auto room = static_cast<std::uint32_t>(starts.size());
    if (call(object_, kGetNativeCodeStartAddresses, function.id, function.rejit, room, &count, starts.data()) < 0)
      return {};
    if (count <= room || room >= kMostVersions) break;
    starts.resize(std::min<std::size_t>(count, kMostVersions));
  }
  starts.resize(std::min<std::size_t>(count, starts.size()));
  return {starts.begin(), starts.end()};
}

std::vector<AddressRange> ProfilerInfo::code_ranges(Address start) const {
  std::array<CodeInfo, kMostChunks> chunks;
  std::uint32_t count = 0;
  const auto room = static_cast<std::uint32_t>(chunks.size());
  std::vector<AddressRange> ranges;
  if (call(object_, kGetCodeInfo4, static_cast<Id>(start), room, &count, chunks.data()) < 0) return ranges;
  for (std::uint32_t i = 0; i < std::min(count, room); i++)
    ranges.push_back({chunks[i].start, chunks[i].start + chunks[i].size});
  return ranges;
}

std::vector<Function> ProfilerInfo::compiled() const {
  void* enumerator = nullptr;
  if (call(object_, kEnumJitedFunctions2, &enumerator) < 0 || enumerator == nullptr) return {};
  return all_of<Function>(enumerator, kMostFunctions);
}

std::vector<Id> ProfilerInfo::modules() const {
  void* enumerator = nullptr;
  if (call(object_, kEnumModules, &enumerator) < 0 || enumerator == nullptr) return {};
  return all_of<Id>(enumerator, kMostModules);
}

std::optional<Module> ProfilerInfo::module(Id id) const {
  std::array<char16_t, 4096> path;
  const std::uint8_t* base = nullptr;
  std::uint32_t length = 0, flags = 0;
  Id assembly = 0;
  const auto room = static_cast<std::uint32_t>(path.size());
  if (call(object_, kGetModuleInfo2, id, &base, room, &length, path.data(), &assembly, &flags) < 0) return std::nullopt;
  return Module{reinterpret_cast<Address>(base), utf8(path.data(), std::min(length, room)), flags};
}

std::vector<Thread> ProfilerInfo::threads() const {
  void* enumerator = nullptr;
  std::vector<Thread> threads;
  if (call(object_, kEnumThreads, &enumerator) < 0 || enumerator == nullptr) return threads;
  for (const Id thread : all_of<Id>(enumerator, kMostThreads)) {
    std::uint32_t tid = 0;
    if (call(object_, kGetThreadInfo, thread, &tid) >= 0 && tid != 0) threads.push_back({thread, tid});
  }
  return threads;
}

bool ProfilerInfo::stop() const {
  constexpr auto kStopInProgress = static_cast<Status>(0x80131381);  // CORPROF_E_SUSPENSION_IN_PROGRESS
  for (int i = 0; i < kStopTries; i++) {
    const Status status = call(object_, kSuspendRuntime);
    if (status >= 0) return true;
    if (status != kStopInProgress) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void ProfilerInfo::go_on() const { (void)call(object_, kResumeRuntime); }

Id ProfilerInfo::module_of(Id function) const {
  Id type = 0, module = 0;
  std::uint32_t token = 0;
  return call(object_, kGetFunctionInfo, function, &type, &module, &token) < 0 ? 0 : module;
}

Id ProfilerInfo::function_at(Address address) const {
  Id function = 0;
  return call(object_, kGetFunctionFromIp, static_cast<Id>(address), &function) < 0 ? 0 : function;
}

Function ProfilerInfo::any_function_at(Address address) const {
  Function function;
  const Status status = call(object_, kGetFunctionFromIp3, static_cast<Id>(address), &function.id, &function.rejit);
  return status < 0 ? Function{} : function;
}

std::string ProfilerInfo::name(Id function) const {
  Id type_id = 0, module = 0;
  std::uint32_t token = 0;
  void* metadata = nullptr;
  if (call(object_, kGetFunctionInfo, function, &type_id, &module, &token) < 0) return {};
  if (call(object_, kGetTokenAndMetadata, function, &kMetadataImport, &metadata, &token) < 0 || metadata == nullptr)
    return {};
  const Released released(metadata);
  std::array<char16_t, 512> text;
  std::uint32_t type = 0, length = 0, attributes = 0, signature_size = 0, rva = 0, flags = 0;
  const std::uint8_t* signature = nullptr;
  const auto room = static_cast<std::uint32_t>(text.size());
  if (call(metadata, kGetMethodProps, token, &type, text.data(), room, &length, &attributes, &signature,
           &signature_size, &rva, &flags) < 0)
    return {};
  const std::string method = utf8(text.data(), std::min(length, room)), owner = type_name(metadata, type);
  return owner.empty() ? method : owner + "." + method;
}

std::string ProfilerInfo::dynamic_name(Id function) const {
  std::array<char16_t, 512> text;
  Id module = 0;
  const std::uint8_t* signature = nullptr;
  std::uint32_t signature_size = 0, length = 0;
  const auto room = static_cast<std::uint32_t>(text.size());
  const Status status = call(object_, kGetDynamicFunctionInfo, function, &module, &signature, &signature_size, room,
                             &length, text.data());
  const std::string method = status < 0 ? std::string() : utf8(text.data(), std::min(length, room));
  if (method.empty()) return "[dynamic]";
  return (method.starts_with("IL_STUB") ? "ILStubClass." : "DynamicClass.") + method;
}

std::string ProfilerInfo::version() const {
  std::uint16_t instance = 0, major = 0, minor = 0, build = 0, fix = 0;
  std::uint32_t kind = 0, length = 0;
  std::array<char16_t, 64> text;
  if (call(object_, kGetRuntimeInformation, &instance, &kind, &major, &minor, &build, &fix,
           static_cast<std::uint32_t>(text.size()), &length, text.data()) < 0)
    return {};
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(build);
}

}  // namespace mixstack::agent::clr
