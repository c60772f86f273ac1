// MethodDescs of explicit Frames (FrameIterator.GetMethodDescPtr in dotnet/runtime).
#include "dotnet/code/frames/frame_update.h"
#include "dotnet/code/method_check.h"

namespace mixstack::dotnet {
namespace {

// A stored pointer that should be a MethodDesc or 0. Torn and stale values are no methods.
Result<Address> checked(const RuntimeMemory& memory, Result<Address> method) {
  if (!method || *method == 0) return method;
  return is_method_desc(memory, *method) ? *method : 0;
}

Result<Address> framed_method(const RuntimeMemory& memory, Address frame) {
  return checked(memory, memory.pointer(frame, memory.layouts().framed_method_frame.method_desc));
}

Result<Address> stub_dispatch(const RuntimeMemory& memory, Address frame) {
  const auto& l = memory.layouts().stub_dispatch_frame;
  auto method = checked(memory, memory.pointer(frame, l.method_desc));
  if (!method || *method != 0) return method;
  auto table = memory.pointer(frame, l.representative_mt);
  if (!table || *table == 0) return table;
  auto slot = memory.value<std::uint32_t>(frame, l.representative_slot);
  if (!slot) return fail(slot.error());
  auto found = method_for_slot(memory, *table, *slot & 0xffff);
  return found ? *found : 0;
}

// On 64-bit targets bit 0 says that the datum is the target of a calli; the other low bits mark Frames of the
// exception-handling helpers. On x86 Windows values below 64 KiB are argument sizes.
Result<Address> inlined_call(const RuntimeMemory& memory, const FrameRecord& frame) {
  auto active = has_active_call(memory, frame);
  if (!active) return fail(active.error());
  auto datum = memory.pointer(frame.address, memory.layouts().inlined_call_frame.datum);
  if (!datum) return datum;
  if (!*active || (*datum & ~Address{0xffff}) == 0) return Address{0};
  if (memory.pointer_size() == 8 && (*datum & 1) != 0) return Address{0};
  return checked(memory, *datum & ~Address{memory.pointer_size() - 1});
}

}  // namespace

Result<Address> frame_method(const RuntimeMemory& memory, const FrameRecord& frame) {
  switch (frame.type) {
    case FrameType::framed_method:
    case FrameType::clr_to_com:
    case FrameType::dynamic_helper:
    case FrameType::external_method:
    case FrameType::prestub_method:
    case FrameType::call_counting_helper:
      return framed_method(memory, frame.address);
    case FrameType::stub_dispatch:
      return stub_dispatch(memory, frame.address);
    case FrameType::inlined_call:
      return inlined_call(memory, frame);
    default:
      return Address{0};
  }
}

}  // namespace mixstack::dotnet
