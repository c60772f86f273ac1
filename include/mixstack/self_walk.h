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

/// The result of a walk. The addresses are in the caller's span: first the address where the walk began, then return
/// addresses (or, above a signal handler, interrupted code).
struct SelfTrace {
  std::size_t count = 0;
  StopReason stop = StopReason::end_of_stack;
  /// Number of frames before the first uncertain one (found by a frame pointer, a decoded prologue, or a return address
  /// inferred from evidence): that one and those behind it may be wrong. `count` if every step was certain.
  std::size_t sure = 0;
  std::uint32_t plain_frames = 0;   ///< steps made by plain loads inside the known bounds of the thread's stack
  std::uint32_t probed_frames = 0;  ///< steps that needed other memory, or an unusual rule
  std::uint32_t pages_probed = 0;   ///< pages that the kernel was asked about: other stacks, unwind information
  std::uint32_t rules_found = 0;    ///< rules that were not cached and were read from unwind information
};

/// Walks native stacks of the own process by call frame information.
///
/// A handler may switch to another stack before it calls `walk`: only the stack of its context matters.
///
/// Signal-safe are `walk`, `walk_here` and `walk_registers`: they take no lock, allocate nothing, call nothing of libc
/// but memcpy and the like and `_dl_find_object`, and leave errno alone. Any number of threads and nested signals may
/// be in them at once, also while other threads load and unload libraries, allocate or throw. They need about 4 KiB of
/// stack (10 KiB where a rule is unusual: a signal frame, DWARF expressions).
///
/// All other members may allocate and must not be called from signal handlers, but may be called while others walk.
///
/// Nothing is installed, and code needs no preparation. Frames of code without call frame information (JIT-compiled
/// code) end a walk with `no_unwind_info`, unless `Options::code` knows them or `Options::frame_pointers` is set.
/// Images present at `create` that were built entirely without it (musl's C library) are walked by their machine code;
/// such steps are less than certain. If such code was interrupted and has no frame (PLT stubs, thunks), its caller is
/// found if a call in known code ends at its return address; such a step is less than certain, too.
class SelfWalker {
 public:
  struct Options {
    std::size_t rules = 4096;                    ///< cached rules (32 bytes each), rounded up to a power of two
    std::size_t threads = 256;                   ///< most threads with known stack bounds at a time
    const self_walk::CodeRules* code = nullptr;  ///< the agent's, for code generated at run time; borrowed
    bool frame_pointers = false;                 ///< follow them as a last resort; such steps are less than certain
    /// The agent's: where a walk that cannot continue resumes. Such steps are less than certain, and the frames skipped
    /// are not shown. Borrowed.
    const self_walk::OuterFrames* outer = nullptr;
    /// A thread that did not call `add_thread` is added by its first `walk` in a handler: the pages from sp to its
    /// thread control block, with which the C library ends each stack, are probed once (64 MiB at most) instead of each
    /// time. Code interrupted on another stack (goroutines, fibers) is not walked: it is the only frame, or the last
    /// one behind a handler's (`foreign_stack`).
    bool learns_stacks = false;
  };
  /// Allocates all memory and adds the calling thread. Errors: `limit_exceeded`, `unsupported_cpu`.
  [[nodiscard]] static Result<std::unique_ptr<SelfWalker>> create(const Options& options);
  [[nodiscard]] static Result<std::unique_ptr<SelfWalker>> create() { return create(Options()); }
  /// The caller ensures that no walk is running or begins.
  ~SelfWalker();
  SelfWalker(const SelfWalker&) = delete;
  SelfWalker& operator=(const SelfWalker&) = delete;

  /// Walks from the code that a signal interrupted. `context` is the third argument of the handler, a `ucontext_t`.
  [[nodiscard]] SelfTrace walk(const void* context, std::span<Address> out) const noexcept {
    return walk(context, out, {});
  }
  /// The same. `owners`, as long as `out` or empty, receives for each frame the owner of its code by `Options::code`;
  /// 0: none, ~0: not known without asking.
  [[nodiscard]] SelfTrace walk(const void* context, std::span<Address> out,
                               std::span<std::uint32_t> owners) const noexcept;
  /// Walks from the caller of this function.
  [[nodiscard]] SelfTrace walk_here(std::span<Address> out) const noexcept;
  /// Walks from given registers of a thread that is stopped (or is the calling one). The pc is exact.
  [[nodiscard]] SelfTrace walk_registers(const Registers& registers, std::span<Address> out) const noexcept;

  /// Records the calling thread's stack bounds, so that its stack need not be probed: saves about 100 ns per page and
  /// walk. A thread that was added must be removed before it ends. Errors: `limit_exceeded`, `not_found` (bounds not
  /// known).
  [[nodiscard]] Result<void> add_thread();
  void remove_thread();

  /// Call when code of `Options::code` is gone and may be replaced: drops its cached rules, even during walks.
  void forget(AddressRange code);

  /// Enlarges the caches if walks have found them full since the last call: rules (up to 4 Mi) and modules. Without it
  /// walks stay correct, and rules without room are read anew each time. Where the C library has no `_dl_find_object`
  /// (musl), libraries loaded since are known only after this call.
  [[nodiscard]] Result<void> refresh();

 private:
  struct Shared;
  explicit SelfWalker(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace mixstack
