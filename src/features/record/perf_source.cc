#include "features/record/perf_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "features/record/target_state.h"

namespace mixstack::record {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A program that does something every 10 ms of its CPU time would always be sampled at the same point of its cycle at
/// 100 Hz. So we ask for somewhat more samples, which makes the points move on, and drop as many again by chance.
std::uint32_t asked_hertz(std::uint32_t hertz) { return hertz + std::max(1u, (hertz * 4 + 50) / 100); }

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

PerfSource::PerfSource(std::uint32_t pid, base::ScopedFd folder, Arch arch, const PerfSourceOptions& options,
                       perf::PerfSampler sampler)
    : pid_(pid), folder_(std::move(folder)), arch_(arch), options_(options), sampler_(std::move(sampler)), ends_(pid) {}

Result<std::unique_ptr<PerfSource>> PerfSource::open(std::uint32_t pid, Arch arch, const PerfSourceOptions& options) {
  perf::PerfOptions wanted;
  wanted.sampled = options.sampled;
  wanted.period = options.period;
  wanted.hertz = asked_hertz(options.hertz);
  wanted.kernel = options.kernel;
  wanted.tracepoint = options.tracepoint;
  wanted.filter = options.filter;
  wanted.addresses = options.memory && options.sampled == perf::Sampled::page_faults;
  // Stacks during exception dispatch hold contexts: 17 to 25 KiB.
  wanted.stack_bytes = 32 << 10;
  base::ScopedFd folder(::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT) return fail(ErrorCode::no_such_process, pid);
  if (!folder) return fail(ErrorCode::limit_exceeded, 0, errno);
  auto sampler = perf::PerfSampler::open(pid, arch, wanted);
  if (!sampler) return fail(sampler.error());
  std::unique_ptr<PerfSource> source(new PerfSource(pid, std::move(folder), arch, options, std::move(*sampler)));
  source->sampler_.start();
  return source;
}

void PerfSource::sample(const perf::PerfSample& sample) {
  if (sample.pid != pid_ || sample.time_ns < begin_ns_) return;
  const std::uint32_t asked = asked_hertz(options_.hertz);
  const bool is_of_bytes = options_.clock == SampleClock::bytes;  // by period: none may be left out
  if (!is_of_bytes && std::uniform_int_distribution<std::uint32_t>(1, asked)(random_) > options_.hertz) return;
  if (!sample.has_user) {
    without_user_++;
    return;
  }
  auto known = names_.find(sample.tid);
  if (known == names_.end()) known = names_.emplace(sample.tid, name_of_thread(pid_, sample.tid)).first;
  const auto stack = sample.stack.first(ends_.fit(sample.tid, sample.stack_base, sample.stack.size()));
  ThreadCapture thread;
  thread.tid = thread.ns_tid = sample.tid;
  thread.comm = known->second;
  thread.kernel_state = 'R';
  thread.captured = true;
  thread.registers = sample.user;
  thread.stack = {sample.stack_base, stacks_.keep(batch_.capture, stack)};
  thread.stack_truncated = sample.stack_truncated;
  batch_.threads.push_back(std::move(thread));
  batch_.samples.push_back(
      {sample.time_ns, options_.clock, Activity::running, {sample.kernel_chain.begin(), sample.kernel_chain.end()}});
  if (options_.memory) {
    batch_.samples.back().memory = sample.raw.empty() ? touched_page(sample.address, page_bytes())
                                                      : memory_call(sample.raw, sample.user, page_bytes());
    if (batch_.samples.back().memory) batch_.samples.back().memory->time_ns = sample.time_ns;
  }
  if (options_.sampled == perf::Sampled::tracepoint) return;
  if (is_of_bytes) batch_.samples.back().weight = static_cast<std::uint32_t>(options_.period * page_bytes());
}

void PerfSource::notice(const perf::PerfNotice& notice) {
  using Kind = perf::PerfNotice::Kind;
  if (notice.pid != pid_) return;
  if (notice.kind == Kind::thread_ended) {
    batch_.ended.push_back(notice.tid);
    names_.erase(notice.tid);
    ends_.forget(notice.tid);
  }
  if (notice.kind == Kind::renamed) names_[notice.tid] = notice.text.substr(0, 64);
  if (notice.kind == Kind::executed) has_executed_ = true;
  if (notice.kind == Kind::mapped)
    batch_.mapped.push_back({notice.time_ns, notice.range, notice.inode, notice.file_offset});
}

Result<SampleBatch> PerfSource::drain() {
  batch_ = {};
  stacks_.begin();
  batch_.capture.arch = arch_;
  batch_.capture.consistency = Consistency::not_stopped;
  const std::uint64_t now = monotonic_ns();
  const bool is_all = sampler_.drain(*this, kMostInBatch) < kMostInBatch;
  if (!batch_.samples.empty() || !batch_.mapped.empty()) told_ns_ = now;
  // Rounds of waiting threads may need it at any time; samples of CPU time only soon after they came.
  const bool is_asked = options_.clock == SampleClock::wall || now - told_ns_ < kSecond / 4;
  if (is_all && is_asked && tells_mappings()) batch_.mapped_until_ns = now - perf::kSettleNs;
  ends_.look(now);
  if (now - looked_ns_ > kSecond / 5) {
    looked_ns_ = now;
    if (sampler_.following() == perf::Following::by_proc) (void)sampler_.follow_threads();
  }
  return std::move(batch_);
}

Result<SampleBatch> PerfSource::next(const std::stop_token& stop) {
  if (has_executed_) return fail(ErrorCode::process_changed);
  // Rings wake us when they are mostly full. A timeout takes slow samples out sooner, since the code that they were in
  // may be freed meanwhile.
  if (!stop.stop_requested()) sampler_.wait(std::chrono::milliseconds(25));
  auto batch = drain();
  if (batch && batch->samples.empty() && has_ended(folder_)) return fail(ErrorCode::no_such_process);
  return batch;
}

SourceAccount PerfSource::account() const {
  SourceAccount account;
  account.lost_in_kernel = sampler_.lost() + sampler_.unreadable() + without_user_;
  account.short_buffer = sampler_.short_ring_bytes();
  return account;
}

std::string PerfSource::words() const { return "perf events (" + sampler_.what() + ")"; }

}  // namespace mixstack::record
