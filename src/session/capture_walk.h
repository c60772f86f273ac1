// The walk of one capture: steppers assembled over the copied bytes, each thread walked in turn.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/memory/overlay_memory.h"
#include "engine/symbols/elf_symbols.h"
#include "engine/walk/address_walk.h"
#include "engine/walk/chain_walker.h"
#include "engine/walk/code_steppers.h"
#include "engine/walk/copied_code_stepper.h"
#include "engine/walk/jit_image_stepper.h"
#include "engine/walk/native_stepper.h"
#include "engine/walk/newborn_stepper.h"
#include "engine/walk/pe_image_stepper.h"
#include "engine/walk/undescribed_stepper.h"
#include "engine/walk/user_stepper.h"
#include "engine/walk/walk_in_progress.h"
#include "mixstack/session.h"
#include "mixstack/stepper_chain.h"
#include "session/replaced_returns.h"
#include "session/worker.h"

namespace mixstack::session {

/// Borrows everything it is given; lives as long as the capture is being walked.
class CaptureWalk {
 public:
  /// Code and runtime structures that the capture does not hold come from the running target, through the worker's
  /// cache. Stacks never do: they have changed since.
  CaptureWalk(Capture& capture, const Target& target, Worker& worker, std::span<const Region> regions,
              symbols::ElfSymbols& symbols, const StepperChain& users, const WalkOptions& options);

  /// Runtimes and unwind rules know one capture at a time; after another walk was made or bound they are given back.
  void bind();

  /// With at most `most_frames` frames, if that is less than the options allow.
  [[nodiscard]] ThreadDump walk(const ThreadCapture& thread, std::uint32_t most_frames = 0xffffffffu,
                                walk::Advisor* advisor = nullptr);
  /// The frames of `walk` alone: nothing is asked about the thread itself, which costs more than its walk.
  [[nodiscard]] Trace trace(const ThreadCapture& thread);
  /// The code addresses of `walk` alone, innermost first, at most `out.size()` of them; no facts, and where the stack
  /// is as usual no allocation for its frames.
  [[nodiscard]] AddressTrace addresses(const ThreadCapture& thread, std::span<CodeAddress> out);
  /// The same, if unwind information and the runtime's own words give the whole stack: each frame is `certain`. Nothing
  /// if a walk would have to decide anything.
  [[nodiscard]] std::optional<walk::PlainWalk> plain_addresses(const ThreadCapture& thread, std::span<CodeAddress> out);
  /// While the thread stands as it was captured, memory outside its copied stack is read from the target.
  void stands_still(bool still) { stands_still_ = still; }
  /// The runtime's records are of another time than the stacks, so no explicit Frames are read. (Roots in a capture are
  /// of the same time as its stacks, however it was taken.)
  [[nodiscard]] bool is_sampled() const {
    return capture_.consistency == Consistency::not_stopped && capture_.roots.empty();
  }
  /// From now on all walks together read at most so many explicit Frames, and as many more as are usual in any case.
  void bound_explicit_frames(std::size_t all) { explicit_left_ = all; }
  /// The parts of a walk, for callers that step themselves. `checkpoints` must outlive the input.
  [[nodiscard]] walk::ThreadInput input_for(const ThreadCapture& thread) const;
  [[nodiscard]] dotnet::CheckpointList checkpoints_of(const ThreadCapture& thread);
  /// The runtime that knows a thread, and its Thread; both null when none does.
  struct Owner {
    dotnet::ManagedRuntime* runtime = nullptr;
    const dotnet::ManagedThread* thread = nullptr;
  };
  [[nodiscard]] Owner owner_of(const ThreadCapture& thread) const;
  [[nodiscard]] const walk::ChainWalker& walker() const { return *walker_; }
  /// The engine's own steppers that know no runtime, for callers that ask one alone.
  enum class Mechanism : std::uint8_t {
    cfi,
    copied_code,
    jit_image,
    undescribed,
    signal_trampoline,
    prologue,
    frame_pointer,
  };
  [[nodiscard]] walk::FrameStepper& stepper(Mechanism mechanism);
  [[nodiscard]] const walk::NativeStepper& native() const { return native_; }
  [[nodiscard]] std::uint64_t pac_mask() const { return capture_.pac_mask; }
  /// Checks what holds only if nothing has moved since, for frames of a walk that was stepped elsewhere.
  void confirm(std::span<Frame> frames, const ThreadCapture& thread);
  /// Corrects the stop reason from the last frame: "an entry point has no caller".
  void judge_stop(Trace& trace) const;
  [[nodiscard]] const MemoryReader& memory() const { return overlay_; }
  /// Faults beside the traces themselves: lists of the runtime that are not whole.
  [[nodiscard]] std::vector<Diagnosis> take_diagnoses() { return std::move(diagnoses_); }

 private:
  [[nodiscard]] StackView view_of(const ThreadCapture& thread) const;
  [[nodiscard]] dotnet::ManagedThread with_checked_stack(dotnet::ManagedThread managed, Address sp) const;
  [[nodiscard]] dotnet::CheckpointList checkpoints_of(const ThreadCapture& thread, const Owner& owner,
                                                      bool methods) const;
  [[nodiscard]] Trace trace_of(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                               walk::Advisor* advisor);
  [[nodiscard]] Trace unconfirmed_trace_of(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                                           walk::Advisor* advisor);
  [[nodiscard]] Trace walk_managed(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                                   walk::Advisor* advisor);
  [[nodiscard]] Trace walk_sampled(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                                   walk::Advisor* advisor);
  [[nodiscard]] Trace walk_copied(const ThreadCapture& thread, walk::ThreadInput& input, const Owner& owner,
                                  walk::Advisor* advisor);
  [[nodiscard]] bool is_entry_code(const Frame& frame) const;
  [[nodiscard]] bool ends_task(const Frame& frame) const;
  [[nodiscard]] std::optional<Address> start_in_code(const Frame& frame) const;
  void mend_hijacked_stacks();
  [[nodiscard]] bool is_described(Frame& frame);
  void assemble(const StepperChain& users, const WalkOptions& options);

  Capture& capture_;
  Address entry_point_;
  const images::ModuleMap& modules_;
  memory::OverlayMemory overlay_;      ///< captured bytes, then the live target
  memory::OverlayMemory only_copied_;  ///< captured bytes, and memory that cannot have changed since
  std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes_;
  std::span<const Region> regions_;
  walk::NativeStepper& native_;
  walk::CopiedCodeStepper copied_;
  walk::JitImageStepper jit_image_;
  walk::PeImageStepper pe_image_;
  walk::UndescribedStepper undescribed_;
  walk::NewbornStepper newborn_;
  walk::NativeOrNewbornStepper native_or_newborn_;
  walk::SignalTrampolineStepper trampoline_;
  walk::PrologueStepper prologue_;
  walk::FramePointerStepper frame_pointer_;
  ReplacedReturns replaced_returns_;
  WalkOptions options_;
  bool stands_still_ = false;
  std::vector<std::unique_ptr<walk::UserStepper>> users_;
  std::unique_ptr<walk::ChainWalker> walker_;
  std::vector<walk::Mark> marks_;             ///< of one walk of addresses; kept for its room
  std::optional<std::size_t> explicit_left_;  ///< none: each thread's own limit
  std::vector<Diagnosis> diagnoses_;
};

}  // namespace mixstack::session
