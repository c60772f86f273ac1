// The caches that one walking thread keeps from capture to capture.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/memory/cached_memory.h"
#include "dotnet/names/runtime_modules.h"
#include "dotnet/runtime/managed_runtime.h"
#include "engine/images/debug_file.h"
#include "engine/walk/native_stepper.h"
#include "mixstack/session.h"
#include "session/generated_code.h"
#include "session/process_generation.h"

namespace mixstack::session {

/// Caches of one walking thread at a time: unwind rules, methods by address, metadata and names of methods, pages of
/// the running target. Works on one generation of the facts, which it keeps alive.
class Worker {
 public:
  struct Sources {
    const Target& target;
    images::PathOpener open_path;
    walk::Tables unwind_tables;
    RuntimeOptions runtime_options;
    dotnet::names::PdbFetcher fetch_pdb;         ///< null: none
    std::shared_ptr<GeneratedCode> generated{};  ///< null: not asked for
  };
  Worker(const Sources& sources, std::shared_ptr<const ProcessGeneration> facts);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Goes on with another generation; caches of runtimes that are still there stay.
  void follow(std::shared_ptr<const ProcessGeneration> facts);
  /// For a new capture: cached pages of the running target are out of date.
  void forget_memory() { live_.clear(); }
  /// Announces reads in many places.
  void fetch(std::span<const AddressRange> ranges) { live_.fetch(ranges); }

  [[nodiscard]] const std::shared_ptr<const ProcessGeneration>& facts() const { return facts_; }
  [[nodiscard]] const images::ModuleMap& modules() const { return facts_->modules(); }
  /// The running target, through a cache.
  [[nodiscard]] const MemoryReader& live() const { return live_; }
  [[nodiscard]] std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes() const { return runtimes_; }
  [[nodiscard]] walk::NativeStepper& native() { return *native_; }
  /// Code of other compilers than the runtimes'; null: not asked for.
  [[nodiscard]] const std::shared_ptr<GeneratedCode>& generated() const { return sources_.generated; }
  /// The roots of all runtimes, to be read in a stop; null when there are none.
  [[nodiscard]] RootSource* prepare_roots();

 private:
  /// The roots of several runtimes as one.
  class AllRoots final : public RootSource {
   public:
    void collect(const MemoryReader& memory, std::vector<AddressRange>& out) override {
      for (RootSource* one : all) one->collect(memory, out);
    }
    std::vector<RootSource*> all;
  };

  Sources sources_;
  std::shared_ptr<const ProcessGeneration> facts_;
  memory::CachedMemory live_;
  std::optional<walk::NativeStepper> native_;
  std::vector<std::shared_ptr<const dotnet::KnownRuntime>> known_;
  std::vector<std::unique_ptr<dotnet::ManagedRuntime>> runtimes_;  ///< of these, in their order
  AllRoots roots_;
};

/// Idle workers, last used first, because its caches are warm. Thread-safe.
class WorkerPool : public std::enable_shared_from_this<WorkerPool> {
 public:
  /// Gives a worker back when it goes, unless the pool was emptied since.
  class Return {
   public:
    Return() = default;
    Return(std::shared_ptr<WorkerPool> pool, std::uint64_t round) : pool_(std::move(pool)), round_(round) {}
    void operator()(Worker* worker) const;

   private:
    std::shared_ptr<WorkerPool> pool_;
    std::uint64_t round_ = 0;
  };
  using Lease = std::unique_ptr<Worker, Return>;

  [[nodiscard]] Lease take(const Worker::Sources& sources, const std::shared_ptr<const ProcessGeneration>& facts);
  /// Options have changed, or everything is to be read again.
  void empty();

 private:
  static constexpr std::size_t kMost = 16;

  std::mutex mutex_;
  std::uint64_t round_ = 0;
  std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace mixstack::session
