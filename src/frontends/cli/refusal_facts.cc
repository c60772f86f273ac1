#include "frontends/cli/refusal_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/gained_rights.h"
#include "base/system/own_program.h"
#include "base/system/proc_mount.h"
#include "base/system/scoped_fd.h"
#include "process/live/ptrace_refusal.h"

namespace mixstack::cli {
namespace {

constexpr unsigned kCapDacOverride = 1, kCapDacReadSearch = 2, kCapSysPtrace = 19;  // linux/capability.h
constexpr std::uint64_t kKernelThread = 0x200000;                                   // PF_KTHREAD, linux/sched.h

/// At most the first 4 KiB, enough for every file read here.
std::string read_small_file(const std::string& path, int* error = nullptr) {
  const base::ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  const ssize_t size = fd ? ::read(fd.get(), text.data(), text.size()) : -1;
  if (size < 0 && error != nullptr) *error = errno;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::optional<std::uint64_t> number(std::string_view text, int base = 10) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ec != std::errc{}) return std::nullopt;
  return value;
}

/// The text after "\nKey:" in a /proc status file.
std::string_view field(std::string_view status, std::string_view key) {
  const std::size_t at = status.find(fmt::format("\n{}:", key));
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + key.size() + 2);
  return status.substr(0, status.find('\n'));
}

/// The line of /proc/PID/comm without its newline.
std::string comm_of(std::uint64_t pid) {
  std::string comm = read_small_file(fmt::format("/proc/{}/comm", pid));
  if (comm.ends_with('\n')) comm.pop_back();
  return comm;
}

/// State and flags from /proc/PID/stat. Parses after the last ')', because comm may hold any bytes.
void read_stat(const std::string& process, report::RefusalFacts& facts) {
  const std::string stat = read_small_file(process + "/stat");
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos || end + 2 >= stat.size()) return;
  std::string_view rest = std::string_view(stat).substr(end + 2);
  facts.state = rest.front();
  for (int skipped = 0; skipped < 6 && rest.find(' ') != std::string_view::npos; skipped++)
    rest.remove_prefix(rest.find(' ') + 1);  // proc(5): flags is field 9, state field 3
  facts.kernel_thread = (number(rest).value_or(0) & kKernelThread) != 0;
}

void read_elf_header(const std::string& process, report::RefusalFacts& facts) {
  const base::ScopedFd fd(::open((process + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<unsigned char, 20> header{};
  if (!fd || ::read(fd.get(), header.data(), header.size()) != 20) return;
  if (header[0] != 0x7f || header[1] != 'E' || header[2] != 'L' || header[3] != 'F') return;
  facts.elf_bits = header[4] == 1 ? 32 : header[4] == 2 ? 64 : 0;
  facts.elf_machine = static_cast<std::uint16_t>(header[18] | header[19] << 8);
}

std::string user_namespace(const std::string& process) {
  std::array<char, 64> text{};
  const ssize_t size = readlink(("/proc/" + process + "/ns/user").c_str(), text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Whether all ids map to themselves, as only in the initial user namespace (user_namespaces(7)).
bool is_in_first_user_namespace() {
  const std::string map = read_small_file("/proc/self/uid_map");
  unsigned inside = 1, outside = 1, count = 0;
  return std::sscanf(map.c_str(), "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
         count == 0xffffffffu;
}

void read_ourselves(report::RefusalFacts& facts) {
  const std::string status = read_small_file("/proc/self/status");
  facts.own_uid = static_cast<std::uint32_t>(geteuid());
  facts.limits = base::own_gain_limits();
  const std::uint64_t capabilities = number(field(status, "CapEff"), 16).value_or(0);
  const auto has = [capabilities](unsigned capability) { return (capabilities >> capability & 1) != 0; };
  facts.may_trace = has(kCapSysPtrace);
  facts.may_read = has(kCapDacOverride) || has(kCapDacReadSearch);
  if (const auto scope = number(read_small_file("/proc/sys/kernel/yama/ptrace_scope")))
    facts.yama = static_cast<int>(*scope);
}

bool is_proc_mounted() {
  constexpr auto kProcMagic = 0x9fa0;  // PROC_SUPER_MAGIC, linux/magic.h
  struct statfs fs {};
  return ::statfs("/proc", &fs) != 0 || fs.f_type == kProcMagic;
}

}  // namespace

report::RefusalFacts read_refusal_facts(std::uint32_t pid) {
  report::RefusalFacts facts;
  facts.pid = pid;
  facts.own_program = base::own_program_for_shell();
  facts.proc_foreign = base::is_proc_of_other_pid_namespace();
  if (facts.proc_foreign) return facts;  // this PID is another process there
  read_ourselves(facts);
  const std::string status = read_small_file(fmt::format("/proc/{}/status", pid), &facts.look_error);
  if (status.empty()) {
    facts.proc_missing = !is_proc_mounted();
    // Signal 0 only checks whether the process exists.
    facts.is_hidden = ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
    return facts;
  }
  facts.exists = true;
  facts.comm = comm_of(pid);
  facts.thread_group = static_cast<std::uint32_t>(number(field(status, "Tgid")).value_or(pid));
  facts.tracer = static_cast<std::uint32_t>(number(field(status, "TracerPid")).value_or(0));
  if (facts.tracer != 0) facts.tracer_comm = comm_of(facts.tracer);
  facts.uid = static_cast<std::uint32_t>(number(field(status, "Uid")).value_or(0));
  facts.is_self = pid == static_cast<std::uint32_t>(getpid());
  // If the main thread has ended before the others, its state and program are gone: use a living thread.
  const ThreadId living = process::living_thread(pid);
  const std::string process =
      living == 0 || living == pid ? fmt::format("/proc/{}", pid) : fmt::format("/proc/{}/task/{}", pid, living);
  read_stat(process, facts);
  read_elf_header(process, facts);
  const std::string theirs = user_namespace(std::to_string(pid));
  facts.not_dumpable = !process::is_dumpable(pid, facts.uid);
  facts.more_rights = process::has_more_rights(pid);
  // From inside another user namespace than the initial one, the link of a process outside cannot even be read.
  facts.other_user_namespace = theirs.empty() ? !is_in_first_user_namespace() : theirs != user_namespace("self");
  return facts;
}

bool filter_could_be_why(const report::RefusalFacts& facts) {
  return facts.may_trace || (facts.uid == facts.own_uid && !facts.not_dumpable);
}

}  // namespace mixstack::cli
