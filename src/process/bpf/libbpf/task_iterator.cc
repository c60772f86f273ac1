#include "process/bpf/task_iterator.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "process/bpf/kernel_state.h"
#include "process/bpf/libbpf/kernel_program.h"
#include "process/bpf/record.h"
#include "process/live/stack_plan.h"

namespace mixstack::bpf {
namespace {

constexpr std::uint32_t kMostStack = 1 << 20;
constexpr std::uint32_t kMostKernelFrames = 127;  // kernel.perf_event_max_stack, as it usually is
constexpr std::size_t kMostRoom = 256 << 20;
constexpr std::size_t kHeadSize = offsetof(mixstack_record, stack_base);

Look look_of(const mixstack_record& record, bool copies) {
  if ((record.flags & MIXSTACK_ENDING) != 0) return Look::ending;
  if ((record.flags & MIXSTACK_TORN) != 0) return Look::torn;
  if ((record.flags & MIXSTACK_ON_CPU) != 0) return Look::on_cpu;
  if ((record.flags & MIXSTACK_UNCHANGED) != 0) return Look::unchanged;
  if (!copies) return Look::stale;
  return (record.flags & MIXSTACK_REGISTERS) != 0 ? Look::fresh : Look::no_room;
}

}  // namespace

struct TaskIterator::Implementation {
  std::unique_ptr<KernelProgram> program;
  std::vector<ThreadState> threads;
  std::size_t kernel_bytes = 0;

  [[nodiscard]] Result<std::span<const ThreadState>> round(bool copies);
  [[nodiscard]] Result<void> parse(std::span<const std::byte> records, bool copies);
  void add(const mixstack_record& head, std::span<const std::byte> bytes, bool copies);
};

TaskIterator::TaskIterator(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
TaskIterator::TaskIterator(TaskIterator&&) noexcept = default;
TaskIterator& TaskIterator::operator=(TaskIterator&&) noexcept = default;
TaskIterator::~TaskIterator() = default;

Result<TaskIterator> TaskIterator::open(std::uint32_t pid, const IteratorOptions& options) {
  if (pid == 0 || options.stack_bytes > kMostStack || options.room > kMostRoom ||
      options.kernel_frames > kMostKernelFrames)
    return fail(ErrorCode::invalid_argument, pid);
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return fail(ErrorCode::no_such_process, pid);
  auto implementation = std::make_unique<Implementation>();
  auto program = KernelProgram::load({options.room, pid, options.stack_bytes, static_cast<unsigned>(process::kRedZone),
                                      options.kernel_frames * static_cast<unsigned>(sizeof(Address)),
                                      options.leaves_displaced ? 1u : 0u});
  if (!program) return fail(program.error());
  implementation->program = std::move(*program);
  implementation->kernel_bytes = options.kernel_frames * sizeof(Address);
  return TaskIterator(std::move(implementation));
}

/// `bytes`: all of the record, of which `head` is the part that is always there.
void TaskIterator::Implementation::add(const mixstack_record& head, std::span<const std::byte> bytes, bool copies) {
  ThreadState& thread = threads.emplace_back();
  thread.tid = head.tid;
  thread.ns_tid = head.ns_tid;
  thread.look = look_of(head, copies);
  thread.kernel_state = state_letter(head.state, head.exit_state);
  thread.voluntary_switches = head.voluntary_switches;
  thread.involuntary_switches = head.involuntary_switches;
  thread.run_time = std::chrono::nanoseconds(head.run_time);
  if (thread.look != Look::fresh || bytes.size() < sizeof(mixstack_record) + kernel_bytes) return;
  const auto& full = *reinterpret_cast<const mixstack_record*>(bytes.data());
  thread.register_bytes = std::as_bytes(std::span(full.registers));
  thread.thread_pointer = full.thread_pointer;
  thread.system_call = full.system_call;
  thread.comm = {full.comm, ::strnlen(full.comm, sizeof full.comm)};
  thread.kernel = {reinterpret_cast<const Address*>(bytes.data() + sizeof(mixstack_record)),
                   std::min<std::size_t>(full.kernel_size, kernel_bytes) / sizeof(Address)};
  const std::span<const std::byte> stack = bytes.subspan(sizeof(mixstack_record) + kernel_bytes);
  thread.stack = {full.stack_base, stack.first(std::min<std::size_t>(head.stack_size, stack.size()))};
  if ((head.flags & (MIXSTACK_NO_STACK | MIXSTACK_NOT_COPIED)) != 0)
    thread.stack_error = {ErrorCode::unreadable_memory, head.error, 0};
}

Result<void> TaskIterator::Implementation::parse(std::span<const std::byte> records, bool copies) {
  threads.clear();
  for (std::span<const std::byte> rest = records; rest.size() >= kHeadSize;) {
    mixstack_record head{};
    std::memcpy(&head, rest.data(), kHeadSize);
    if (head.size < kHeadSize || head.size > rest.size()) return fail(ErrorCode::malformed);
    add(head, rest.first(head.size), copies);
    rest = rest.subspan(head.size);
  }
  return {};
}

Result<std::span<const ThreadState>> TaskIterator::Implementation::round(bool copies) {
  const auto all = program->run(copies);
  if (!all) return fail(all.error());
  if (auto parsed = parse(*all, copies); !parsed) return fail(parsed.error());
  if (threads.empty()) return fail(ErrorCode::no_such_process);
  return std::span<const ThreadState>(threads);
}

Result<std::span<const ThreadState>> TaskIterator::read() { return implementation_->round(true); }
Result<TaskIterator::Moved> TaskIterator::read_moved() {
  if (const auto moved = implementation_->program->run_for_moved()) {
    if (auto parsed = implementation_->parse(*moved, true); !parsed) return fail(parsed.error());
    return Moved{implementation_->threads, false};
  }
  const auto all = read();
  if (!all) return fail(all.error());
  return Moved{*all, true};
}
Result<std::span<const ThreadState>> TaskIterator::read_more() {
  if (auto parsed = implementation_->parse(implementation_->program->run_for_more(), true); !parsed)
    return fail(parsed.error());
  return std::span<const ThreadState>(implementation_->threads);
}
Result<std::span<const ThreadState>> TaskIterator::check() { return implementation_->round(false); }

bool is_built_in() { return true; }

}  // namespace mixstack::bpf
