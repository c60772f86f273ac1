// Recordings for tests of the viewer page: made up, and of which it is known what the page must show.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "mixstack/recording.h"

namespace mixstack::web_test {

/// A recording that is filled by names.
class StackMaker {
 public:
  /// Of one process, started with this command line.
  explicit StackMaker(const std::string& command = "dotnet Shop.dll --urls http://localhost:5000");
  [[nodiscard]] Recording& recording() { return recording_; }

  /// Threads made from now on are of another process.
  void process(std::uint32_t pid, const std::string& comm);
  std::uint32_t thread(const std::string& comm, const std::string& name);
  /// Of module "App" for managed code of the program; see `function` for what others are.
  std::uint32_t function(const std::string& name, const std::string& module, CodeKind kind, bool is_user = false);
  std::uint32_t frame(std::uint32_t function, std::uint32_t line = 0, const std::string& file = "");
  std::uint32_t stack(std::initializer_list<std::uint32_t> frames_outermost_first);
  std::uint32_t below(std::uint32_t stack, std::uint32_t frame);
  std::uint32_t context(std::uint32_t thread, Activity activity, bool gc_pending = false,
                        SampleClock clock = SampleClock::wall, StopReason stop = StopReason::end_of_stack);
  void sample(std::uint64_t time_ms, std::uint32_t stack, std::uint32_t context, std::uint32_t count = 1);

 private:
  Recording recording_;
  std::uint32_t process_ = 0;
};

/// The known split of the tests: of 1000 samples of wall time of "Main", 600 in Orders.Price, 300 in Orders.Sort and
/// 100 in a native function, called through native code; "Waiter" waits in 1000; a GC is pending in 50 of Main's.
[[nodiscard]] Recording small_recording();
/// The same with Orders.Sort at 150 of 1000 and Orders.Price at 750.
[[nodiscard]] Recording faster_recording();
/// Five processes, "worker" 1 to 5; of 150 samples, 10 times its number are each one's.
[[nodiscard]] Recording several_recording();
/// Names that would be markup, scripts, control characters or turned text if they were not escaped.
[[nodiscard]] Recording hostile_recording();
/// At least 100,000 different stacks of 40 threads and more than 5 MB as a page.
[[nodiscard]] Recording large_recording();
/// What a server under load looks like, for pictures.
[[nodiscard]] Recording server_recording(unsigned seed);

}  // namespace mixstack::web_test
