#include "session/worker.h"

#include <algorithm>
#include <utility>

#include "dotnet/runtime/open_runtime.h"

namespace mixstack::session {
namespace {

/// Records of hundreds of threads lie apart, some bytes in each place.
constexpr memory::CacheOptions kSmallPages{.page_size = 1024, .max_pages = 1 << 14, .read_ahead_pages = 8};

}  // namespace

Worker::Worker(const Sources& sources, std::shared_ptr<const ProcessGeneration> facts)
    : sources_(sources), live_(sources.target.memory(), kSmallPages) {
  follow(std::move(facts));
}

void Worker::follow(std::shared_ptr<const ProcessGeneration> facts) {
  if (facts == facts_) return;
  // Keeps the old modules until the borrowers below have the new ones.
  const auto before = std::exchange(facts_, std::move(facts));
  native_.emplace(modules(), sources_.target.info().arch, 0, sources_.unwind_tables);
  std::vector<std::unique_ptr<dotnet::ManagedRuntime>> runtimes;
  for (const auto& known : facts_->runtimes()) {
    const auto at = std::find(known_.begin(), known_.end(), known);
    if (at != known_.end()) {
      runtimes.push_back(std::move(runtimes_[static_cast<std::size_t>(at - known_.begin())]));
      runtimes.back()->use_modules(modules());
    } else {
      runtimes.push_back(dotnet::open_runtime(known, sources_.target, live_, sources_.open_path, modules(),
                                              sources_.runtime_options, sources_.fetch_pdb));
    }
  }
  runtimes_ = std::move(runtimes);
  known_.assign(facts_->runtimes().begin(), facts_->runtimes().end());
}

RootSource* Worker::prepare_roots() {
  roots_.all.clear();
  for (const auto& runtime : runtimes_)
    if (RootSource* roots = runtime->prepare_roots()) roots_.all.push_back(roots);
  return roots_.all.empty() ? nullptr : &roots_;
}

WorkerPool::Lease WorkerPool::take(const Worker::Sources& sources,
                                   const std::shared_ptr<const ProcessGeneration>& facts) {
  std::unique_ptr<Worker> worker;
  std::uint64_t round = 0;
  {
    const std::lock_guard lock(mutex_);
    round = round_;
    if (!idle_.empty()) {
      worker = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (worker == nullptr) worker = std::make_unique<Worker>(sources, facts);
  worker->follow(facts);
  return {worker.release(), Return(shared_from_this(), round)};
}

void WorkerPool::Return::operator()(Worker* worker) const {
  std::unique_ptr<Worker> owned(worker);
  const std::lock_guard lock(pool_->mutex_);
  if (round_ == pool_->round_ && pool_->idle_.size() < kMost) pool_->idle_.push_back(std::move(owned));
}

void WorkerPool::empty() {
  std::vector<std::unique_ptr<Worker>> gone;
  const std::lock_guard lock(mutex_);
  round_++;
  gone.swap(idle_);
}

}  // namespace mixstack::session
