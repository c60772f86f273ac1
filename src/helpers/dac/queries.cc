#include "helpers/dac/queries.h"

#include "helpers/dac/wide_text.h"

namespace mixstack::helper {

using namespace dotnet::dac;

namespace {

constexpr std::size_t kMaxThreads = 1u << 16;
constexpr std::uint32_t kJitted = 1;  // dacprivate.h JITTypes

}  // namespace

void Queries::flush() {
  memory_.clear();
  dac_.process().Flush();
}

Outcome<std::vector<ThreadRecord>> Queries::threads() {
  ThreadStoreData store{};
  if (const HResult r = dac_.sos().GetThreadStoreData(&store); !succeeded(r))
    return refuse(Stage::query, r, "GetThreadStoreData failed");
  std::vector<ThreadRecord> list;
  DacAddress at = store.first_thread;
  while (at != 0 && list.size() < kMaxThreads) {
    ThreadData data{};
    if (const HResult r = dac_.sos().GetThreadData(at, &data); !succeeded(r)) {
      if (list.empty()) return refuse(Stage::query, r, "GetThreadData failed");
      break;
    }
    ThreadRecord facts;
    facts.address = at;
    facts.managed_id = data.managed_id;
    facts.os_id = data.os_id;
    facts.state = static_cast<std::uint32_t>(data.state);
    facts.cooperative = data.preemptive_disabled != 0;
    facts.frame = data.frame;
    DacAddress lower = 0, upper = 0, fp = 0;
    if (succeeded(dac_.sos().GetStackLimits(at, &lower, &upper, &fp))) facts.stack = {lower, upper};
    facts.exception_type = exception_type(data.last_thrown_handle);
    list.push_back(std::move(facts));
    if (data.next == at) break;
    at = data.next;
  }
  return list;
}

std::string Queries::exception_type(DacAddress handle) {
  DacAddress object = 0;
  if (handle == 0 || memory_.read(handle, std::as_writable_bytes(std::span(&object, 1))) != sizeof object) return {};
  if (object == 0) return {};
  return wide_text([&](std::uint32_t size, std::uint32_t* needed, char16_t* out) {
    return dac_.sos().GetObjectClassName(object, size, out, needed);
  });
}

std::string Queries::method_name(DacAddress method) {
  return wide_text([&](std::uint32_t size, std::uint32_t* needed, char16_t* out) {
    return dac_.sos().GetMethodDescName(method, size, out, needed);
  });
}

std::string Queries::module_path(DacAddress method) {
  MethodDescData data{};
  if (!succeeded(dac_.sos().GetMethodDescData(method, 0, &data, 0, nullptr, nullptr)) || data.module == 0) return {};
  ComPointer<IXCLRDataModule> module;
  if (!succeeded(dac_.sos().GetModule(data.module, module.out())) || !module) return {};
  const auto text = [&](auto get) {
    return wide_text([&](std::uint32_t size, std::uint32_t* needed, char16_t* out) {
      return (module.get()->*get)(size, needed, out);
    });
  };
  std::string path = text(&IXCLRDataModule::GetFileName);
  return path.empty() ? text(&IXCLRDataModule::GetName) : path;
}

Description Queries::describe_method(DacAddress method) {
  Description d;
  d.method = method;
  d.name = method_name(method);
  if (d.name.empty()) return d;
  d.kind = CodeClass::method;
  d.module_path = module_path(method);
  return d;
}

Description Queries::describe(DacAddress code) {
  CodeHeaderData header{};
  if (succeeded(dac_.sos().GetCodeHeaderData(code, &header)) && header.method != 0) {
    Description d = describe_method(header.method);
    d.kind = CodeClass::method;
    d.method = header.method;
    d.start = header.start;
    d.size = header.hot_size != 0 ? header.hot_size : header.size;
    d.cold_start = header.cold_start;
    d.cold_size = header.cold_size;
    d.gc_info = header.gc_info;
    d.is_jitted = header.jit_type == kJitted;
    d.displacement = code - header.start;
    return d;
  }
  Description d;
  std::uint32_t type = kAddressUnrecognized;
  if (!succeeded(dac_.process().GetAddressType(code, &type))) return d;
  if (type != kAddressRuntimeManagedStub && type != kAddressRuntimeUnmanagedStub) return d;
  d.kind = CodeClass::stub;
  d.name = wide_text([&](std::uint32_t size, std::uint32_t* needed, char16_t* out) {
    return dac_.process().GetRuntimeNameByAddress(code, 0, size, needed, out, &d.displacement);
  });
  return d;
}

}  // namespace mixstack::helper
