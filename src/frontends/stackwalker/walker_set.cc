#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"

namespace Dyninst::Stackwalker {
namespace {

/// The results of all worker threads.
struct Outcome {
  std::mutex mutex;
  CallTree* tree = nullptr;
  bool whole = true;
  err_t error = 0;
  std::string text;

  void note_error() {
    const std::lock_guard lock(mutex);
    whole = false;
    if (error != 0 || getLastError() == 0) return;
    error = getLastError();
    text = getLastErrorMsg();
  }
};

void walk_process(Walker& walker, bool initial_only, Outcome& outcome) {
  std::vector<THR_ID> threads;
  if (initial_only) {
    const THR_ID tid = WalkerAccess::actual_thread(walker, NULL_THR_ID);
    if (tid != NULL_THR_ID) threads.push_back(tid);
  } else {
    (void)walker.getAvailableThreads(threads);
  }
  if (threads.empty()) outcome.note_error();
  for (const THR_ID tid : threads) {
    std::vector<Frame> stack;
    const bool whole = walker.walkStack(stack, tid);
    if (!whole) outcome.note_error();
    // A thread that has ended meanwhile has no stack.
    if (stack.empty()) continue;
    const std::lock_guard lock(outcome.mutex);
    outcome.tree->addCallStack(stack, tid, &walker, !whole);
  }
}

}  // namespace

WalkerSet::WalkerSet() = default;
WalkerSet::~WalkerSet() = default;
WalkerSet* WalkerSet::newWalkerSet() { return new WalkerSet; }
WalkerSet::iterator WalkerSet::begin() { return walkers_.begin(); }
WalkerSet::iterator WalkerSet::end() { return walkers_.end(); }
WalkerSet::iterator WalkerSet::find(Walker* walker) { return walkers_.find(walker); }
WalkerSet::const_iterator WalkerSet::begin() const { return walkers_.begin(); }
WalkerSet::const_iterator WalkerSet::end() const { return walkers_.end(); }
WalkerSet::const_iterator WalkerSet::find(Walker* walker) const { return walkers_.find(walker); }
std::pair<WalkerSet::iterator, bool> WalkerSet::insert(Walker* walker) {
  if (walker == nullptr) {
    setLastError(err_badparam, "WalkerSet: no Walker");
    return {walkers_.end(), false};
  }
  return walkers_.insert(walker);
}
void WalkerSet::erase(iterator at) { walkers_.erase(at); }
bool WalkerSet::empty() const { return walkers_.empty(); }
std::size_t WalkerSet::size() const { return walkers_.size(); }

bool WalkerSet::walkStacks(CallTree& tree, bool walk_initial_only) const {
  clearLastError();
  Outcome outcome;
  outcome.tree = &tree;
  // Only the calling thread can walk our own process.
  std::vector<Walker*> others;
  for (Walker* walker : walkers_) {
    if (walker->getProcessState()->isFirstParty()) {
      walk_process(*walker, walk_initial_only, outcome);
    } else {
      others.push_back(walker);
    }
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < others.size(); i = next++) walk_process(*others[i], walk_initial_only, outcome);
  };
  const std::size_t wanted = std::min<std::size_t>(others.size(), std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < wanted; i++) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (outcome.error != 0) setLastError(outcome.error, outcome.text.c_str());
  return outcome.whole;
}

}  // namespace Dyninst::Stackwalker
