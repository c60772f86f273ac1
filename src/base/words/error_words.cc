#include <fmt/format.h>

#include <system_error>

#include "base/system/proc_mount.h"
#include "base/words/words.h"

namespace mixstack::words {
namespace {

/// The meaning of the number in an `Error`, as result.h documents it.
enum class Value { none, address, number, tid, version, reg };

struct Entry {
  ErrorCode code;
  std::string_view name;
  std::string_view words;
  Value value;
};

constexpr Entry kEntries[] = {
    {ErrorCode::none, "none", "no error", Value::none},
    {ErrorCode::unreadable_memory, "unreadable_memory", "memory that cannot be read", Value::address},
    {ErrorCode::truncated, "truncated", "a structure ends beyond what contains it", Value::address},
    {ErrorCode::malformed, "malformed", "malformed data", Value::address},
    {ErrorCode::limit_exceeded, "limit_exceeded", "a limit on data of the target was exceeded", Value::number},
    {ErrorCode::not_found, "not_found", "not found", Value::number},
    {ErrorCode::unsupported, "unsupported", "a kind this version does not know", Value::number},
    {ErrorCode::mismatch, "mismatch", "data that do not belong together", Value::address},
    {ErrorCode::io_error, "io_error", "input or output failed", Value::none},
    {ErrorCode::no_such_process, "no_such_process", "no such process", Value::none},
    {ErrorCode::no_such_thread, "no_such_thread", "the thread has gone", Value::none},
    {ErrorCode::permission_denied, "permission_denied", "not permitted", Value::none},
    {ErrorCode::already_traced, "already_traced", "another tracer is attached", Value::tid},
    {ErrorCode::thread_not_stopped, "thread_not_stopped", "did not stop in time", Value::none},
    {ErrorCode::unsupported_cpu, "unsupported_cpu", "a CPU that mixstack does not know", Value::none},
    {ErrorCode::process_changed, "process_changed", "exited or became another program meanwhile", Value::none},
    {ErrorCode::no_unwind_info, "no_unwind_info", "no unwind information", Value::address},
    {ErrorCode::register_unknown, "register_unknown", "a needed register is not known", Value::reg},
    {ErrorCode::stack_not_advancing, "stack_not_advancing", "the stack would not advance", Value::address},
    {ErrorCode::bad_return_address, "bad_return_address", "a return address that is not code", Value::address},
    {ErrorCode::runtime_not_found, "runtime_not_found", "no runtime found", Value::none},
    {ErrorCode::contract_unsupported, "contract_unsupported", "a contract version mixstack does not know",
     Value::version},
    {ErrorCode::field_unavailable, "field_unavailable", "the runtime does not describe a needed field", Value::none},
    {ErrorCode::invalid_argument, "invalid_argument", "invalid argument", Value::number},
    {ErrorCode::internal, "internal", "a fault inside mixstack", Value::number},
    {ErrorCode::cancelled, "cancelled", "the caller wanted no more", Value::number},
};

const Entry* entry(ErrorCode code) {
  for (const Entry& e : kEntries)
    if (e.code == code) return &e;
  return nullptr;
}

std::string value_words(Value kind, std::uint64_t value) {
  if (value == 0) return {};
  switch (kind) {
    case Value::none:
      return {};
    case Value::address:
      return fmt::format(" (0x{:x})", value);
    case Value::number:
      return value > 0xffff ? fmt::format(" (0x{:x})", value) : fmt::format(" ({})", value);
    case Value::tid:
      return fmt::format(" (thread {})", value);
    case Value::version:
      return fmt::format(" (version {})", value);
    case Value::reg:
      return fmt::format(" (register {})", value);
  }
  return {};
}

/// The kernel replaces a probed return address by that of the page "[uprobes]" at the end of the address space
/// (xol_add_vma in kernel/events/uprobes.c): x86-64, and ARM64 with 48 bits.
bool is_return_probe(std::uint64_t address) {
  constexpr std::uint64_t kPage = 4096;
  return address == 0x7ffffffff000 - kPage || address == 0x1000000000000 - kPage;
}

}  // namespace

std::string_view error_name(ErrorCode code) {
  const Entry* e = entry(code);
  return e != nullptr ? e->name : "unknown";
}

std::string error_words(const Error& error) {
  const Entry* e = entry(error.code);
  if (error.code == ErrorCode::thread_not_stopped && error.value == kWasRunning)
    return "it was running: without a stop only threads that wait can be looked at";
  if (is_kernel_task(error))
    return error.value == kIoWorker ? "worker of io_uring: a task of the kernel, which has no code of the program"
                                    : "a task of the kernel, which has no code of the program";
  if (error.code == ErrorCode::bad_return_address && is_return_probe(error.value))
    return fmt::format(
        "a return probe of the kernel (uretprobe) stands there, who called is in the kernel alone (0x{:x})",
        error.value);
  if (e == nullptr) return fmt::format("error {}", static_cast<unsigned>(error.code));
  if (error == base::other_pid_namespace_error())
    return "/proc belongs to another pid namespace: its numbers mean other processes (mount one of this namespace)";
  std::string text = fmt::format("{}{}", e->words, value_words(e->value, error.value));
  if (error.os_error != 0) text += ": " + std::generic_category().message(error.os_error);
  return text;
}

}  // namespace mixstack::words
