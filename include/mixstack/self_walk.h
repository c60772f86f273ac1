// Walks of our own threads' stacks, from anywhere: signal handlers, allocators, crash handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mixstack/address.h"
#include "mixstack/frame.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack {
namespace self_walk {
class CodeRules;
class OuterFrames;
}  // namespace self_walk

/// What a walk found. The addresses are in the span that was given: the first one is where the walk began, the others
/// are return addresses (or, above a signal handler, interrupted code).
struct SelfTrace {
  std::size_t count = 0;
  StopReason stop = StopReason::end_of_stack;
  /// Frames before the first that was found by a step less than certain (a frame pointer, a decoded prologue, a return
  /// address found by evidence): that one and those behind it may be wrong. `count` where every step was certain.
  std::size_t sure = 0;
  std::uint32_t plain_frames = 0;   ///< steps made by plain loads inside the known bounds of the thread's stack
  std::uint32_t probed_frames = 0;  ///< steps that needed other memory, or a rule that is not plain
  std::uint32_t pages_probed = 0;   ///< pages the kernel was asked about: other stacks, unwind information
  std::uint32_t rules_found = 0;    ///< rules that were not known yet and were read from unwind information
};

/// Walks native stacks of the own process by call frame information.
///
/// A handler may leave the stack it was called on for another one before it calls `walk`: what counts is where its
/// context lies.
///
/// Signal-safe are `walk`, `walk_here` and `walk_registers`: they take no lock, allocate nothing, call nothing of libc
/// but memcpy and its like and `_dl_find_object`, and leave errno alone. Any number of threads and nested signals may
/// be in them at once, also while other threads load and unload libraries, allocate or throw. They need about 4 KiB of
/// stack (10 KiB where a rule is unusual: the frame of a signal handler, DWARF expressions).
///
/// Everything else may allocate and must not be called from signal handlers, but may be called while others walk.
///
/// Nothing is installed and nobody is asked to cooperate. Frames of code without call frame information (JIT-made code)
/// end a walk with `no_unwind_info`, unless `Options::code` knows them or `Options::frame_pointers` may be followed.
/// Images that were there at `create` and are built without it as a whole (musl's C library) are walked by what their
/// code says; such steps are less than certain.
/// Where such code was interrupted and has no frame (PLT stubs, thunks), its caller is found if a call in known code
/// ends at what is its return address by then; such a step is less than certain.
class SelfWalker {
 public:
  struct Options {
    std::size_t rules = 4096;                    ///< kept rules (32 bytes each), rounded up to a power of two
    std::size_t threads = 256;                   ///< most threads whose stack bounds are known at once
    const self_walk::CodeRules* code = nullptr;  ///< the agent's, for code made at run time; borrowed
    bool frame_pointers = false;                 ///< where nothing else helps; such steps are less than certain
    /// The agent's: where a walk that is stuck goes on; such steps are less than certain, and frames that lie between
    /// are not shown. Borrowed.
    const self_walk::OuterFrames* outer = nullptr;
    /// A thread that did not call `add_thread` is added by its first `walk` in a handler: the pages between sp and its
    /// control block, with which the C library ends each stack, are asked for once (64 MiB at most) instead of each
    /// time. Code that was interrupted elsewhere (goroutines, fibers) is not walked: it is the only frame, or the last
    /// one behind a handler's (`foreign_stack`).
    bool learns_stacks = false;
  };
  /// Allocates all there is to allocate and adds the calling thread. Errors: `limit_exceeded`, `unsupported_cpu`.
  [[nodiscard]] static Result<std::unique_ptr<SelfWalker>> create(const Options& options);
  [[nodiscard]] static Result<std::unique_ptr<SelfWalker>> create() { return create(Options()); }
  /// No walk may be running or begin.
  ~SelfWalker();
  SelfWalker(const SelfWalker&) = delete;
  SelfWalker& operator=(const SelfWalker&) = delete;

  /// From the code that a signal interrupted. `context` is the third argument of the handler, a `ucontext_t`.
  [[nodiscard]] SelfTrace walk(const void* context, std::span<Address> out) const noexcept {
    return walk(context, out, {});
  }
  /// The same. `owners`, as long as `out` or empty, gets for each frame whose code it is by `Options::code`; 0:
  /// nobody's, ~0: not known without asking.
  [[nodiscard]] SelfTrace walk(const void* context, std::span<Address> out,
                               std::span<std::uint32_t> owners) const noexcept;
  /// From the caller of this function.
  [[nodiscard]] SelfTrace walk_here(std::span<Address> out) const noexcept;
  /// From given registers of a thread that does not run meanwhile (or the calling one). The pc is exact.
  [[nodiscard]] SelfTrace walk_registers(const Registers& registers, std::span<Address> out) const noexcept;

  /// Makes the calling thread's stack bounds known, so that its stack need not be probed: some 100 ns less for each
  /// page of it and walk. A thread that was added must be removed before it ends. Errors: `limit_exceeded`,
  /// `not_found` (its bounds cannot be told).
  [[nodiscard]] Result<void> add_thread();
  void remove_thread();

  /// Code of `Options::code` is not found there any more and may be replaced by other code: what was kept of it is
  /// dropped, whatever walks are under way.
  void forget(AddressRange code);

  /// Makes room where walks found too little of it since the last call: rules (up to 4 Mi) and modules. Without it
  /// walks stay correct, and rules that find no room are read anew each time. Where the C library has no
  /// `_dl_find_object` (musl), libraries that were loaded since are known from then on.
  [[nodiscard]] Result<void> refresh();

 private:
  struct Shared;
  explicit SelfWalker(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace mixstack
