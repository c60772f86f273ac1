#include "dotnet/code/gc_variables.h"

namespace mixstack::dotnet {
namespace {

// GcDacVars: version, two sizes, then pointers.
constexpr std::uint8_t kMajor = 2, kMinor = 4;
constexpr std::uint32_t kGenerationSize = 8, kGenerationCount = 16, kVariables = 24;
constexpr std::uint64_t kGenerations = 5;  // with the large and the pinned objects'
constexpr std::uint64_t kLeastSize = 64, kMostSize = 1 << 16;

}  // namespace

Address GcVariables::entry(Entry index) const { return memory_.pointer_at(dac_table_ + 8u * index).value_or(0); }

Address GcVariables::variable(Variable index) const {
  return memory_.pointer_at(variables_ + kVariables + 8u * index).value_or(0);
}

Address GcVariables::through(Variable index) const {
  const Address at = variable(index);
  return at == 0 ? 0 : memory_.pointer_at(at).value_or(0);
}

bool GcVariables::agrees() const {
  const GlobalValues& globals = memory_.layouts().globals;
  const auto is = [&](Entry index, const Global& global) { return global && global.value == entry(index); };
  return is(kThreadStore, globals.thread_store) && is(kFinalizerThread, globals.finalizer_thread) &&
         is(kSuspensionThread, globals.gc_thread) && is(kAppDomain, globals.app_domain) &&
         is(kObjectMethodTable, globals.object_method_table);
}

std::optional<GcVariables> GcVariables::find(RuntimeMemory memory, Address dac_table) {
  if (dac_table == 0 || memory.pointer_size() != 8 || memory.layouts().is_windows) return std::nullopt;
  GcVariables found(memory, dac_table);
  if (!found.agrees()) return std::nullopt;
  const Address at = memory.pointer_at(found.entry(kGcDacGlobals)).value_or(0);
  if (at == 0) return std::nullopt;
  const auto major = memory.reader().read<std::uint8_t>(at);
  const auto minor = memory.reader().read<std::uint8_t>(at + 1);
  const auto size = memory.reader().read<std::uint64_t>(at + kGenerationSize);
  const auto count = memory.reader().read<std::uint64_t>(at + kGenerationCount);
  if (!major || !minor || *major != kMajor || *minor < kMinor || !size || !count) return std::nullopt;
  if (*size < kLeastSize || *size > kMostSize || *count != kGenerations) return std::nullopt;
  found.variables_ = at;
  found.generation_size_ = *size;
  return found;
}

}  // namespace mixstack::dotnet
