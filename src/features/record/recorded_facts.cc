#include "features/record/recorded_facts.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "base/system/number.h"
#include "base/system/small_file.h"
#include "output/report/escape.h"
#include "process/live/kernel_counters.h"
#include "process/live/proc_files.h"

namespace mixstack::record {
namespace {

constexpr std::size_t kMostThreads = 1u << 20, kMostChildren = 1u << 16;
constexpr std::uint64_t kSecond = 1'000'000'000;  // ns

std::string proc_path(std::uint32_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

/// "app" for "dotnet exec app.dll --port=80"; empty: the command line names no assembly.
std::string hosted_name(std::uint32_t pid) {
  const std::string text = base::text_at(proc_path(pid, "cmdline"), 1).substr(0, 4096);
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at + 1)) {
    std::string_view word = std::string_view(text).substr(at + 1);
    word = word.substr(0, word.find('\0'));
    if (!word.ends_with(".dll")) continue;
    word = word.substr(word.rfind('/') + 1);
    return std::string(word.substr(0, word.size() - 4));
  }
  return {};
}

/// Whether it runs our own program or one of our helpers (mixstack-fetch, mixstack-helper).
bool is_one_of_ours(std::uint32_t pid) {
  const std::string program = base::link_at(proc_path(pid, "exe"));
  const std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
  return name.starts_with("mixstack-") || program == base::link_at("/proc/self/exe");
}

}  // namespace

std::string command_of(const TargetInfo& target) {
  std::string text;
  for (const std::string& word : target.command_line)
    text += (text.empty() ? "" : " ") + report::escape_for_terminal(word.substr(0, 1024));
  return text.substr(0, 1024);
}

std::string name_of(std::uint32_t pid) {
  std::string name = process::comm_of(pid);
  // All programs run by the host `dotnet` have its comm.
  if (name == "dotnet")
    if (std::string app = hosted_name(pid); !app.empty()) name = std::move(app);
  return report::escape_for_terminal(name);
}

std::size_t threads_of(std::uint32_t pid) {
  struct stat facts {};
  const bool is_there = ::stat(proc_path(pid, "task").c_str(), &facts) == 0;
  return is_there && facts.st_nlink > 2 ? facts.st_nlink - 2 : 0;
}

std::optional<std::uint64_t> user_cpu_ns(std::uint32_t pid) {
  const auto counters = process::parse_stat_counters(base::text_at(proc_path(pid, "stat"), 1));
  const long in_second = ::sysconf(_SC_CLK_TCK);
  if (!counters || in_second <= 0) return std::nullopt;
  return counters->user * (kSecond / static_cast<std::uint64_t>(in_second));
}

std::uint64_t own_cpu_ns() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * kSecond + static_cast<std::uint64_t>(t.tv_usec) * 1000u;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

std::vector<std::uint32_t> children_of(std::uint32_t pid) {
  std::vector<std::uint32_t> children;
  process::each_number(proc_path(pid, "task"), kMostThreads, [&](std::uint32_t tid) {
    const std::string text = base::text_at(proc_path(pid, "task/" + std::to_string(tid) + "/children"), 1u << 20);
    std::string_view rest = text;
    while (children.size() < kMostChildren) {
      const auto child = base::leading_number<std::uint32_t>(rest);
      if (!child) break;
      children.push_back(*child);
      rest.remove_prefix(std::min(rest.find(' ', 1), rest.size()));
    }
    return children.size() < kMostChildren;
  });
  return children;
}

std::vector<std::uint32_t> adopted() {
  std::vector<std::uint32_t> children = children_of(static_cast<std::uint32_t>(::getpid()));
  std::erase_if(children, is_one_of_ours);
  return children;
}

}  // namespace mixstack::record
