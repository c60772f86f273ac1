#include "agent/standing_threads.h"

#include <unordered_set>

namespace mixstack::agent {

bool StandingThreads::stands(std::uint32_t tid, std::uint64_t cpu) const {
  const auto known = threads_.find(tid);
  return known != threads_.end() && known->second.stands && known->second.cpu == cpu;
}

bool StandingThreads::may_stand(std::uint32_t tid, std::uint64_t runs) const {
  const auto known = threads_.find(tid);
  return known != threads_.end() && runs != 0 && known->second.is_sampled && known->second.runs == runs;
}

void StandingThreads::interrupted(std::uint32_t tid, std::uint64_t runs) {
  if (runs == 0 || (threads_.size() >= kMost && !threads_.contains(tid))) return forget(tid);
  threads_[tid] = Thread{runs + 1, 0, {}, false, false};
}

void StandingThreads::sampled(std::uint32_t tid, const WaitSample& sample) {
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return;
  known->second.sample = sample;
  known->second.is_sampled = true;
}

bool StandingThreads::confirm(std::uint32_t tid, const WaitPlace& place, std::uint64_t cpu) {
  const auto known = threads_.find(tid);
  if (known == threads_.end() || !known->second.is_sampled) return false;
  const WaitSample& sample = known->second.sample;
  // The kernel shows the address behind the instruction. A call that ended by itself, just before the signal, is
  // neither called again nor cut short: the thread may have gone on to wait elsewhere.
  const bool is_here = sample.was_cut_short ? place.pc == sample.pc : place.pc == sample.pc + call_size_;
  known->second.stands = is_here && place.sp == sample.sp;
  known->second.cpu = cpu;
  return known->second.stands;
}

void StandingThreads::update(std::span<const std::uint32_t> tids) {
  const std::unordered_set<std::uint32_t> present(tids.begin(), tids.end());
  std::erase_if(threads_, [&](const auto& thread) { return !present.contains(thread.first); });
}

}  // namespace mixstack::agent
