// What is read of a process with a runtime that others have stopped: its threads, their registers and stacks, its code.
#pragma once

#include <memory>

#include "base/memory/cached_memory.h"
#include "base/memory/overlay_memory.h"
#include "dotnet/code/runtime.h"
#include "dotnet/code/threads.h"
#include "mixstack/target.h"

namespace mixstack::test {

class StoppedRuntime {
 public:
  explicit StoppedRuntime(Result<std::unique_ptr<Target>> target) {
    if (!target) return;
    target_ = std::move(*target);
    auto regions = target_->regions();
    if (!regions) return;
    modules_ = images::ModuleMap::build(*regions, target_->memory(),
                                        [this](const Region& r) { return target_->open_file(r); });
    const auto images = dotnet::find_runtimes(modules_, target_->info().executable);
    if (images.empty()) return;
    auto runtime = dotnet::RuntimeFacts::open(target_->memory(), images.front());
    if (!runtime) return;
    runtime_ = *runtime;
    dotnet::ThreadRoots roots(runtime_->layouts());
    CaptureRequest request;
    request.roots = &roots;
    request.stop_timeout = std::chrono::seconds(2);
    auto capture = target_->capture(request);
    if (!capture) return;
    capture_ = std::move(*capture);
    cache_ = std::make_unique<memory::CachedMemory>(target_->memory());
    overlay_ = std::make_unique<memory::OverlayMemory>(capture_, cache_.get());
    code_ = std::make_unique<dotnet::CodeManager>(runtime_->memory(*overlay_), runtime_->contracts());
    threads_ = dotnet::read_threads(runtime_->memory(*overlay_));
  }
  [[nodiscard]] bool ok() const { return code_ != nullptr; }
  [[nodiscard]] const dotnet::RuntimeFacts& runtime() const { return *runtime_; }
  [[nodiscard]] const dotnet::ThreadList& threads() const { return threads_; }
  [[nodiscard]] dotnet::CodeManager& code() const { return *code_; }
  [[nodiscard]] dotnet::RuntimeMemory memory() const { return runtime_->memory(*overlay_); }
  /// Null: the thread was not captured.
  [[nodiscard]] const ThreadCapture* capture_of(const dotnet::ManagedThread& thread) const {
    for (const ThreadCapture& c : capture_.threads)
      if (c.ns_tid == thread.os_id && c.captured) return &c;
    return nullptr;
  }
  [[nodiscard]] static StackView stack_of(const ThreadCapture& c) {
    return {c.stack.base, c.stack.bytes.data(), c.stack.bytes.size()};
  }

 private:
  std::unique_ptr<Target> target_;
  images::ModuleMap modules_;
  std::shared_ptr<const dotnet::RuntimeFacts> runtime_;
  Capture capture_;
  std::unique_ptr<memory::CachedMemory> cache_;
  std::unique_ptr<memory::OverlayMemory> overlay_;
  std::unique_ptr<dotnet::CodeManager> code_;
  dotnet::ThreadList threads_;
};

}  // namespace mixstack::test
