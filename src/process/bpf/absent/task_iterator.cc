// For builds without libbpf or without a compiler for BPF: every call is `unsupported`.
#include "process/bpf/task_iterator.h"

namespace mixstack::bpf {

struct TaskIterator::Implementation {};

TaskIterator::TaskIterator(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
TaskIterator::TaskIterator(TaskIterator&&) noexcept = default;
TaskIterator& TaskIterator::operator=(TaskIterator&&) noexcept = default;
TaskIterator::~TaskIterator() = default;

Result<TaskIterator> TaskIterator::open(std::uint32_t /*pid*/, const IteratorOptions& /*options*/) {
  return fail(ErrorCode::unsupported);
}
Result<std::span<const ThreadState>> TaskIterator::read() { return fail(ErrorCode::unsupported); }
Result<TaskIterator::Moved> TaskIterator::read_moved() { return fail(ErrorCode::unsupported); }
Result<std::span<const ThreadState>> TaskIterator::read_more() { return fail(ErrorCode::unsupported); }
Result<std::span<const ThreadState>> TaskIterator::check() { return fail(ErrorCode::unsupported); }

bool is_built_in() { return false; }

}  // namespace mixstack::bpf
