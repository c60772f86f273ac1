#include "process/debugger/tracee_group.h"

#include <algorithm>

namespace mixstack::process {

Tracee& TraceeGroup::add(ThreadId tid) {
  Tracee& t = tracees_[tid];
  t.tid = tid;
  t.held = all_held_;
  index_[tid] = &owner_;
  return t;
}

void TraceeGroup::remove(ThreadId tid) {
  index_.erase(tid);
  tracees_.erase(tid);
}

Tracee* TraceeGroup::find(ThreadId tid) {
  const auto found = tracees_.find(tid);
  return found == tracees_.end() ? nullptr : &found->second;
}

std::vector<ThreadId> TraceeGroup::ids() const {
  std::vector<ThreadId> tids;
  for (const auto& [tid, t] : tracees_) tids.push_back(tid);
  const auto main = std::find(tids.begin(), tids.end(), main_);
  if (main != tids.end()) std::rotate(tids.begin(), main, main + 1);
  return tids;
}

void TraceeGroup::hold_all() {
  all_held_ = true;
  for (auto& [tid, t] : tracees_) t.held = true;
}

void TraceeGroup::release_all() {
  all_held_ = false;
  for (auto& [tid, t] : tracees_) t.held = false;
}

void TraceeGroup::release(Tracee& t) { all_held_ = t.held = false; }

std::uint64_t TraceeGroup::add_guard(std::span<const ThreadId> tids) {
  guards_.push_back({++last_guard_, {tids.begin(), tids.end()}});
  std::sort(guards_.back().tids.begin(), guards_.back().tids.end());
  return last_guard_;
}

void TraceeGroup::remove_guard(std::uint64_t id) {
  std::erase_if(guards_, [&](const Guard& g) { return g.id == id; });
}

bool TraceeGroup::is_held(const Tracee& t, std::uint64_t guard) const {
  return (guard == 0 && t.held) || std::any_of(guards_.begin(), guards_.end(), [&](const Guard& g) {
           if (guard != 0 && g.id != guard) return false;
           return g.tids.empty() || std::binary_search(g.tids.begin(), g.tids.end(), t.tid);
         });
}

Wish TraceeGroup::wish_for(const Tracee& t) const {
  if (leaving_) return Wish::leave;
  return is_held(t) ? Wish::stand_still : Wish::run;
}

bool TraceeGroup::is_still() const {
  return std::all_of(tracees_.begin(), tracees_.end(), [](const auto& entry) { return entry.second.is_still(); });
}

ThreadId TraceeGroup::straggler(std::uint64_t guard) const {
  for (const auto& [tid, t] : tracees_)
    if (!t.is_still() && is_held(t, guard)) return tid;
  return 0;
}

bool TraceeGroup::has_free() const {
  return std::any_of(tracees_.begin(), tracees_.end(), [](const auto& entry) {
    return !entry.second.held && entry.second.state != Tracee::State::ended;
  });
}

bool TraceeGroup::has_left() const {
  return std::all_of(tracees_.begin(), tracees_.end(),
                     [](const auto& entry) { return entry.second.state == Tracee::State::ended; });
}

void TraceeGroup::interrupt_wanted() const {
  for (const auto& [tid, t] : tracees_)
    if (!t.is_still() && is_held(t)) ptrace_interrupt(tid);
}

void TraceeGroup::interrupt_all() const {
  for (const auto& [tid, t] : tracees_)
    if (!t.is_still()) ptrace_interrupt(tid);
}

/// Where the kernel refuses, the thread is being killed: its end will be reported.
void TraceeGroup::carry_out(Tracee& t, Tracee::Action action) {
  using Action = Tracee::Action;
  if (action == Action::none) return;
  if (action == Action::detach && ptrace_detach(t.tid, t.signal)) return remove(t.tid);
  if (action == Action::listen && ptrace_listen(t.tid)) return t.goes_on(Tracee::State::listening);
  if (action == Action::deliver) ptrace_interrupt(t.tid);
  if (action != Action::detach) (void)ptrace_continue(t.tid, t.signal);
  t.goes_on(Tracee::State::running);
}

void TraceeGroup::settle_all() {
  // The main thread first: if a released thread calls exec while the main thread is still ours, that vanishes
  // unreported.
  for (const ThreadId tid : ids())
    if (Tracee* const t = find(tid); t != nullptr) settle(*t);
}

}  // namespace mixstack::process
