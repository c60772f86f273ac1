#include "engine/images/file_budget.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mixstack::images {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
constexpr std::uint64_t kChunk = 16 << 10;

class BudgetedBytes final : public FileBytes {
 public:
  BudgetedBytes(std::shared_ptr<const FileBytes> file, std::shared_ptr<FileBudget> budget)
      : file_(std::move(file)), budget_(std::move(budget)), size_(file_->size()) {}
  BudgetedBytes(const BudgetedBytes&) = delete;
  BudgetedBytes& operator=(const BudgetedBytes&) = delete;
  ~BudgetedBytes() override { budget_->give_back(taken_); }

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const override { return range(0, size_); }
  [[nodiscard]] std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const override {
    if (offset > size_ || size_ - offset < size || size == 0) return {};
    if (!count(offset / kChunk, (offset + size - 1) / kChunk)) return {};
    return file_->range(offset, size);
  }
  [[nodiscard]] std::size_t copy(std::uint64_t offset, std::span<std::byte> out) const override {
    return file_->copy(offset, out);
  }

 private:
  /// Chunks cost their size once, when first read.
  [[nodiscard]] bool count(std::uint64_t first, std::uint64_t last) const {
    const std::lock_guard lock(mutex_);
    // Most files are read in few places: keeps marks only up to the last one.
    if (counted_.size() <= last) counted_.resize(static_cast<std::size_t>(last) + 1);
    std::uint64_t fresh = 0;
    for (std::uint64_t c = first; c <= last; c++) fresh += counted_[static_cast<std::size_t>(c)] ? 0 : 1;
    if (fresh == 0) return true;
    fresh = std::min(fresh * kChunk, size_);
    if (!budget_->take(fresh)) return false;
    taken_ += fresh;
    for (std::uint64_t c = first; c <= last; c++) counted_[static_cast<std::size_t>(c)] = true;
    return true;
  }

  std::shared_ptr<const FileBytes> file_;
  std::shared_ptr<FileBudget> budget_;
  std::uint64_t size_;
  mutable std::mutex mutex_;
  mutable std::uint64_t taken_ = 0;
  mutable std::vector<bool> counted_;  ///< by chunk
};

}  // namespace

std::shared_ptr<FileBudget> FileBudget::of_this_machine() {
  std::uint64_t most = kMost;
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) most = std::min<std::uint64_t>(most, std::uint64_t{info.totalram} * info.mem_unit / 4);
  return std::make_shared<FileBudget>(std::max(most, kLeast));
}

bool FileBudget::take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > left_) {
    is_spent_ = true;
    return false;
  }
  left_ -= bytes;
  return true;
}

void FileBudget::give_back(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  left_ += bytes;
}

bool FileBudget::is_spent() const {
  const std::lock_guard lock(mutex_);
  return is_spent_;
}

std::shared_ptr<const FileBytes> within_budget(std::shared_ptr<const FileBytes> file,
                                               std::shared_ptr<FileBudget> budget) {
  return std::make_shared<const BudgetedBytes>(std::move(file), std::move(budget));
}

}  // namespace mixstack::images
