#include "output/report/core_errors.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/words/pack_fault.h"
#include "mixstack/report.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

// e_type, System V gABI.
constexpr std::uint64_t kRelocatable = 1, kExecutable = 2, kShared = 3;

std::string_view type_words(std::uint64_t type) {
  switch (type) {
    case kRelocatable:
      return "an object file";
    case kExecutable:
    case kShared:
      return "a program or library";
    default:
      return "an ELF file of another kind";
  }
}

std::string cpu_text(std::uint64_t machine) {
  // e_machine of CPUs that .NET or Linux run on; 62 and 183 come here as 32-bit or big-endian files only.
  if (machine == 3 || machine == 40 || machine == 62)
    return "is the core of a 32-bit process; mixstack walks 64-bit ones only";
  return fmt::format("is the core of a CPU that mixstack does not know (e_machine {}); it knows x86-64 and AArch64",
                     machine);
}

}  // namespace

std::string_view core_problem_name(const Error& error) {
  if (const auto fault = words::pack_fault_of(error)) return words::name_of(*fault);
  switch (error.code) {
    case ErrorCode::malformed:
      return "no_core";
    case ErrorCode::unsupported:
      return error.value == 0 ? "no_file" : "other_elf";
    case ErrorCode::unsupported_cpu:
      return "unsupported_cpu";
    case ErrorCode::truncated:
      return "cut";
    case ErrorCode::limit_exceeded:
      return error.os_error != 0 ? "no_room_to_unpack" : "too_large";
    case ErrorCode::io_error:
      return error.os_error == EBADMSG ? "damaged" : error.os_error == ETIMEDOUT ? "no_writer" : "io_error";
    default:
      return to_string(error.code);
  }
}

std::string core_problem_text(const Error& error, const std::string& path) {
  const std::string who = path == "-" ? "standard input" : escape_for_terminal(path);
  const std::string system = error.os_error != 0 ? std::generic_category().message(error.os_error) : error_words(error);
  if (const auto fault = words::pack_fault_of(error))
    return fmt::format("{} is a pack that cannot be used: {}.\n  Ask for it again, or for another way to send it.\n",
                       who, words::words_of(*fault));
  switch (error.code) {
    case ErrorCode::malformed:
      return fmt::format(
          "{} is no core file: it does not begin as an ELF file does.\n"
          "  Compressed cores (.zst, .gz, .lz4, .xz) are read as they are. Windows minidumps are not known.\n",
          who);
    case ErrorCode::unsupported:
      if (error.value == 0) return fmt::format("{}: no regular file or pipe.\n", who);
      return fmt::format("{} is {}, no core file.\n", who, type_words(error.value));
    case ErrorCode::unsupported_cpu:
      return fmt::format("{} {}.\n", who, cpu_text(error.value));
    case ErrorCode::truncated:
      return fmt::format(
          "{} ends within its headers: nothing of the process is left in it.\n"
          "  The disk was full, the limit on core files (ulimit -c) was reached, or a copy ended early.\n",
          who);
    case ErrorCode::limit_exceeded:
      if (error.os_error != 0)
        return fmt::format(
            "{} has to be unpacked into a temporary file, which failed: {}.\n"
            "  Set TMPDIR to a folder with room for the whole core.\n",
            who, system);
      return fmt::format(
          "{} cannot be unpacked within the limits on memory and size.\n"
          "  Unpack it yourself and pass the result.\n",
          who);
    case ErrorCode::io_error:
      if (error.os_error == EBADMSG)
        return fmt::format("{} is compressed, and damaged before anything of a core could be had.\n", who);
      if (error.os_error == ETIMEDOUT)
        return fmt::format("{} is a FIFO that nobody writes to: start its writer first, or pipe it in with --core -.\n",
                           who);
      return fmt::format("{} cannot be read: {}.\n", who, system);
    default:
      return fmt::format("{} cannot be read: {}.\n", who, system);
  }
}

}  // namespace mixstack::report
