// A recording on its way to a store while it is made: --push.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/record_arguments.h"
#include "cli/record_progress.h"
#include "model/recording.h"
#include "push/pusher.h"

namespace mixstack::cli {

/// What is sent where, read from arguments and environment before anything is recorded.
class RecordPush {
 public:
  /// An error is a sentence for the user: a URL, label or header file that is none. MIXSTACK_PUSH_TOKEN is taken out of
  /// the environment, so that no program that is started sees it.
  [[nodiscard]] static tl::expected<RecordPush, std::string> make(const RecordArguments& arguments);
  /// Starts to send, what earlier runs have left first. Another answer than `ok`: it was said why not. After
  /// EndSignals.
  [[nodiscard]] ExitCode start(const Environment& environment);

  /// Sends what `take` gives, if it is time for that, and says what has happened to what was sent.
  void go_on(const std::function<Recording()>& take, Progress& progress);
  /// Sends a piece now.
  void send(const Recording& piece);
  /// Sends what is left, spools what cannot be sent, and says what became of all. `output`: something was dropped.
  [[nodiscard]] ExitCode finish();

 private:
  RecordPush() = default;
  void say_all(const std::vector<std::string>& news) const;
  void say(const std::string& text) const;

  push::PushTarget target_;
  push::PushNames names_;
  ProfileOptions options_;
  std::vector<std::string> headers_;
  std::string spool_;
  std::uint64_t interval_ns_ = 0, next_ns_ = 0;
  std::array<std::uint8_t, 16> id_{};  ///< of this run; its middle counts profiles
  std::uint32_t pieces_ = 0;
  bool quiet_ = false;
  int err_ = -1;
  std::unique_ptr<push::Pusher> pusher_;
};

}  // namespace mixstack::cli
