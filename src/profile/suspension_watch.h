// How much of a time a runtime's threads were stopped, and by whom: for who cannot tell a collector's code by its name.
#pragma once

#include <cstdint>
#include <map>
#include <thread>

#include "profile/stack_recorder.h"

namespace mixstack::profile {

/// Looks some hundred times a second, without stopping anything, in a thread of its own, until `end` or destruction.
/// Borrows the session, whose lock it takes for each look.
class SuspensionWatch {
 public:
  explicit SuspensionWatch(SharedSession& session);
  ~SuspensionWatch();
  SuspensionWatch(const SuspensionWatch&) = delete;
  SuspensionWatch& operator=(const SuspensionWatch&) = delete;

  /// By thread, as the runtime numbers them (inside the target's pid namespace): the share of the looks, 0 to 1, that
  /// found it stopping the others. Empty: nobody did, or it cannot be told.
  [[nodiscard]] std::map<ThreadId, double> end();

 private:
  void watch(const std::stop_token& stop);
  /// False: there is no runtime to look at.
  [[nodiscard]] bool look();

  SharedSession& session_;
  std::shared_ptr<const std::vector<Region>> regions_;  ///< of the last look; null: to be read again
  std::uint64_t regions_ns_ = 0;
  std::map<ThreadId, std::uint64_t> found_;
  std::uint64_t looks_ = 0;
  std::jthread thread_;
};

}  // namespace mixstack::profile
