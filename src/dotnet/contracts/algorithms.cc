#include "dotnet/contracts/algorithms.h"

#include "dotnet/contracts/descriptor.h"

namespace mixstack::dotnet {
namespace {

NibbleMapForm nibble_map_of(const Descriptor& d) {
  // Version 2 of the descriptor begins to count its contracts anew: its c1 is what was 2.
  const auto version = d.contract("ExecutionManager");
  const bool is_linear = d.format() == 0 && version && version->number == 1;
  return is_linear ? NibbleMapForm::linear : NibbleMapForm::constant_time;
}

DebugInfoForm debug_info_of(const Descriptor& d) {
  if (d.contract("DebugInfo")) return DebugInfoForm::headers;
  // The runtimes whose Frames begin with a vtable.
  return d.global_number("InlinedCallFrameVTable") ? DebugInfoForm::nibbles : DebugInfoForm::bits;
}

CollectorPlaces collector_of(const Descriptor& d) {
  if (const auto version = d.contract("GC"))
    return *version == ContractVersion{'c', 1} ? CollectorPlaces::descriptor : CollectorPlaces::not_known;
  return d.format() < Descriptor::kFormatOfLetters ? CollectorPlaces::dac_table : CollectorPlaces::not_started;
}

}  // namespace

Algorithms choose_algorithms(const Descriptor& d) {
  Algorithms a;
  a.nibble_map = nibble_map_of(d);
  a.jit_debug_info = debug_info_of(d);
  a.collector = collector_of(d);
  if (d.format() >= Descriptor::kFormatOfLetters) {
    a.thread_links = ThreadLinks::thread_to_thread;
    a.thrown_object = ThrownObject::object;
  }
  if (!d.global("MethodDescSizeTable") && d.size_of("AsyncMethodData")) a.method_sizes = MethodSizes::types;
  if (d.type("ContinuationObject") && d.type("AsyncResumeInfo")) a.suspended_methods = SuspendedMethods::resume_info;
  if (!d.type("ArrayClass")) a.array_rank = ArrayRank::base_size;
  if (d.offset("SyncBlock", "Lock")) a.waits = WaitForm::managed;
  return a;
}

}  // namespace mixstack::dotnet
