// The viewer page of a recording, on a port of this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "mixstack/result.h"
#include "model/recording.h"
#include "report/page_data.h"

namespace mixstack::serve {

/// Serves from a thread of its own. `publish` may be called from any thread, `start` and `stop` from one.
class PageServer {
 public:
  static constexpr std::size_t kMostConnections = 16;
  /// Fewer where few files may be open (RLIMIT_NOFILE): what is shown still has to be recorded and written.
  [[nodiscard]] static std::size_t most_connections(std::uint64_t most_files);

  /// `title` is what the page is called before it has a recording, `look` how it begins.
  explicit PageServer(std::string_view title, const report::PageLook& look = {});
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  ~PageServer();

  /// Listens on 127.0.0.1 at this port, 0: one that is free. Answers the page's address with its token, which is to be
  /// told to the user alone. Errors: io_error with the system's number (EADDRINUSE).
  [[nodiscard]] Result<std::string> start(std::uint16_t port);

  /// What the page shows from now on; the recording is not changed afterwards. `ended`: no newer one will come.
  void publish(std::shared_ptr<const Recording> recording, bool ended);

  /// Ends the thread and closes all connections; within a moment, whatever clients do.
  void stop();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace mixstack::serve
