// The folder of requests that wait for their server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/scoped_fd.h"
#include "mixstack/diagnosis.h"
#include "push/push_request.h"

namespace mixstack::push {

/// A request out of the spool; as long as it lives no other program sends it.
struct SpooledRequest {
  PushRequest request;
  std::string name;      ///< of the file
  base::ScopedFd claim;  ///< holds the file's lock
};

/// Files of mode 0600 in one flat folder that belongs to our user and that nobody else can write to; requests of
/// several programs and to several servers may lie in it. A file appears whole or not at all. When there are more than
/// `most_bytes`, the oldest go, whoever's they are. What is read back is believed only as far as `decode_spool_entry`
/// does, and leads to no other server than the one that is asked for. Not thread-safe.
class Spool {
 public:
  /// The folder is made when something is first kept. `folder` empty: nothing is kept.
  Spool(std::string folder, std::uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Errors: why it is not kept.
  [[nodiscard]] tl::expected<void, Diagnosis> keep(const PushTarget& target, const PushRequest& request);
  /// The oldest request to this server that no other program is sending. Files that are none are removed and counted.
  [[nodiscard]] std::optional<SpooledRequest> oldest(const PushTarget& target);
  /// It was sent, or is not wanted.
  void remove(const SpooledRequest& sent);
  /// How many wait for this server.
  [[nodiscard]] std::uint64_t waiting(const PushTarget& target);
  /// Removed, not sent: for want of room; because they were damaged.
  [[nodiscard]] std::uint64_t crowded_out() const { return crowded_out_; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

 private:
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] tl::expected<void, Diagnosis> open(bool makes);
  [[nodiscard]] std::vector<File> files();
  void make_room(const std::string& newest);

  std::string folder_;
  std::uint64_t most_bytes_;
  base::ScopedFd fd_;
  unsigned kept_ = 0;
  std::uint64_t crowded_out_ = 0, damaged_ = 0;
};

}  // namespace mixstack::push
