#include "agent/in_process/standing_threads.h"

#include <algorithm>
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
  Thread& thread = threads_[tid];
  Thread next;
  if (thread.is_looked_at_again) {
    next.most_frames = thread.most_frames;
    next.vain_looks = thread.vain_looks;
    next.next_look = thread.next_look;
  }
  next.runs = runs + 1;
  thread = next;
}

bool StandingThreads::looks_again(std::uint32_t tid, std::uint64_t knowledge, Time now) {
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return false;
  Thread& thread = known->second;
  if (!thread.stands || !thread.sample.is_in_doubt || thread.sample.knowledge == knowledge) return false;
  if (thread.vain_looks >= kMostVainLooks || now < thread.next_look) return false;
  thread.next_look = now + kFirstPause * (1 << thread.vain_looks);
  thread.vain_looks++;
  thread.is_looked_at_again = true;
  return true;
}

void StandingThreads::sampled(std::uint32_t tid, const WaitSample& sample) {
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return;
  Thread& thread = known->second;
  if (sample.frames > thread.most_frames) {
    thread.most_frames = sample.frames;
    thread.vain_looks = 0;
    thread.next_look = {};
  }
  thread.sample = sample;
  thread.is_sampled = true;
}

bool StandingThreads::confirm(std::uint32_t tid, const WaitPlace& place, std::uint64_t cpu) {
  const auto known = threads_.find(tid);
  if (known == threads_.end() || !known->second.is_sampled) return false;
  const WaitSample& sample = known->second.sample;
  // The kernel shows the address after the instruction. A call that ended by itself just before the signal is neither
  // restarted nor interrupted, and fails this check: the thread may have gone on to wait elsewhere.
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
