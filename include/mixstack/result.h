// Result<T>: how every function of mixstack that can fail reports it. No exceptions cross a public API.
#pragma once

#include <cstdint>
#include <tl/expected.hpp>

namespace mixstack {

/// The cause of a failure. `report.h` makes text from it; see docs/stop-reasons.md.
enum class ErrorCode : std::uint16_t {
  none = 0,
  // reading
  unreadable_memory,  ///< the bytes are not mapped or not held by this source; `value` is the address
  truncated,          ///< a structure ends beyond its container
  malformed,          ///< bytes that contradict their format
  limit_exceeded,     ///< a bound on hostile data was hit
  not_found,          ///< the thing asked for does not exist; not a failure of the format
  unsupported,        ///< well-formed, but a kind this version does not know
  mismatch,           ///< build id, MVID, magic or back pointer differ
  io_error,           ///< `os_error` says which
  // processes
  no_such_process,
  no_such_thread,
  permission_denied,
  already_traced,      ///< `value` is the tracer's tid
  thread_not_stopped,  ///< did not stop before the deadline
  unsupported_cpu,
  process_changed,  ///< exec, exit or fork meanwhile
  // unwinding
  no_unwind_info,
  register_unknown,  ///< a rule needs a register whose value is unknown; `value` is its number
  stack_not_advancing,
  bad_return_address,
  // runtimes
  runtime_not_found,
  contract_unsupported,  ///< `value` is the version found
  field_unavailable,
  invalid_argument,
  internal,
  cancelled,  ///< the caller wanted no more
};

/// A failure as plain integers: cheap, and signal-safe.
struct Error {
  ErrorCode code = ErrorCode::none;
  int os_error = 0;         ///< errno of the system call that failed, or 0
  std::uint64_t value = 0;  ///< as `code` documents: an address, a number, a size; else 0
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::truncated, address);`
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::uint64_t value = 0, int os_error = 0) {
  return tl::unexpected<Error>(Error{code, os_error, value});
}
[[nodiscard]] inline tl::unexpected<Error> fail(const Error& e) { return tl::unexpected<Error>(e); }

}  // namespace mixstack
