// Walks the threads of one capture: whole, lazily, or step by step.
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

/// The frames of one thread, found on demand, in a single pass. A frame is returned once no explicit Frame of a runtime
/// can revoke it; its trust is that of this moment (a whole walk may be surer, since a chain is confirmed from its
/// outer end). Borrows the walker, which must not be used otherwise meanwhile.
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
  /// Why there are no more frames; valid only after the end was reached.
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
  Address method = 0;               ///< MethodDesc of that innermost async method; 0: not known
  bool are_told = false;            ///< false: it has ended meanwhile, or its object was not found
  std::vector<SymbolInfo> methods;  ///< innermost first
};

/// The ground of walks whose threads and bytes the caller keeps (samples): nothing was captured for it.
struct WalkContext {
  Consistency consistency = Consistency::not_stopped;  ///< of the threads to be walked
  std::shared_ptr<const std::vector<Region>> regions;  ///< the mappings that threads run in; null: as they are now
};

/// Walks the threads of a capture with the steppers and name providers of its session, which must outlive it. A walker
/// is used by one thread at a time. Any number of walkers, also of one session, run in parallel: each has its own
/// caches, passed on to the next walker when it is destroyed, but all of them call the users' steppers and name
/// providers. Later captures, dumps and walkers of the session do not affect it. With the DAC, each walker has a DAC of
/// its own. Not signal-safe.
class Walker {
 public:
  class Implementation;
  explicit Walker(std::unique_ptr<Implementation> implementation);
  Walker(Walker&&) noexcept;
  Walker& operator=(Walker&&) noexcept;
  ~Walker();

  /// Without threads if the walker has a WalkContext.
  [[nodiscard]] const Capture& capture() const;
  /// The mappings that it knows; never null.
  [[nodiscard]] const std::shared_ptr<const std::vector<Region>>& regions() const;
  /// The captured thread with this id, or null. Valid as long as the walker.
  [[nodiscard]] const ThreadCapture* thread(ThreadId tid) const;

  /// Never fails: a failure is the trace's stop reason. Frames are plain data, independent of the walker and the
  /// target.
  [[nodiscard]] Trace walk(const ThreadCapture& thread);
  /// For samplers: the code addresses of `walk` alone (of frames that are code), innermost first, as many as fit into
  /// `out`. Allocates nothing for the frames of a stack that unwind information and the runtime describe completely, as
  /// nearly all are; of others it keeps the addresses of a `walk`.
  [[nodiscard]] AddressTrace addresses(const ThreadCapture& thread, std::span<CodeAddress> out);
  /// For a sample (`Consistency::not_stopped`): the number of its code addresses, written to `out`, if unwind
  /// information describes its stack completely and they fit. Every frame of its `walk` is `certain` then, and its
  /// frames depend on the addresses alone: a caller that has walked and named equal addresses with this walker need not
  /// do so again. Nothing: call `walk`. Allocates nothing.
  [[nodiscard]] std::optional<std::size_t> plain_addresses(const ThreadCapture& thread, std::span<CodeAddress> out);
  [[nodiscard]] FrameRange frames(const ThreadCapture& thread);
  /// `initial` returns the innermost frame, `step` moves to the caller by the chain of steppers alone, without the
  /// second witness that `walk` and `frames` use at every transition.
  [[nodiscard]] Cursor initial(const ThreadCapture& thread);
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadCapture& thread);

  /// The state in the runtime's Thread object; nothing: no runtime knows the thread.
  [[nodiscard]] std::optional<ManagedThreadFacts> managed(const ThreadCapture& thread);
  /// The thread's GC mode alone; nothing: no runtime knows the thread.
  [[nodiscard]] std::optional<bool> is_cooperative(const ThreadCapture& thread);
  /// Whether a frame's code, and so its name, stays the same as long as the process lives and `generation` is the same:
  /// code of images, and code that a runtime never frees. False: it may be freed and replaced by other code, or that is
  /// not known.
  [[nodiscard]] bool keeps_name(const Frame& frame);
  /// The managed frame that a frame of a trace called; null: it called other code, or nothing.
  [[nodiscard]] static const Frame* callee_of(std::span<const Frame> frames, std::size_t caller);
  /// Methods that the JIT inlined at a managed frame that called `callee` (null: nothing), innermost first, inferred as
  /// in a dump.
  [[nodiscard]] std::vector<SymbolInfo> inlined_at(const Frame& frame, const Frame* callee);
  /// Small methods that the managed method at a pc calls by its IL and that the JIT may have compiled into it; some of
  /// them, without places. Empty: none, or no managed code is there.
  [[nodiscard]] std::vector<SymbolInfo> may_contain(CodeAddress pc);
  /// The async methods that await the one a thread ran, innermost first, by the frames of its `walk`. For a sample
  /// (`Consistency::not_stopped`) they are those that await it now, some milliseconds later. Nothing: no frame runs an
  /// async method.
  [[nodiscard]] std::optional<AsyncCallersOfThread> async_callers(const ThreadCapture& thread,
                                                                  std::span<const Frame> frames);
  /// Identifies the walker's mappings: equal for walkers of a session while its images stay where they are.
  [[nodiscard]] std::shared_ptr<const void> generation() const;
  /// The runtimes of the target, bound to this capture.
  [[nodiscard]] std::vector<dotnet::Runtime> runtimes();
  /// A frame's name, made at first use; the reference is valid as long as the walker.
  [[nodiscard]] const SymbolInfo& name(const Frame& frame);
  [[nodiscard]] Symbolizer& symbolizer();
  /// Failures beside those of traces: incomplete lists of a runtime.
  [[nodiscard]] std::vector<Diagnosis> diagnoses();

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack
