#include "dotnet/code/stub_target.h"

#include <algorithm>

#include "dotnet/code/frames/frame_chain.h"
#include "dotnet/code/frames/frame_update.h"
#include "dotnet/code/method_check.h"

namespace mixstack::dotnet {
namespace {

constexpr unsigned kMaxRecords = 64;  // inside one stack frame; a stub has one

Address only_pinvoke(const RuntimeMemory& memory, Address method) {
  if (method == 0 || !is_method_desc(memory, method)) return 0;
  const auto kind = method_class(memory, method);
  return kind && *kind == MethodClass::pinvoke ? method : 0;
}

/// The method by the one Frame; 0 when its two witnesses contradict each other.
Address target_of(CodeManager& code, const Frame& stub, const FrameRecord& record) {
  const RuntimeMemory& memory = code.memory();
  const auto& l = memory.layouts().inlined_call_frame;
  const auto return_address = memory.pointer(record.address, l.caller_return_address);
  if (!return_address || l.size == 0) return 0;
  Address datum = 0;
  if (*return_address != 0) {
    const CodeInfo& caller = code.find(CodeAddress::after_call(*return_address));
    if (!caller.is_managed() || caller.method_desc != stub.method) return 0;
    datum = only_pinvoke(memory, frame_method(memory, record).value_or(0));
  }
  const Address hidden = only_pinvoke(memory, memory.pointer_at(record.address + l.size).value_or(0));
  if (datum != 0 && hidden != 0 && datum != hidden) return 0;
  return datum != 0 ? datum : hidden;
}

}  // namespace

Address stub_target(CodeManager& code, const Frame& frame, Address caller_sp,
                    std::span<const walk::Checkpoint> checkpoints) {
  if (frame.method == 0 || frame.is_funclet() || caller_sp <= frame.sp || checkpoints.empty()) return 0;
  // The newest Frame of a stack overflow lies on another stack (is_handlers_frame); the others ascend.
  if (checkpoints.size() > 1 && checkpoints[0].address > checkpoints[1].address) checkpoints = checkpoints.subspan(1);
  const auto below = [](const walk::Checkpoint& c, Address sp) { return c.address < sp; };
  auto at = std::lower_bound(checkpoints.begin(), checkpoints.end(), frame.sp, below);
  if (at == checkpoints.end() || at->address >= caller_sp || !has_method_context_argument(code.memory(), frame.method))
    return 0;
  Address found = 0;
  for (unsigned i = 0; i < kMaxRecords && at != checkpoints.end() && at->address < caller_sp; i++, at++) {
    const FrameType type = frame_type_of(code.memory().layouts(), at->identifier);
    if (type != FrameType::inlined_call) continue;
    if (found != 0) return 0;
    found = target_of(code, frame, {at->address, type, at->identifier});
  }
  return found;
}

}  // namespace mixstack::dotnet
