// The runtime's own thread pool: its counts, and what lies in its queues.
#pragma once

#include <optional>
#include <vector>

#include "dotnet/async/state_machines.h"
#include "mixstack/async.h"

namespace mixstack::dotnet::objects {

/// Reads the pool of System.Private.CoreLib (PortableThreadPool, ThreadPoolWorkQueue) through its statics. Borrows
/// everything; not thread-safe.
class ThreadPoolReader {
 public:
  static constexpr std::size_t kMostItems = 1 << 12;  ///< that are counted one by one
  static constexpr std::size_t kMostNamed = 256;      ///< of these
  static constexpr std::size_t kMostQueues = 1 << 10;
  static constexpr std::size_t kMostSegments = 1 << 12;  ///< of one queue

  ThreadPoolReader(ManagedObjects& objects, Delegates& delegates, StateMachines& machines,
                   std::optional<std::int64_t> now)
      : objects_(objects), delegates_(delegates), machines_(machines), now_(now) {}

  /// Nothing: the program has not used the pool, or it cannot be told. Which threads are workers is not filled in.
  [[nodiscard]] std::optional<ThreadPool> read();
  /// The queued objects, after `read`: boxes of async methods, tasks, callbacks; of a continuation that wraps a box the
  /// box.
  [[nodiscard]] const std::vector<Address>& items() const { return items_; }

 private:
  [[nodiscard]] bool read_counts(Address pool, ThreadPool& out);
  void read_queues(Address work_queue);
  void read_queue(Address concurrent_queue);
  void read_segment(Address segment);
  void read_local_queue(Address queue);
  void add(Address item);
  [[nodiscard]] QueuedWork describe(Address item);

  ManagedObjects& objects_;
  Delegates& delegates_;
  StateMachines& machines_;
  std::optional<std::int64_t> now_;
  std::vector<Address> items_;
  bool has_more_ = false;
};

}  // namespace mixstack::dotnet::objects
