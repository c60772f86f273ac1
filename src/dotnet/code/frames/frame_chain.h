// The runtime's explicit Frames of a thread: a linked list on the thread's own stack.
#pragma once

#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// One explicit Frame. Plain data.
struct FrameRecord {
  Address address = 0;
  FrameType type = FrameType::unknown;
  std::uint64_t identifier = 0;  ///< the runtime's own number, as frame_name() takes it
};

struct FrameChain {
  std::vector<FrameRecord> frames;  ///< newest (lowest address) first
  Error error;  ///< why the list is not whole: `malformed` (does not ascend, leaves the stack, misaligned; value: the
                ///< address), `limit_exceeded`, `unreadable_memory`
};

inline constexpr std::size_t kMaxFrames = 1u << 18;

/// Follows the list from `first` (Thread.Frame). Each Frame must lie above the one before, hence there are no cycles,
/// and inside `stack` unless that is empty; only the first may be a FaultingExceptionFrame on another stack. Frames
/// before an error are right. At most `most` are read.
[[nodiscard]] FrameChain read_frame_chain(const RuntimeMemory& memory, Address first, const AddressRange& stack,
                                          std::size_t most = kMaxFrames);

/// Whether the Frame at `at`, which lies outside its thread's stack, may be the newest one all the same: it was made on
/// the stack on which a stack overflow is handled.
[[nodiscard]] bool is_handlers_frame(const RuntimeMemory& memory, Address at);

/// The record of a Frame at a known address.
[[nodiscard]] Result<FrameRecord> read_frame(const RuntimeMemory& memory, Address address);

/// The record of a Frame with that first word: its identifier, or where Frames have vtables, the address of its own.
[[nodiscard]] FrameRecord frame_with(const Layouts& layouts, Address address, std::uint64_t first_word);

/// Type of a Frame identifier by the runtime's `...FrameIdentifier` globals; `unknown` when none matches.
[[nodiscard]] FrameType frame_type_of(const Layouts& layouts, std::uint64_t identifier);
/// Contract StackWalk, GetFrameName: the class name, or empty.
[[nodiscard]] std::string_view frame_name(const Layouts& layouts, std::uint64_t identifier);

}  // namespace mixstack::dotnet
