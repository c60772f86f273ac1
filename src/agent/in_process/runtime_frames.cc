#include "agent/in_process/runtime_frames.h"

#include <sys/syscall.h>

#include <algorithm>

#include "agent/in_process/contract_descriptor.h"
#include "base/memory/system_call.h"

namespace mixstack::agent {
namespace {

constexpr std::uint64_t kMostOffset = 4096;
constexpr Address kListEnd = ~Address{0};  // FRAME_TOP in src/coreclr/vm/frames.h
constexpr unsigned kMostFrames = 1 << 16;  // skipped in one search; each lies above the one before

}  // namespace

std::optional<FrameListLayout> FrameListLayout::in(std::string_view json) {
  FrameListLayout layout;
  const auto take = [&](std::string_view type, std::string_view field, std::uint32_t& out) {
    const auto offset = number_in(type_in(json, type), field);
    if (!offset || *offset > kMostOffset) return false;
    out = static_cast<std::uint32_t>(*offset);
    return true;
  };
  const auto kind = number_in(json, "InlinedCallFrameIdentifier");
  if (!kind || *kind == 0 || !take("Thread", "Frame", layout.first) || !take("Thread", "OSId", layout.os_id) ||
      !take("Frame", "Next", layout.next) || !take("InlinedCallFrame", "CallSiteSP", layout.sp) ||
      !take("InlinedCallFrame", "CallerReturnAddress", layout.caller) ||
      !take("InlinedCallFrame", "CalleeSavedFP", layout.fp))
    return std::nullopt;
  layout.inlined_call = *kind;
  return layout;
}

RuntimeFrames::RuntimeFrames(const std::optional<FrameListLayout>& layout)
    : layout_(layout),
      pages_(kSlots * sizeof(Slot), self_walk::ZeroedPages::Presence::lazy),
      slots_(layout_ ? static_cast<Slot*>(pages_.get()) : nullptr) {}

void RuntimeFrames::began(const clr::Thread& thread) {
  const std::lock_guard lock(mutex_);
  std::erase(ended_, thread.id);  // the runtime reuses ids
  add(thread);
}

void RuntimeFrames::was_there(const clr::Thread& thread) {
  const std::lock_guard lock(mutex_);
  if (std::find(ended_.begin(), ended_.end(), thread.id) == ended_.end()) add(thread);
}

void RuntimeFrames::add(const clr::Thread& thread) {
  if (slots_ == nullptr || thread.tid == 0) return;
  Slot* free = nullptr;
  for (std::size_t i = start(thread.tid), n = 0; n < kMostTries; i = (i + 1) % kSlots, n++) {
    const std::uint64_t tid = slots_[i].tid.load(std::memory_order_relaxed);
    if (free == nullptr && slots_[i].thread.load(std::memory_order_relaxed) == 0) free = &slots_[i];
    if (tid == thread.tid) free = &slots_[i];
    if (tid == thread.tid || tid == 0) break;
  }
  if (free == nullptr) return;
  // In this order a reader sees no object, its own, or one whose OSId is not the reader's, which `first` checks.
  free->thread.store(0, std::memory_order_release);
  free->tid.store(thread.tid, std::memory_order_release);
  free->thread.store(thread.id, std::memory_order_release);
}

void RuntimeFrames::ended(clr::Id thread) {
  if (slots_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (ended_.size() == kMostEnded) ended_.pop_front();
  ended_.push_back(thread);
  for (std::size_t i = 0; i < kSlots; i++)
    if (slots_[i].thread.load(std::memory_order_relaxed) == thread)
      slots_[i].thread.store(0, std::memory_order_release);
}

Address RuntimeFrames::first(const MemoryReader& memory) const {
  const auto tid = static_cast<std::uint32_t>(memory::system_call(SYS_gettid));
  for (std::size_t i = start(tid), n = 0; n < kMostTries; i = (i + 1) % kSlots, n++) {
    const std::uint64_t at = slots_[i].tid.load(std::memory_order_acquire);
    if (at == 0) return 0;
    if (at != tid) continue;
    const Address thread = slots_[i].thread.load(std::memory_order_acquire);
    if (thread == 0 || memory.read<std::uint32_t>(thread + layout_->os_id).value_or(0) != tid) return 0;
    return memory.read<Address>(thread + layout_->first).value_or(0);
  }
  return 0;
}

bool RuntimeFrames::next(Address sp, AddressRange stack, const MemoryReader& memory, Address& place,
                         self_walk::OuterFrame& out) const noexcept {
  if (slots_ == nullptr || stack.empty()) return false;
  Address at = place != 0 ? place : first(memory);
  const auto word = [&](Address address) { return memory.read<Address>(address).value_or(0); };
  for (unsigned i = 0; i < kMostFrames && stack.contains(at) && at % sizeof(Address) == 0; i++) {
    const Address here = at, further = word(here + layout_->next);
    at = further > here ? further : kListEnd;
    place = at;
    if (here <= sp || word(here) != layout_->inlined_call) continue;
    out = {word(here + layout_->caller), word(here + layout_->sp), word(here + layout_->fp)};
    // A pc of 0: no call is active. The record lies in the stack frame whose stack pointer it holds, so sp <= here.
    if (out.pc != 0 && out.sp > sp && out.sp <= here && stack.contains(out.sp)) return true;
  }
  place = kListEnd;
  return false;
}

}  // namespace mixstack::agent
