// Queries::walk: the DAC's own stack walk, element by element.
#include "base/arch/context.h"
#include "helpers/dac/queries.h"
#include "helpers/dac/wide_text.h"

namespace mixstack::helper {

using namespace dotnet::dac;

Outcome<ComPointer<IXCLRDataStackWalk>> Queries::start_walk(const WalkRequest& request) {
  ComPointer<IXCLRDataTask> task;
  HResult result = dac_.process().GetTaskByOSThreadID(request.thread, task.out());
  if (!succeeded(result) || !task) return refuse(Stage::query, result, "GetTaskByOSThreadID failed");
  ComPointer<IXCLRDataStackWalk> walk;
  result = task->CreateStackWalk(kAllFrames, walk.out());
  if (!succeeded(result) || !walk) return refuse(Stage::query, result, "CreateStackWalk failed");
  if (!request.from_context) return walk;
  const std::uint32_t flag = request.is_interrupted ? kCurrentContext : kUnwindContext;
  result = walk->SetContext2(flag, static_cast<std::uint32_t>(request.context.size()),
                             reinterpret_cast<const std::uint8_t*>(request.context.data()));
  if (!succeeded(result)) return refuse(Stage::query, result, "SetContext2 failed");
  return walk;
}

HResult Queries::read_element(IXCLRDataStackWalk& walk, Element& out) {
  const arch::ContextLayout* layout = arch::context_layout(arch_);
  if (layout == nullptr) return kFail;
  std::vector<std::uint8_t> context(layout->size);
  std::uint32_t needed = 0;
  HResult result =
      walk.GetContext(layout->flags_all, static_cast<std::uint32_t>(context.size()), &needed, context.data());
  if (!succeeded(result)) return result;
  auto registers = arch::decode_context(arch_, std::as_bytes(std::span(context)));
  if (!registers) return kFail;
  out.registers = *registers;
  std::uint32_t simple = 0, detailed = 0;
  result = walk.GetFrameType(&simple, &detailed);
  if (!succeeded(result)) return result;
  if (simple == kManagedMethod) {
    out.kind = ElementKind::method;
    return kOk;
  }
  if (simple != kUnmanagedCode) return kOk;  // a transition
  if (!succeeded(
          walk.Request(kRequestFrameData, 0, nullptr, sizeof out.record, reinterpret_cast<std::uint8_t*>(&out.record))))
    return kOk;
  out.kind = ElementKind::record;
  if (memory_.read(out.record, std::as_writable_bytes(std::span(&out.record_type, 1))) != sizeof out.record_type)
    return kOk;
  out.record_name = wide_text([&](std::uint32_t size, std::uint32_t* length, char16_t* text) {
    return dac_.sos().GetFrameName(out.record_type, size, text, length);
  });
  if (!succeeded(dac_.sos().GetMethodDescPtrFromFrame(out.record, &out.method))) out.method = 0;
  return kOk;
}

Outcome<Queries::WalkResult> Queries::walk(const WalkRequest& request, const ElementSink& sink) {
  auto walk = start_walk(request);
  if (!walk) return tl::unexpected(walk.error());
  for (std::uint32_t i = 0; i < request.max_frames; i++) {
    Element element;
    HResult result = read_element(*walk->get(), element);
    if (result == kFalse) return WalkResult{result, WalkEnd::end_of_stack};
    if (!succeeded(result)) return WalkResult{result, i == 0 ? WalkEnd::end_of_stack : WalkEnd::failed};
    sink(element);
    if (request.stop_at_native && element.kind != ElementKind::method)
      return WalkResult{kOk, WalkEnd::stopped_at_native};
    result = (*walk)->Next();
    if (result == kFalse) return WalkResult{result, WalkEnd::end_of_stack};
    if (!succeeded(result)) return WalkResult{result, WalkEnd::failed};
  }
  return WalkResult{kOk, WalkEnd::limit};
}

}  // namespace mixstack::helper
