// The share of time for which a runtime had its threads stopped, and by which thread, for readers who cannot recognise
// the GC's code by name.
#pragma once

#include <cstdint>
#include <map>
#include <thread>

#include "features/record/stack_recorder.h"

namespace mixstack::record {

/// Looks some hundred times a second, without stopping anything, in a thread of its own, until `end` or destruction.
/// Borrows the session and takes its lock for each look.
class SuspensionWatch {
 public:
  explicit SuspensionWatch(SharedSession& session);
  ~SuspensionWatch();
  SuspensionWatch(const SuspensionWatch&) = delete;
  SuspensionWatch& operator=(const SuspensionWatch&) = delete;

  /// By thread id inside the target's pid namespace, as the runtime records it: the share of the looks, 0 to 1, in
  /// which this thread was stopping the others. Empty: no thread was, or it is not known.
  [[nodiscard]] std::map<ThreadId, double> end();

 private:
  void watch(const std::stop_token& stop);
  /// False: there is no runtime to look at.
  [[nodiscard]] bool look();

  SharedSession& session_;
  std::shared_ptr<const std::vector<Region>> regions_;  ///< from the last look; null: to be read again
  std::uint64_t regions_ns_ = 0;
  std::map<ThreadId, std::uint64_t> found_;
  std::uint64_t looks_ = 0;
  std::jthread thread_;
};

}  // namespace mixstack::record
