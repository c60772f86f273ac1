// dac_probe PID [--mixed] [--dac PATH] [--helper PATH] [--silence MS] [--name ADDRESS]...
// Prints what the DAC provider says of a live process: threads with frames and names, and every diagnosis. With --mixed
// the mixed walk by the DAC instead, its frames in the form of `mixstack dump --json`.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/arch/cpu.h"
#include "base/memory/cached_memory.h"
#include "base/memory/overlay_memory.h"
#include "dac/mixed_walk.h"
#include "dotnet/dac/dac_provider.h"
#include "engine/images/module_map.h"
#include "process/live/live_target.h"

namespace {

using namespace mixstack;
using nlohmann::json;

std::string hex(std::uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

json to_json(const Diagnosis& d) {
  return {{"code", static_cast<int>(d.error.code)},
          {"os_error", d.error.os_error},
          {"subject", d.subject},
          {"text", d.text}};
}

struct Arguments {
  std::uint32_t pid = 0;
  bool mixed = false;
  std::vector<Address> names;
  dotnet::dac::ProviderOptions options;
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--dac" && i + 1 < argc) {
      a.options.dac_path = argv[++i];
    } else if (word == "--helper" && i + 1 < argc) {
      a.options.helper = argv[++i];
    } else if (word == "--silence" && i + 1 < argc) {
      a.options.limits.silence = std::chrono::milliseconds(std::stol(argv[++i]));
    } else if (word == "--name" && i + 1 < argc) {
      a.names.push_back(std::stoull(argv[++i], nullptr, 0));
    } else if (word == "--mixed") {
      a.mixed = true;
    } else {
      a.pid = static_cast<std::uint32_t>(std::stoul(word));
    }
  }
  return a;
}

json frame_json(const dotnet::dac::ManagedFrame& f) {
  return {{"kind", f.kind == FrameKind::managed ? "managed" : "runtime"},
          {"ip", hex(f.ip)},
          {"sp", hex(f.sp)},
          {"method", f.name},
          {"methodDesc", hex(f.method)},
          {"module", f.module_path}};
}

json thread_json(dotnet::dac::DacProvider& provider, const dotnet::dac::ThreadRecord& t, json& diagnoses) {
  json out{{"osId", t.os_id},
           {"managedId", t.managed_id},
           {"address", hex(t.address)},
           {"cooperative", t.cooperative},
           {"exceptionType", t.exception_type},
           {"frames", json::array()}};
  if (t.os_id == 0) return out;
  const auto start = std::chrono::steady_clock::now();
  const auto frames = provider.walk(t.os_id);
  out["microseconds"] =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  if (!frames) {
    diagnoses.push_back(to_json(frames.error()));
    return out;
  }
  for (const auto& f : *frames) out["frames"].push_back(frame_json(f));
  return out;
}

const char* kind_word(FrameKind kind) {
  switch (kind) {
    case FrameKind::managed:
      return "managed";
    case FrameKind::runtime_frame:
      return "runtime_frame";
    case FrameKind::runtime_stub:
      return "runtime_stub";
    case FrameKind::native:
    case FrameKind::signal_trampoline:
      return "native";
    case FrameKind::undescribed:
      break;
  }
  return "undescribed";
}

/// The words that stack_compare.py reads.
json trace_json(const ThreadCapture& thread, const Trace& trace, NameProvider& names) {
  json out{{"tid", thread.ns_tid},
           {"name", thread.comm},
           {"stop_reason", std::string(to_string(trace.stop))},
           {"frames", json::array()}};
  for (const Frame& f : trace.frames) {
    const SymbolInfo symbol = names.describe(f).value_or(SymbolInfo{});
    json frame{{"kind", kind_word(f.kind)},
               {"code_kind", std::string(to_string(f.kind))},
               {"ip", hex(f.pc.raw())},
               {"sp", hex(f.sp)},
               {"name", symbol.name},
               {"raw_name", symbol.raw_name},
               {"module", symbol.module},
               {"note", symbol.note},
               {"trust", std::string(to_string(f.trust))},
               {"frame_address", hex(f.explicit_frame)}};
    if (f.method != 0) frame["method_desc"] = hex(f.method);
    if (f.registers != 0)
      for (unsigned r = 0; r < Registers::kMax; r++)
        if (const auto v = trace.registers[f.registers - 1].get(r))
          frame["registers"][std::string(arch::register_name(thread.registers.arch(), r))] = hex(*v);
    out["frames"].push_back(std::move(frame));
  }
  return out;
}

json mixed(Target& target, std::unique_ptr<dotnet::dac::DacProvider> provider, const images::ModuleMap& modules,
           std::span<const Region> regions, memory::CachedMemory& memory) {
  json out{{"threads", json::array()}, {"diagnoses", json::array()}};
  dotnet::dac::DacRuntime runtime(std::move(provider), modules);
  CaptureRequest request;
  if (auto roots = runtime.prepare_roots(target.memory())) {
    request.roots = *roots;
  } else {
    out["diagnoses"].push_back(to_json(roots.error()));
  }
  auto capture = target.capture(request);
  if (!capture) return out;
  memory.clear();
  test::DacWalk walk(*capture, memory, modules, regions, runtime, {.explicit_frames = true, .keep_registers = true});
  const auto start = std::chrono::steady_clock::now();
  for (const ThreadCapture& t : capture->threads)
    out["threads"].push_back(trace_json(t, walk.walk(t), runtime.names()));
  out["microseconds"] =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  for (const auto& d : runtime.take_diagnoses()) out["diagnoses"].push_back(to_json(d));
  return out;
}

json look(Target& target, const Arguments& arguments) {
  json out{{"threads", json::array()}, {"diagnoses", json::array()}, {"names", json::object()}};
  memory::CachedMemory memory(target.memory());
  const auto regions = target.regions();
  if (!regions) return out;
  const auto modules = images::ModuleMap::build(*regions, memory, [&](const Region& r) { return target.open_file(r); });
  const auto runtimes = dotnet::find_runtimes(modules, target.info().executable);
  if (runtimes.empty()) return out;
  out["runtime"] = runtimes[0].version;
  auto provider = dotnet::dac::DacProvider::open(
      runtimes[0], target.info().arch, [&](const std::string& p) { return target.open_path(p); }, arguments.options);
  if (!provider) {
    out["diagnoses"].push_back(to_json(provider.error()));
    return out;
  }
  if (arguments.mixed) {
    json walked = mixed(target, std::move(*provider), modules, *regions, memory);
    walked["runtime"] = out["runtime"];
    return walked;
  }
  auto capture = target.capture({});
  if (!capture) return out;
  const memory::OverlayMemory overlay(*capture, &memory);
  (*provider)->bind({&overlay, [&](std::uint32_t id) -> const Registers* {
                       for (const auto& t : capture->threads)
                         if (t.ns_tid == id && t.captured) return &t.registers;
                       return nullptr;
                     }});
  const auto threads = (*provider)->threads();
  if (!threads) {
    out["diagnoses"].push_back(to_json(threads.error()));
    return out;
  }
  for (const auto& t : *threads) out["threads"].push_back(thread_json(**provider, t, out["diagnoses"]));
  for (const Address a : arguments.names) out["names"][hex(a)] = (*provider)->name_of(a);
  for (const auto& d : (*provider)->take_diagnoses()) out["diagnoses"].push_back(to_json(d));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  auto target = process::open_live(arguments.pid);
  if (!target) {
    std::fprintf(stderr, "cannot open process %u: error %d\n", arguments.pid, static_cast<int>(target.error().code));
    return 1;
  }
  std::puts(look(**target, arguments).dump().c_str());
  return 0;
}
