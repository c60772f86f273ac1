#include "process/pack/copying_target.h"

#include <utility>

namespace mixstack::pack {

class CopyingTarget::Memory final : public memory::WitnessedMemory {
 public:
  explicit Memory(const MemoryReader& below) : below_(below) {}
  [[nodiscard]] const MemoryReader& below() const override { return below_; }
  void was_read(Address address, std::span<const std::byte> bytes) const override {
    const std::lock_guard lock(mutex_);
    image_.add(address, bytes);
  }
  void begin_again() {
    const std::lock_guard lock(mutex_);
    image_.begin_again();
  }
  [[nodiscard]] MemoryImage take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(image_, {});
  }

 private:
  const MemoryReader& below_;
  mutable std::mutex mutex_;
  mutable MemoryImage image_;
};

/// Knows whether anything was read from it.
class CopyingTarget::File final : public FileBytes {
 public:
  explicit File(std::shared_ptr<const FileBytes> file) : file_(std::move(file)) {}
  [[nodiscard]] std::uint64_t size() const override { return file_->size(); }
  [[nodiscard]] std::span<const std::byte> bytes() const override {
    is_used_ = true;
    return file_->bytes();
  }
  [[nodiscard]] std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const override {
    is_used_ = true;
    return file_->range(offset, size);
  }
  [[nodiscard]] std::size_t copy(std::uint64_t offset, std::span<std::byte> out) const override {
    return file_->copy(offset, out);
  }
  [[nodiscard]] bool is_used() const { return is_used_; }

 private:
  std::shared_ptr<const FileBytes> file_;
  mutable std::atomic<bool> is_used_{false};
};

CopyingTarget::CopyingTarget(std::unique_ptr<Target> target)
    : target_(std::move(target)), memory_(std::make_unique<Memory>(target_->memory())) {}

CopyingTarget::~CopyingTarget() = default;

const MemoryReader& CopyingTarget::memory() const { return *memory_; }

/// Constant data that a core takes from files need not be recorded: the files are.
const MemoryReader& CopyingTarget::loaded_memory() const {
  return &target_->loaded_memory() == &target_->memory() ? memory() : target_->loaded_memory();
}

Result<std::shared_ptr<const FileBytes>> CopyingTarget::noted(const std::string& path,
                                                              Result<std::shared_ptr<const FileBytes>> file) const {
  if (!file || *file == nullptr) return file;
  const std::lock_guard lock(mutex_);
  auto& known = files_[path];
  if (known == nullptr) known = std::make_shared<const File>(std::move(*file));
  return known;
}

Result<std::shared_ptr<const FileBytes>> CopyingTarget::open_file(const Region& region) const {
  return noted(region.path, target_->open_file(region));
}

Result<std::shared_ptr<const FileBytes>> CopyingTarget::open_path(const std::string& path) const {
  return noted(path, target_->open_path(path));
}

Result<Capture> CopyingTarget::capture(const CaptureRequest& wanted) {
  CaptureRequest request = wanted;
  request.names = true;  // the notes of the threads have them
  auto capture = target_->capture(request);
  if (!capture) return capture;
  if (recording_.threads.empty()) memory_->begin_again();
  take_down(*capture);
  if (capture->frozen != nullptr) capture->frozen = memory_.get();
  return capture;
}

void CopyingTarget::take_down(const Capture& capture, bool is_look) {
  // Late captures first: if they disagree with the common instant, it overwrites them.
  for (const Capture& late : capture.late) take_down(late, late.consistency == Consistency::not_stopped);
  const std::lock_guard lock(mutex_);
  if (capture.regions != nullptr) recording_.regions = *capture.regions;
  recording_.pac_mask |= capture.pac_mask;
  recording_.pause = std::max(recording_.pause, capture.pause);
  for (const MemorySlice& root : capture.roots)
    roots_.emplace_back(root.base, std::vector<std::byte>(root.bytes.begin(), root.bytes.end()));
  for (const ThreadCapture& t : capture.threads) {
    PackedProcess::Thread& thread = recording_.threads[t.tid];
    thread.capture = t;
    thread.capture.stack = {};
    thread.stack_base = t.stack.base;
    thread.stack.assign(t.stack.bytes.begin(), t.stack.bytes.end());
    thread.not_stopped = is_look;
  }
}

std::vector<ThreadFacts> CopyingTarget::thread_facts(std::span<const ThreadCapture> threads) const {
  auto facts = target_->thread_facts(threads);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < facts.size() && i < threads.size(); i++)
    if (const auto at = recording_.threads.find(threads[i].tid); at != recording_.threads.end())
      at->second.facts = facts[i];
  return facts;
}

PackedProcess CopyingTarget::take() {
  const std::lock_guard lock(mutex_);
  PackedProcess out = std::exchange(recording_, {});
  out.memory = memory_->take();
  for (const auto& [address, bytes] : std::exchange(roots_, {})) out.memory.replace(address, bytes);
  for (const auto& [tid, thread] : out.threads) out.memory.replace(thread.stack_base, thread.stack);
  for (const auto& [path, file] : files_)
    if (file->is_used()) out.files.push_back({path, file});
  return out;
}

}  // namespace mixstack::pack
