// Sends pieces of a running recording to a profile store: --push.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontends/cli/program.h"
#include "frontends/cli/record_arguments.h"
#include "frontends/cli/record_progress.h"
#include "mixstack/recording.h"
#include "output/push/pusher.h"

namespace mixstack::cli {

/// Target, names and headers of --push, checked before recording starts, and the sender.
class RecordPush {
 public:
  /// The error is a sentence for the user: an invalid URL, label or header file. MIXSTACK_PUSH_TOKEN is removed from
  /// the environment, so that no started program sees it.
  [[nodiscard]] static tl::expected<RecordPush, std::string> make(const RecordArguments& arguments);
  /// Starts the sending thread, which also sends the spool of earlier runs. Not `ok`: the failure was reported. Call it
  /// after EndSignals was made.
  [[nodiscard]] ExitCode start(const Environment& environment);

  /// Sends the piece from `take` if the interval has passed, and prints news about earlier ones.
  void go_on(const std::function<Recording()>& take, ProgressLine& progress);
  /// Sends a piece now.
  void send(const Recording& piece);
  /// Sends or spools the rest, and prints the totals. `output`: a profile was dropped.
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
  std::array<std::uint8_t, 16> id_{};  ///< random id of this run, with a counter of pieces at byte 8
  std::uint32_t pieces_ = 0;
  bool quiet_ = false;
  int err_ = -1;
  std::unique_ptr<push::Pusher> pusher_;
};

}  // namespace mixstack::cli
