#include "process/perf/exec_watch.h"

#include <algorithm>
#include <utility>

namespace mixstack::perf {

void ExecCounter::count(std::string_view path) {
  constexpr std::string_view kOthers = "others";
  auto at = programs_.find(path);
  if (at == programs_.end()) at = programs_.emplace(programs_.size() < kMostPrograms ? path : kOthers, 0).first;
  at->second++;
}

void ExecCounter::notice(const PerfNotice& notice) {
  using Kind = PerfNotice::Kind;
  if (notice.kind == Kind::thread_began && notice.parent_pid == pid_ && notice.pid != pid_) children_++;
  if (notice.pid == pid_) return;
  const auto waiting = waiting_.find(notice.pid);
  if (notice.kind == Kind::executed) {
    if (waiting != waiting_.end()) count(waiting->second);
    if (waiting_.size() < kMostWaiting || waiting != waiting_.end())
      waiting_[notice.pid] = notice.text;
    else
      count(notice.text);
    return;
  }
  if (waiting == waiting_.end()) return;
  const bool is_its_end = notice.kind == Kind::thread_ended && notice.tid == notice.pid;
  if (notice.kind != Kind::mapped && !is_its_end) return;
  // The program's own code is mapped before that of the loader and of libraries.
  count(notice.kind == Kind::mapped && notice.text.starts_with('/') ? notice.text : waiting->second);
  waiting_.erase(waiting);
}

std::vector<StartedProgram> ExecCounter::programs() const {
  auto all = programs_;
  for (const auto& [pid, name] : waiting_) all[name]++;
  std::vector<StartedProgram> list;
  list.reserve(all.size());
  for (const auto& [path, times] : all) list.push_back({path, times});
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  if (list.size() > kMostPrograms) list.resize(kMostPrograms);
  return list;
}

Result<ExecWatch> ExecWatch::open(std::uint32_t pid, Arch arch) {
  PerfOptions options;
  options.sampled = Sampled::nothing;
  options.stack_bytes = 0;
  options.inherit_children = true;
  auto sampler = PerfSampler::open(pid, arch, options);
  if (!sampler) return fail(sampler.error());
  if (sampler->following() != Following::by_events) return fail(ErrorCode::limit_exceeded);
  ExecWatch watch(pid, std::move(*sampler));
  watch.sampler_.start();
  watch.began_ = std::chrono::steady_clock::now();
  return watch;
}

void ExecWatch::stop() {
  sampler_.stop();
  time_ = std::chrono::steady_clock::now() - began_;
  (void)sampler_.drain(counter_, kMostRecords, PerfSampler::Until::empty);
}

}  // namespace mixstack::perf
