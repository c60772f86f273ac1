// Causes of slowness that the kernel knows of: quotas, other processes, children, writes, the disk, page faults, memory
// outside the heap.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "features/record/stack_recorder.h"
#include "features/why/kernel_evidence.h"
#include "mixstack/busy.h"
#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "mixstack/recording.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// Watches one process of this machine without stopping it, in a thread of its own that takes at most a twentieth of a
/// processor. One thread at a time calls it.
class KernelWatch {
 public:
  explicit KernelWatch(std::uint32_t pid);
  ~KernelWatch();
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;
  /// Takes no longer than to start a thread.
  void begin();
  /// Half a second or more after `begin`; nothing is known of a process that has gone.
  [[nodiscard]] KernelEvidence end();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// The causes, dearest first. `before` and `after` are of about the times of the watch's begin and end. Places are not
/// known yet: `add_places` adds those that samples or a dump show.
[[nodiscard]] std::vector<SlowCause> kernel_causes(const Counters& before, const Counters& after,
                                                   const KernelEvidence& evidence);

/// Whether a sample belongs to a cause of this kind: its thread was in such a system call (writes, disk, children), by
/// the kernel's frames. False for other kinds.
[[nodiscard]] bool is_sample_of(SlowKind kind, const Recording& recording, std::span<const std::uint32_t> frames);
/// Processors that are spent in calls that send, by samples with frames of the kernel.
[[nodiscard]] double sending_processors(const Recording& samples, const Busyness& busy);
/// Adds places to causes that have none, from samples of running threads (with frames of the kernel).
void add_places(const Recording& samples, std::vector<SlowCause>& causes);
/// The same from threads that a dump shows in such a call.
void add_places(const ProcessDump& dump, std::vector<SlowCause>& causes);

/// Samples of page faults with their stacks, from its beginning to `end`. For a process whose causes have page faults
/// or memory outside the heap.
class FaultSampling {
 public:
  /// Takes 40 ms, to find how many faults a sample stands for. Errors: as `record::open_recorder`; permission_denied:
  /// perf events are not allowed.
  [[nodiscard]] static Result<std::unique_ptr<FaultSampling>> begin(
      const std::shared_ptr<record::SharedSession>& session);
  ~FaultSampling();
  /// Adds places ("first used") to causes of these kinds. Ends the sampling.
  void end(std::vector<SlowCause>& causes);

 private:
  struct Taking;
  explicit FaultSampling(std::unique_ptr<Taking> taking);
  std::unique_ptr<Taking> taking_;
};

}  // namespace mixstack::why
