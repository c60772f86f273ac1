// Walking the threads of one capture: whole, lazily, or step by step.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mixstack/dotnet.h"
#include "mixstack/dump.h"
#include "mixstack/frame.h"
#include "mixstack/stepper.h"
#include "mixstack/symbolizer.h"
#include "mixstack/target.h"

namespace mixstack {

/// The frames of one thread, found as they are asked for. A single pass. A frame is given out when no explicit Frame of
/// a runtime can take it back any more; its trust is what was known then (the trace of a whole walk may be surer: a
/// chain is confirmed from its outer end). Borrows the walker, which must do nothing else meanwhile.
class FrameRange {
 public:
  class Implementation;
  class Iterator {
   public:
    using value_type = Frame;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(FrameRange* range) : range_(range) {}
    [[nodiscard]] const Frame& operator*() const { return range_->current(); }
    [[nodiscard]] const Frame* operator->() const { return &range_->current(); }
    Iterator& operator++() {
      range_->advance();
      return *this;
    }
    void operator++(int) { range_->advance(); }
    [[nodiscard]] bool operator==(std::default_sentinel_t) const { return range_->at_end(); }

   private:
    FrameRange* range_;
  };

  explicit FrameRange(std::unique_ptr<Implementation> implementation);
  FrameRange(FrameRange&&) noexcept;
  FrameRange& operator=(FrameRange&&) noexcept;
  ~FrameRange();
  [[nodiscard]] Iterator begin() { return Iterator(this); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }
  /// Why there are no more frames; only after the end was reached.
  [[nodiscard]] StopReason stop() const;
  [[nodiscard]] Error stop_error() const;

 private:
  [[nodiscard]] const Frame& current() const;
  void advance();
  [[nodiscard]] bool at_end() const;
  std::unique_ptr<Implementation> implementation_;
};

/// The async methods that await the innermost one on a stack.
struct AsyncCallersOfThread {
  Address method = 0;               ///< the MethodDesc of its code; 0: not known
  bool are_told = false;            ///< false: it has ended meanwhile, or its object was not found
  std::vector<SymbolInfo> methods;  ///< innermost first
};

/// Walks the threads of a capture, with the steppers and name providers of its session, which must outlive it. A
/// walker is for one thread at a time; any number of them, of one session, too, run in parallel (each has caches of its
/// own, which the next walker gets when it goes; users' steppers and name providers are asked by all of them). A later
/// capture, dump or walker of the session changes nothing for it. Where the DAC tells, each walker has one of its own.
class Walker {
 public:
  class Implementation;
  explicit Walker(std::unique_ptr<Implementation> implementation);
  Walker(Walker&&) noexcept;
  Walker& operator=(Walker&&) noexcept;
  ~Walker();

  [[nodiscard]] const Capture& capture() const;
  /// The captured thread with this id, or null.
  [[nodiscard]] const ThreadCapture* thread(ThreadId tid) const;

  /// Never fails: whatever goes wrong is the trace's stop reason. Frames are plain data and outlive everything.
  [[nodiscard]] Trace walk(const ThreadCapture& thread);
  /// The code addresses of `walk` alone (of frames that are code), innermost first, as many as fit into `out`: for
  /// samplers. Allocates nothing for the frames of a stack that unwind information and the runtime's own words tell
  /// whole, which is nearly every one; of others it keeps the addresses of a `walk`.
  [[nodiscard]] AddressTrace addresses(const ThreadCapture& thread, std::span<CodeAddress> out);
  /// The code addresses of a sample (`Consistency::not_stopped`) whose stack unwind information tells whole and that
  /// fits into `out`: how many. Every frame of its `walk` is `certain`, and which frames these are depends on the
  /// addresses alone: who has walked and named the same ones with this walker need not do so again. Nothing: `walk` has
  /// to decide something. Allocates nothing.
  [[nodiscard]] std::optional<std::size_t> plain_addresses(const ThreadCapture& thread, std::span<CodeAddress> out);
  [[nodiscard]] FrameRange frames(const ThreadCapture& thread);
  /// The innermost frame, and from a frame to its caller by the chain of steppers alone: without the second witness
  /// that `walk` and `frames` hear at every transition.
  [[nodiscard]] Cursor initial(const ThreadCapture& thread);
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadCapture& thread);

  /// What the runtime's Thread says of it; nothing for threads that no runtime knows.
  [[nodiscard]] std::optional<ManagedThreadFacts> managed(const ThreadCapture& thread);
  /// Its GC mode alone; nothing for threads that no runtime knows.
  [[nodiscard]] std::optional<bool> is_cooperative(const ThreadCapture& thread);
  /// Whether the code of a frame, and with it the frame's name, stays as it is as long as the process lives and the
  /// `generation` is the same: code of images, and what a runtime never frees. False: it may be freed, and other code
  /// be put in its place, or nobody can tell.
  [[nodiscard]] bool keeps_name(const Frame& frame);
  /// The managed frame that a frame of a trace has called; null where it has called something else, or nothing.
  [[nodiscard]] static const Frame* callee_of(std::span<const Frame> frames, std::size_t caller);
  /// Methods that the JIT inlined at a managed frame that has called `callee` (null: nothing), innermost first, as a
  /// dump concludes them.
  [[nodiscard]] std::vector<SymbolInfo> inlined_at(const Frame& frame, const Frame* callee);
  /// The async methods that await what a thread ran, innermost first, by the frames of its `walk`. Of a sample
  /// (`Consistency::not_stopped`) they are those that await it by now, some milliseconds later. Nothing: no frame runs
  /// an async method.
  [[nodiscard]] std::optional<AsyncCallersOfThread> async_callers(const ThreadCapture& thread,
                                                                  std::span<const Frame> frames);
  /// What the walker takes for mapped: walkers of a session answer the same as long as its images stay where they are.
  [[nodiscard]] std::shared_ptr<const void> generation() const;
  /// The runtimes of the target, bound to this capture.
  [[nodiscard]] std::vector<dotnet::Runtime> runtimes();
  /// A frame's name, made when first asked for; the reference holds as long as the walker.
  [[nodiscard]] const SymbolInfo& name(const Frame& frame);
  [[nodiscard]] Symbolizer& symbolizer();
  /// What went wrong beside the traces themselves: lists of a runtime that are not whole.
  [[nodiscard]] std::vector<Diagnosis> diagnoses();

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack
