// The spool: a folder of requests that wait for their server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/diagnosis.h"
#include "output/push/push_request.h"

namespace mixstack::push {

/// A request read from the spool; while it lives, its lock keeps other programs from sending it.
struct SpooledRequest {
  PushRequest request;
  std::string name;      ///< of the file
  base::ScopedFd claim;  ///< holds the file's lock
};

/// Files of mode 0600 in one flat folder that belongs to our user and that nobody else can write to, shared by several
/// programs and servers. A file appears whole or not at all. Beyond `most_bytes` the oldest files are removed,
/// whichever program wrote them. Files are untrusted: `decode_spool_entry` checks them, and the target must equal the
/// one asked for. Not thread-safe.
class Spool {
 public:
  /// The folder is made at the first `keep`. `folder` empty: nothing is kept.
  Spool(std::string folder, std::uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Writes a request to a file. The error says why not.
  [[nodiscard]] tl::expected<void, Diagnosis> keep(const PushTarget& target, const PushRequest& request);
  /// The oldest request to this server that no other program is sending. Damaged files are removed and counted.
  [[nodiscard]] std::optional<SpooledRequest> oldest(const PushTarget& target);
  /// Removes a request that was sent or refused.
  void remove(const SpooledRequest& sent);
  /// The number of requests that wait for this server.
  [[nodiscard]] std::uint64_t waiting(const PushTarget& target);
  /// Files removed without being sent: for lack of room; because they were damaged.
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
  std::uint64_t crowded_out_ = 0, damaged_ = 0;
};

}  // namespace mixstack::push
