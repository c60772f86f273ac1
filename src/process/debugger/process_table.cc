#include "process/debugger/process_table.h"

#include <algorithm>

namespace mixstack::process {

ProcessPointer ProcessTable::add(std::uint32_t pid, std::shared_ptr<Program> program, const DebugOptions& options) {
  auto process = std::make_shared<TracedProcess>(pid, std::move(program), options, events_, index_);
  process->handle = make_handle_(process);
  processes_[pid] = process;
  publish_count();
  return process;
}

ProcessPointer ProcessTable::find(std::uint32_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : found->second;
}

TracedProcess* ProcessTable::process_of(ThreadId tid) const {
  const auto found = index_.find(tid);
  return found == index_.end() ? nullptr : found->second;
}

std::vector<ProcessPointer> ProcessTable::all() const {
  std::vector<ProcessPointer> out;
  for (const auto& [pid, process] : processes_) out.push_back(process);
  return out;
}

void ProcessTable::publish_count() {
  const auto is_debugged = [](const auto& entry) { return !entry.second->threads.is_leaving(); };
  events_.set_sources(static_cast<std::size_t>(std::count_if(processes_.begin(), processes_.end(), is_debugged)));
}

void ProcessTable::leave(TracedProcess& process) {
  process.threads.leave();
  process.status.set_detached();
  process.publish();
  process.handle.reset();
  publish_count();
  process.threads.settle_all();
  remove_if_left(process);
}

void ProcessTable::remove_if_left(TracedProcess& process) {
  if (!process.threads.is_leaving() || !process.threads.has_left()) return;
  for (const ThreadId tid : process.threads.ids()) process.threads.remove(tid);
  remove(process);
}

void ProcessTable::look_after_leaving() {
  for (const auto& process : all()) {
    if (!process->threads.is_leaving()) continue;
    for (const ThreadId tid : process->threads.ids())
      if (!process->is_ours(tid)) process->threads.remove(tid);
    remove_if_left(*process);
  }
}

bool ProcessTable::has_leaving() const {
  const auto is_leaving = [](const auto& entry) { return entry.second->threads.is_leaving(); };
  return std::any_of(processes_.begin(), processes_.end(), is_leaving);
}

void ProcessTable::remove(TracedProcess& process) {
  process.handle.reset();
  const auto found = processes_.find(process.pid);
  if (found == processes_.end() || found->second.get() != &process) return;
  removed_.push_back(std::move(found->second));
  processes_.erase(found);
  publish_count();
}

void ProcessTable::forget_all() {
  for (const auto& [pid, process] : processes_) {
    process->status.set_detached();
    process->handle.reset();
  }
  processes_.clear();
  removed_.clear();
  index_.clear();
}

void Strays::release_early(Clock::time_point before) {
  std::erase_if(early, [&](const auto& entry) {
    if (entry.second > before) return false;
    (void)ptrace_detach(entry.first);
    return true;
  });
}

}  // namespace mixstack::process
