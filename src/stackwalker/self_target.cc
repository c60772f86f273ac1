#include "stackwalker/self_target.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "memory/process_memory.h"
#include "stackwalker/context_registers.h"
#include "stackwalker/root_copy.h"
#include "target/live/file_access.h"
#include "target/live/process_info.h"
#include "target/memory_map.h"

namespace mixstack::stackwalker {
namespace {

constexpr std::size_t kMaxMapText = 64 << 20;

ThreadId own_tid() { return static_cast<ThreadId>(::syscall(SYS_gettid)); }

class SelfTarget final : public Target {
 public:
  SelfTarget(target::ProcDir proc, TargetInfo info)
      : proc_(std::move(proc)), info_(std::move(info)), memory_(info_.pid) {}

  [[nodiscard]] const TargetInfo& info() const override { return info_; }
  [[nodiscard]] const MemoryReader& memory() const override { return memory_; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return std::vector<ThreadId>{own_tid()}; }
  [[nodiscard]] Result<std::vector<Region>> regions() const override {
    auto text = proc_.read("maps", kMaxMapText);
    if (!text) return fail(text.error());
    return target::parse_memory_map(*text);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override {
    return target::open_mapped_file(proc_, region);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    return target::open_target_path(proc_, path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override;

 private:
  target::ProcDir proc_;
  TargetInfo info_;
  memory::ProcessMemory memory_;
};

Result<Capture> SelfTarget::capture(const CaptureRequest& request) {
  const ThreadId self = own_tid();
  for (const ThreadId tid : request.threads)
    if (tid != self) return fail(ErrorCode::unsupported, tid);
  auto mapped = regions();
  if (!mapped) return fail(mapped.error());

  Capture capture;
  capture.arch = info_.arch;
  capture.consistency = Consistency::not_stopped;
  ThreadCapture& thread = capture.threads.emplace_back();
  thread.tid = self;
  thread.ns_tid = proc_.namespace_tid(self);
  thread.kernel_state = 'R';
  thread.captured = true;
  ucontext_t context;
  if (::getcontext(&context) != 0) return fail(ErrorCode::internal, 0, errno);
  thread.registers = registers_of(context);
  // This frame and all outer ones do not change until we return.
  const Address sp = thread.registers.sp();
  const Region* stack = target::find_region(*mapped, sp);
  if (stack == nullptr) return fail(ErrorCode::unreadable_memory, sp);
  const std::size_t size = std::min<std::uint64_t>(stack->range.end - sp, request.stack_byte_budget);
  thread.stack_truncated = size < stack->range.end - sp;
  auto bytes = std::make_unique<std::byte[]>(size);
  auto copied = memory_.read_some(sp, {bytes.get(), size});
  if (!copied) return fail(copied.error());
  thread.stack = {sp, {bytes.get(), *copied}};
  capture.storage.push_back(std::move(bytes));
  copy_roots(memory_, request.roots, capture);
  return capture;
}

}  // namespace

Result<std::unique_ptr<Target>> open_self_target() {
  auto proc = target::ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  if (!proc) return fail(proc.error());
  auto info = target::read_process_info(*proc);
  if (!info) return fail(info.error());
  return std::make_unique<SelfTarget>(std::move(*proc), std::move(*info));
}

}  // namespace mixstack::stackwalker
