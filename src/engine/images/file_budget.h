// A limit for all files of a target together, because any one of them may claim to hold tables of half a gigabyte.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "mixstack/target.h"

namespace mixstack::images {

/// Bytes that are left to be read. Thread-safe.
class FileBudget {
 public:
  /// A gigabyte, or a quarter of the machine's memory where that is less.
  [[nodiscard]] static std::shared_ptr<FileBudget> of_this_machine();
  explicit FileBudget(std::uint64_t bytes) : whole_(bytes), left_(bytes) {}

  /// False, and nothing taken, when fewer are left.
  [[nodiscard]] bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t whole() const { return whole_; }
  /// Whether something was refused.
  [[nodiscard]] bool is_spent() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t whole_, left_;
  bool is_spent_ = false;
};

/// The same file, of which no more can be read than the budget has left. Each part of it is counted once.
[[nodiscard]] std::shared_ptr<const FileBytes> within_budget(std::shared_ptr<const FileBytes> file,
                                                             std::shared_ptr<FileBudget> budget);

}  // namespace mixstack::images
