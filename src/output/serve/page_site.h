// The two documents of the page server: the page, and the data of the published recording.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "mixstack/recording.h"
#include "output/report/page_data.h"
#include "output/serve/http_answer.h"
#include "output/serve/http_request.h"

namespace mixstack::serve {

class PageSite {
 public:
  PageSite(std::string_view title, std::string token, const report::PageLook& look = {});

  void set_port(std::uint16_t port) { port_ = port; }
  [[nodiscard]] std::string path() const { return "/" + token_ + "/"; }
  /// Thread-safe.
  void publish(std::shared_ptr<const Recording> recording, bool ended);
  /// Only from the server's thread.
  [[nodiscard]] HttpAnswer answer(const HttpRequest& request);

 private:
  struct Published {
    std::shared_ptr<const Recording> recording{};
    std::uint64_t version = 0;
    bool ended = false;
  };
  [[nodiscard]] bool is_ours(std::string_view host) const;
  [[nodiscard]] HttpAnswer data(const HttpRequest& request);

  std::string token_;
  report::PageLook look_;
  std::uint16_t port_ = 0;
  std::shared_ptr<const std::string> page_;
  std::mutex mutex_;
  Published published_;
  std::uint64_t made_version_ = 0;  ///< version that `made_` was made from
  std::shared_ptr<const std::string> made_;
};

/// Whether two texts are equal; the time does not depend on where they differ, only on their length.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace mixstack::serve
