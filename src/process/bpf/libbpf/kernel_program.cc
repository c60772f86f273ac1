#include "process/bpf/libbpf/kernel_program.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

extern "C" const char mixstack_bpf_object_begin[], mixstack_bpf_object_end[];

namespace mixstack::bpf {
namespace {

/// An errno of libbpf or of the kernel as our error.
tl::unexpected<Error> failure(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return fail(ErrorCode::permission_denied, 0, error);
    case ENOMEM:
    case ENOSPC:
      return fail(ErrorCode::limit_exceeded, 0, error);
    case ESRCH:  // of the kernel: no type of that name; of an iterator: no process
    case ENOENT:
    case EINVAL:
    case ENOTSUP:
    case ENOSYS:
      return fail(ErrorCode::unsupported, 0, error);
    default:
      return fail(ErrorCode::io_error, 0, error);
  }
}

std::size_t records_size(const mixstack_settings& settings) {
  constexpr std::size_t kPage = 4096;
  const std::size_t size =
      settings.room + MIXSTACK_SPARE_ROOM + sizeof(mixstack_record) + settings.kernel_bytes + settings.stack_bytes;
  return (size + kPage - 1) / kPage * kPage;
}

/// Maps the memory of one of the object's maps; empty if it cannot.
std::span<std::byte> map_memory(int fd, int protection, std::size_t size) {
  void* mapped = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? std::span<std::byte>() : std::span(static_cast<std::byte*>(mapped), size);
}

}  // namespace

KernelProgram::~KernelProgram() {
  for (const auto memory : {control_, records_})
    if (!memory.empty()) ::munmap(memory.data(), memory.size());
}

/// `can_iterate`: also load the program that iterates over tasks itself (Linux 6.7 on).
Result<void> KernelProgram::open(const mixstack_settings& settings, bool can_iterate) {
  libbpf_set_print(nullptr);  // we report errors ourselves
  const auto size = static_cast<std::size_t>(mixstack_bpf_object_end - mixstack_bpf_object_begin);
  object_.reset(bpf_object__open_mem(mixstack_bpf_object_begin, size, nullptr));
  if (object_ == nullptr) return failure(errno);
  bpf_program* moved = bpf_object__find_program_by_name(object_.get(), "look_at_moved");
  if (moved == nullptr || bpf_program__set_autoload(moved, can_iterate) != 0) return fail(ErrorCode::internal);
  bpf_map* constants = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (constants == nullptr || bpf_map__set_initial_value(constants, &settings, sizeof settings) != 0)
    return fail(ErrorCode::internal);
  bpf_map* records = bpf_object__find_map_by_name(object_.get(), "records");
  if (records == nullptr) return fail(ErrorCode::internal);
  const std::size_t room = records_size(settings);
  if (const int error = bpf_map__set_value_size(records, static_cast<std::uint32_t>(room)); error != 0)
    return failure(-error);
  if (const int error = bpf_object__load(object_.get()); error != 0) return failure(-error);
  bpf_map* control = bpf_object__find_map_by_name(object_.get(), ".bss");
  if (control == nullptr) return fail(ErrorCode::internal);
  control_ = map_memory(bpf_map__fd(control), PROT_READ | PROT_WRITE, sizeof(mixstack_control));
  records_ = map_memory(bpf_map__fd(records), PROT_READ, room);
  if (control_.empty() || records_.empty()) return fail(ErrorCode::limit_exceeded, 0, ENOMEM);
  if (can_iterate) moved_program_ = bpf_program__fd(moved);
  return {};
}

Result<void> KernelProgram::attach(std::uint32_t pid) {
  const bpf_program* program = bpf_object__find_program_by_name(object_.get(), "look_at_task");
  if (program == nullptr) return fail(ErrorCode::internal);
  bpf_iter_link_info of_process{};
  of_process.task.pid = pid;
  LIBBPF_OPTS(bpf_iter_attach_opts, options);
  options.link_info = &of_process;
  options.link_info_len = sizeof of_process;
  link_.reset(bpf_program__attach_iter(program, &options));
  // Before Linux 6.1 an iterator goes over all tasks of the machine; the program asks for the process anyway.
  if (link_ == nullptr && (errno == E2BIG || errno == EINVAL)) link_.reset(bpf_program__attach_iter(program, nullptr));
  if (link_ == nullptr) return errno == ESRCH ? Result<void>(fail(ErrorCode::no_such_process, pid)) : failure(errno);
  return {};
}

Result<std::unique_ptr<KernelProgram>> KernelProgram::load(const mixstack_settings& settings) {
  std::unique_ptr<KernelProgram> program(new KernelProgram);
  if (!program->open(settings, true)) {
    program.reset(new KernelProgram);
    if (auto opened = program->open(settings, false); !opened) return fail(opened.error());
  }
  if (auto attached = program->attach(settings.pid); !attached) return fail(attached.error());
  return program;
}

mixstack_control& KernelProgram::begin_round() {
  auto& control = *reinterpret_cast<mixstack_control*>(control_.data());
  const auto now = std::chrono::steady_clock::now();
  const bool is_minute_over = now - minute_began_ >= std::chrono::minutes(1);
  if (is_minute_over) minute_began_ = now;
  mixstack_control next{};
  next.copies = 1;
  next.born = control.born;
  next.leader = control.leader;
  next.known = control.known;
  next.grown = is_minute_over ? 0 : control.grown;
  control = next;
  return control;
}

std::optional<std::span<const std::byte>> KernelProgram::run_for_moved() {
  if (rounds_of_all_ > 0) rounds_of_all_--;
  const auto& last = *reinterpret_cast<const mixstack_control*>(control_.data());
  const bool is_of_use = rounds_of_all_ == 0 && last.leader != 0 && last.known != 0 && last.known < MIXSTACK_MOST_SEEN;
  if (moved_program_ < 0 || !is_of_use) return std::nullopt;
  const mixstack_control& control = begin_round();
  if (!run_program() || control.are_others != 0) {
    rounds_of_all_ = kRoundsOfAll;
    return std::nullopt;
  }
  return records_.first(std::min<std::size_t>(control.used, records_.size()));
}

bool KernelProgram::run_program() {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  if (bpf_prog_test_run_opts(moved_program_, &options) == 0) return true;
  moved_program_ = -1;
  return false;
}

std::span<const std::byte> KernelProgram::run_for_more() {
  auto& control = *reinterpret_cast<mixstack_control*>(control_.data());
  // A run reports a part, or all the rest; a thread that has ended is left out.
  while (moved_program_ >= 0 && control.told < control.moved) {
    control.used = 0;
    if (!run_program()) break;
    if (control.used != 0) return records_.first(std::min<std::size_t>(control.used, records_.size()));
  }
  return {};
}

Result<std::span<const std::byte>> KernelProgram::run(bool copies) {
  mixstack_control& control = begin_round();
  control.copies = copies ? 1 : 0;
  control.known = 0;
  const base::ScopedFd round(bpf_iter_create(bpf_link__fd(link_.get())));
  if (round.get() < 0) return errno == ESRCH ? fail(ErrorCode::no_such_process, 0, errno) : failure(errno);
  for (;;) {
    char nothing = 0;  // the program answers through its memory
    const ssize_t n = ::read(round.get(), &nothing, sizeof nothing);
    if (n == 0) break;
    if (n < 0 && errno == ESRCH) return fail(ErrorCode::no_such_process, 0, errno);
    // EAGAIN: many tasks were not the process's, and the kernel pauses (bpf_seq_read in kernel/bpf).
    if (n < 0 && errno != EINTR && errno != EAGAIN) return failure(errno);
  }
  if (control.untold != 0) return fail(ErrorCode::limit_exceeded, control.untold);
  if (copies) control.known = control.position;
  return records_.first(std::min<std::size_t>(control.used, records_.size()));
}

}  // namespace mixstack::bpf
