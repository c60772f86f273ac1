// A pool of memory for the bytes of sampled stacks.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::record {

/// Copies stacks into large blocks that captures own. A block returns to the pool when its capture is destroyed, in
/// whatever thread, and is not cleared: fresh memory for each batch would cost more than the copying. One thread at a
/// time copies.
class StackBlocks {
 public:
  static constexpr std::size_t kBlock = 1u << 20;
  static constexpr std::size_t kMostIdle = 16;  ///< blocks kept; after a peak the others are freed

  /// Bytes copied from now on belong to another capture.
  void begin() { used_ = kBlock; }
  /// Returns the copy; `capture` owns its block.
  [[nodiscard]] std::span<const std::byte> keep(Capture& capture, std::span<const std::byte> bytes) {
    if (bytes.empty()) return {};
    if (bytes.size() > kBlock) {
      std::byte* alone = add(capture, std::make_unique_for_overwrite<std::byte[]>(bytes.size()));
      std::memcpy(alone, bytes.data(), bytes.size());
      return {alone, bytes.size()};
    }
    if (bytes.size() > kBlock - used_) {
      block_ = add(capture, take());
      used_ = 0;
    }
    std::byte* to = block_ + used_;
    std::memcpy(to, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {to, bytes.size()};
  }

 private:
  struct Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<std::byte[]>> blocks;
  };

  [[nodiscard]] static std::byte* add(Capture& capture, OwnedBytes bytes) {
    capture.storage.push_back(std::move(bytes));
    return capture.storage.back().get();
  }
  [[nodiscard]] OwnedBytes take() {
    std::unique_ptr<std::byte[]> block;
    {
      const std::lock_guard lock(idle_->mutex);
      if (!idle_->blocks.empty()) {
        block = std::move(idle_->blocks.back());
        idle_->blocks.pop_back();
      }
    }
    if (block == nullptr) block = std::make_unique_for_overwrite<std::byte[]>(kBlock);
    const auto give_back = [idle = idle_](std::byte* bytes) {
      std::unique_ptr<std::byte[]> back(bytes);
      const std::lock_guard lock(idle->mutex);
      if (idle->blocks.size() < kMostIdle) idle->blocks.push_back(std::move(back));
    };
    std::byte* bytes = block.get();
    return OwnedBytes(bytes, BytesOwner(std::shared_ptr<std::byte>(block.release(), give_back)));
  }

  std::shared_ptr<Idle> idle_ = std::make_shared<Idle>();
  std::byte* block_ = nullptr;  ///< the block being filled; owned by the capture
  std::size_t used_ = kBlock;
};

}  // namespace mixstack::record
