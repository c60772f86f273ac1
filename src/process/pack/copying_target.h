// A target that records what a dump reads from it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/memory/witnessed_memory.h"
#include "mixstack/target.h"
#include "process/pack/memory_image.h"

namespace mixstack::pack {

/// Everything that was read from a target, owned.
struct PackedProcess {
  struct Thread {
    ThreadCapture capture;  ///< without its stack
    std::vector<std::byte> stack;
    Address stack_base = 0;
    ThreadFacts facts;
    bool not_stopped = false;  ///< it was looked at without a stop, late
  };
  struct File {
    std::string path;
    std::shared_ptr<const FileBytes> bytes;
  };
  std::map<ThreadId, Thread> threads;
  MemoryImage memory;  ///< the bytes read, stacks and roots included
  std::vector<Region> regions;
  std::uint64_t pac_mask = 0;
  std::chrono::nanoseconds pause{0};
  std::vector<File> files;  ///< those that were read
};

/// Passes everything on to another target. A read after the first capture replaces what was read before it; of several
/// reads after it, the first counts. Thread-safe as the other is.
class CopyingTarget final : public Target {
 public:
  explicit CopyingTarget(std::unique_ptr<Target> target);
  ~CopyingTarget() override;
  /// Answers the recording so far, and starts a new one.
  [[nodiscard]] PackedProcess take();
  /// The memory, for reads that are not recorded.
  [[nodiscard]] const MemoryReader& unrecorded() const { return target_->memory(); }

  [[nodiscard]] const TargetInfo& info() const override { return target_->info(); }
  [[nodiscard]] const MemoryReader& memory() const override;
  [[nodiscard]] const MemoryReader& loaded_memory() const override;
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return target_->threads(); }
  [[nodiscard]] Result<std::vector<Region>> regions() const override { return target_->regions(); }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override;
  [[nodiscard]] bool proves_files() const override { return target_->proves_files(); }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override;
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& wanted) override;
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override { return target_->diagnoses(); }
  [[nodiscard]] std::vector<ThreadFacts> thread_facts(std::span<const ThreadCapture> threads) const override;
  void prepare_thread_facts(std::span<const ThreadId> threads, bool off_cpu) override {
    target_->prepare_thread_facts(threads, off_cpu);
  }
  [[nodiscard]] std::optional<ProcessUsage> usage(std::chrono::nanoseconds stopped) override {
    return target_->usage(stopped);
  }

 private:
  class Memory;
  class File;
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> noted(const std::string& path,
                                                               Result<std::shared_ptr<const FileBytes>> file) const;
  void take_down(const Capture& capture, bool is_look = false);

  std::unique_ptr<Target> target_;
  std::unique_ptr<Memory> memory_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const File>> files_;
  mutable PackedProcess recording_;
  std::vector<std::pair<Address, std::vector<std::byte>>> roots_;
};

}  // namespace mixstack::pack
