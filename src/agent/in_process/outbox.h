// Queue of messages to a peer that may be slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "base/system/scoped_fd.h"

namespace mixstack::agent {

/// From any thread to the one that owns a connection. Never blocks on the peer.
class Outbox {
 public:
  static constexpr std::size_t kFull = 2u << 20;  ///< bytes

  /// `wake` is an eventfd that the owner polls; borrowed.
  explicit Outbox(int wake) : wake_(wake) {}

  /// Whether another sample should be put in. Messages that belong to it may exceed kFull.
  [[nodiscard]] bool has_room() const;
  void put(std::vector<std::byte> message);
  /// Puts a message before all that are not partly sent.
  void put_first(std::vector<std::byte> message);

  [[nodiscard]] bool is_empty() const;
  /// Sends as much as the socket takes without blocking. False: the connection is broken.
  [[nodiscard]] bool send_some(int fd);

 private:
  const int wake_;
  mutable std::mutex mutex_;
  std::deque<std::vector<std::byte>> messages_;
  std::size_t sent_ = 0;  ///< bytes of the first message
  std::size_t bytes_ = 0;
};

}  // namespace mixstack::agent
