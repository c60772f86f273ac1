// Sends pieces of a running recording to a profile store.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/words/recording_view.h"
#include "mixstack/recording.h"
#include "output/push/pusher.h"

namespace mixstack::push {

/// As a user gives them, not checked yet. Errors name them by the options of `mixstack record`.
struct PieceSenderOptions {
  std::string url{};
  std::string name{};                     ///< empty: made of the process's
  std::vector<std::string> labels{};      ///< NAME=VALUE
  std::string header_file{};              ///< empty: none
  std::string spool{};                    ///< empty: `usual_spool`
  std::chrono::milliseconds interval{0};  ///< 0: ten seconds
  ProfileOptions shown{};                 ///< which samples and frames are sent
  std::string version{};                  ///< of mixstack
  std::string usual_spool{};              ///< empty: unsent pieces stay in memory
  std::vector<std::string> proxies{};     ///< "https_proxy=..."
  /// Sentences for the user, escaped: "push to URL: ...". Called by the caller's thread.
  std::function<void(const PushNews& news, const std::string& line)> say = [](const PushNews&, const std::string&) {};
};

/// Target, names and headers, checked before recording starts, and the sender.
class PieceSender {
 public:
  /// The error is a sentence for the user: an invalid URL, label or header file. MIXSTACK_PUSH_TOKEN is removed from
  /// the environment, so that no started program sees it.
  [[nodiscard]] static tl::expected<PieceSender, std::string> make(PieceSenderOptions options);
  /// Starts the sending thread, which also sends the spool of earlier runs. The error is a sentence for the user. Call
  /// it after signals are blocked: the thread inherits the mask.
  [[nodiscard]] tl::expected<void, std::string> start();

  /// Sends the piece from `take` if the interval has passed, and says news about earlier ones.
  void go_on(const std::function<Recording()>& take);
  /// Sends a piece now.
  void send(const Recording& piece);
  /// Sends or spools the rest; `tells_totals`: and says how many were sent. False: a profile was dropped.
  [[nodiscard]] bool finish(bool tells_totals);

 private:
  explicit PieceSender(PieceSenderOptions options) : options_(std::move(options)) {}
  void say_all(const std::vector<PushNews>& news) const;
  void say(const PushNews& news) const;
  [[nodiscard]] std::string totals(const PushAccount& account) const;

  PieceSenderOptions options_;
  PushTarget target_;
  PushNames names_;
  std::vector<std::string> headers_;
  std::string spool_;
  std::chrono::nanoseconds interval_{};
  std::chrono::steady_clock::time_point next_{};
  std::array<std::uint8_t, 16> id_{};  ///< random id of this run, with a counter of pieces at byte 8
  std::uint32_t pieces_ = 0;
  std::unique_ptr<Pusher> pusher_;
};

}  // namespace mixstack::push
