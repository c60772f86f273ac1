#include "process/perf/kernel_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "base/system/number.h"
#include "base/system/small_file.h"

namespace mixstack::perf {
namespace {

constexpr std::size_t kMostCpus = 8192;  // CONFIG_NR_CPUS of the largest kernels

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<std::int64_t> number_in(const std::string& path) {
  return base::leading_number<std::int64_t>(base::line_at(path));
}

Result<std::uint64_t> tracepoint_number(const std::string& name) {
  bool is_denied = false;
  for (const char* folder : {"/sys/kernel/tracing/events/", "/sys/kernel/debug/tracing/events/"}) {
    const std::string path = folder + name + "/id";
    if (const auto number = number_in(path); number && *number > 0) return static_cast<std::uint64_t>(*number);
    is_denied = is_denied || (::access(path.c_str(), R_OK) != 0 && errno == EACCES);
  }
  return fail(is_denied ? ErrorCode::permission_denied : ErrorCode::not_found, 0, is_denied ? EACCES : ENOENT);
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> list;
  while (!text.empty()) {
    const auto first = take_number(text);
    auto last = first;
    if (first && text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text);
    }
    if (!first || !last || *first < 0 || *last < *first || *last >= static_cast<std::int64_t>(kMostCpus)) return {};
    if (list.size() + static_cast<std::size_t>(*last - *first) >= kMostCpus) return {};
    for (std::int64_t cpu = *first; cpu <= *last; cpu++) list.push_back(static_cast<int>(cpu));
    if (!text.empty() && text.front() != ',') return {};
    if (!text.empty()) text.remove_prefix(1);
  }
  return list;
}

std::vector<int> online_cpus() {
  if (auto list = parse_cpu_list(base::line_at("/sys/devices/system/cpu/online")); !list.empty()) return list;
  std::vector<int> list(static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF))));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

Result<std::vector<ThreadId>> threads_of(std::uint32_t pid) {
  std::vector<ThreadId> list;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/task", error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::string_view rest = name;
    if (const auto tid = take_number(rest)) list.push_back(static_cast<ThreadId>(*tid));
  }
  const bool has_gone =
      list.empty() && (!error || error == std::errc::no_such_file_or_directory || error == std::errc::no_such_process);
  if (has_gone) return fail(ErrorCode::no_such_process, pid, error.value());
  // Too many open files of ours say nothing about the process.
  const bool is_shortage = error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system;
  if (list.empty())
    return fail(is_shortage ? ErrorCode::limit_exceeded : ErrorCode::io_error, is_shortage ? 0 : pid, error.value());
  return list;
}

}  // namespace mixstack::perf
