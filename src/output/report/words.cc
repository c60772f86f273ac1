#include "output/report/words.h"

#include <fmt/format.h>

#include <cstring>

#include "base/arch/cpu.h"

namespace mixstack::report {

std::string_view arch_name(Arch arch) { return arch::cpu(arch).name; }

std::string_view consistency_name(Consistency consistency) {
  switch (consistency) {
    case Consistency::all_stopped_together:
      return "all_stopped_together";
    case Consistency::one_by_one:
      return "one_by_one";
    case Consistency::not_stopped:
      return "not_stopped";
  }
  return "unknown";
}

// Letters: proc(5), /proc/PID/stat, field state.
std::string_view kernel_state_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in uninterruptible sleep";
    case 'T':
      return "stopped by a signal";
    case 't':
      return "stopped by a tracer";
    case 'Z':
      return "zombie";
    case 'X':
      return "dead";
    case 'I':
      return "idle";
    case 'P':
      return "parked";
    default:
      return "";
  }
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view plural) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1) return text.append(one);
  return plural.empty() ? text.append(one) + 's' : text.append(plural);
}

std::string age_words(std::chrono::nanoseconds age) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(age).count();
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

std::string size_words(std::uint64_t bytes) {
  const double size = static_cast<double>(bytes);
  if (size < 999.5e6) return fmt::format("{:.0f} MB", std::max(1.0, size / 1e6));
  return fmt::format("{:.1f} GB", size / 1e9);
}

std::string duration_words(std::chrono::nanoseconds duration) {
  const double us = static_cast<double>(duration.count()) / 1e3;
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 1e6) return fmt::format("{:.{}f} ms", us / 1e3, us < 1e5 ? 1 : 0);
  return fmt::format("{:.2f} s", us / 1e6);
}

std::string syscall_words(Arch arch, std::int64_t number) {
  if (number < 0) return {};
  const std::string_view name = syscall_name(arch, number);
  return name.empty() ? fmt::format("syscall {}", number) : std::string(name);
}

}  // namespace mixstack::report
