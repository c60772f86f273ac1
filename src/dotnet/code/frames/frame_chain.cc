#include "dotnet/code/frames/frame_chain.h"

#include <algorithm>

namespace mixstack::dotnet {

FrameType frame_type_of(const Layouts& layouts, std::uint64_t identifier) {
  if (identifier == 0) return FrameType::unknown;
  for (std::size_t i = 1; i < kFrameTypes; i++)
    if (layouts.frame_identifiers[i] == identifier) return static_cast<FrameType>(i);
  return FrameType::unknown;
}

std::string_view frame_name(const Layouts& layouts, std::uint64_t identifier) {
  return frame_type_name(frame_type_of(layouts, identifier));
}

FrameRecord frame_with(const Layouts& layouts, Address address, std::uint64_t word) {
  if (!layouts.frames_have_vtables) return {address, frame_type_of(layouts, word), word};
  for (std::size_t i = 1; i < kFrameTypes; i++)
    if (word != 0 && layouts.frame_vtables[i] == word)
      return {address, static_cast<FrameType>(i), layouts.frame_identifiers[i]};
  return {address, FrameType::unknown, 0};
}

Result<FrameRecord> read_frame(const RuntimeMemory& memory, Address address) {
  const auto word = memory.pointer_at(address);
  if (!word) return fail(word.error());
  return frame_with(memory.layouts(), address, *word);
}

constexpr std::size_t kUsualFrames = 16;  // of a thread, at most

// A stack overflow is handled on a stack of its own (EEPolicy::HandleFatalStackOverflow in
// src/coreclr/vm/eepolicy.cpp): the newest Frame lies there, a FaultingExceptionFrame with the registers at the
// overflow.
bool is_handlers_frame(const RuntimeMemory& memory, Address at) {
  const auto frame = read_frame(memory, at);
  return frame && frame->type == FrameType::faulting_exception;
}

FrameChain read_frame_chain(const RuntimeMemory& memory, Address first, const AddressRange& stack, std::size_t most) {
  FrameChain chain;
  Address at = first, above = 0;
  while (at != memory.all_ones()) {
    const bool inside = stack.empty() || stack.contains(at);
    if (at % memory.pointer_size() != 0 || at <= above ||
        (!inside && (!chain.frames.empty() || !is_handlers_frame(memory, at)))) {
      chain.error = {ErrorCode::malformed, 0, at};
      break;
    }
    if (chain.frames.size() >= most) {
      chain.error = {ErrorCode::limit_exceeded, 0, at};
      break;
    }
    auto frame = read_frame(memory, at);
    auto next = memory.pointer(at, memory.layouts().frame.next);
    if (!frame || !next) {
      chain.error = frame ? next.error() : frame.error();
      break;
    }
    if (chain.frames.empty()) chain.frames.reserve(std::min(most, kUsualFrames));
    chain.frames.push_back(*frame);
    if (inside) above = at;
    at = *next;
  }
  return chain;
}

}  // namespace mixstack::dotnet
