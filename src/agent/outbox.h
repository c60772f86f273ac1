// Bytes on their way to somebody who may be slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "base/scoped_fd.h"

namespace mixstack::agent {

/// From any thread to the one that owns a connection. Never waits.
class Outbox {
 public:
  static constexpr std::size_t kFull = 2u << 20;  ///< bytes

  /// `wake` is an eventfd that the owner polls; borrowed.
  explicit Outbox(int wake) : wake_(wake) {}

  /// Whether more should be put in. What belongs together may still be.
  [[nodiscard]] bool has_room() const;
  void put(std::vector<std::byte> message);
  /// Before all others that nothing was sent of yet.
  void put_first(std::vector<std::byte> message);

  [[nodiscard]] bool is_empty() const;
  /// As much as a non-blocking socket takes now. False: the connection is broken.
  [[nodiscard]] bool send_some(int fd);

 private:
  const int wake_;
  mutable std::mutex mutex_;
  std::deque<std::vector<std::byte>> messages_;
  std::size_t sent_ = 0;  ///< of the first
  std::size_t bytes_ = 0;
};

}  // namespace mixstack::agent
