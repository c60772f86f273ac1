// Serves the viewer page of a recording on a loopback port.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mixstack/recording.h"
#include "mixstack/result.h"
#include "output/report/page_data.h"

namespace mixstack::serve {

/// Serves from a thread of its own. `publish` may be called from any thread, `start` and `stop` from one.
class PageServer {
 public:
  static constexpr std::size_t kMostConnections = 16;
  /// Fewer when RLIMIT_NOFILE is low: recording and writing need descriptors, too.
  [[nodiscard]] static std::size_t most_connections(std::uint64_t most_files);

  /// `title` is the page's title before it has a recording, `look` its initial view.
  explicit PageServer(std::string_view title, const report::PageLook& look = {});
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  ~PageServer();

  /// Listens on 127.0.0.1 at this port; 0: a free one. Returns the page's URL with its token, which only the user may
  /// see. Errors: io_error with the system's number (EADDRINUSE).
  [[nodiscard]] Result<std::string> start(std::uint16_t port);

  /// Shows this recording from now on; nobody may change it afterwards. `ended`: no newer one will come.
  void publish(std::shared_ptr<const Recording> recording, bool ended);

  /// Shows a copy that `copy` makes, at most once a second, and so rarely that copying takes at most a twentieth of the
  /// time. Not by several threads at once.
  void publish_rarely(const std::function<std::shared_ptr<const Recording>()>& copy);

  /// Ends the thread and closes all connections. No client can delay it.
  void stop();

 private:
  class Work;
  std::unique_ptr<Work> work_;
  std::chrono::steady_clock::time_point next_copy_{};
};

}  // namespace mixstack::serve
