#include "features/machine/refusal_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/gained_rights.h"
#include "base/system/number.h"
#include "base/system/own_program.h"
#include "base/system/proc_mount.h"
#include "base/system/proc_status.h"
#include "base/system/scoped_fd.h"
#include "base/system/small_file.h"
#include "process/live/proc_files.h"
#include "process/live/ptrace_refusal.h"

namespace mixstack::machine {
namespace {

constexpr unsigned kCapDacOverride = 1, kCapDacReadSearch = 2, kCapSysPtrace = 19;  // linux/capability.h
constexpr std::size_t kMostText = 4096;
constexpr std::uint64_t kKernelThread = 0x200000;  // PF_KTHREAD, linux/sched.h

/// State and flags from /proc/PID/stat. Parses after the last ')', because comm may hold any bytes.
void read_stat(const std::string& process, report::RefusalFacts& facts) {
  const std::string stat = base::text_at(process + "/stat", kMostText);
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos || end + 2 >= stat.size()) return;
  std::string_view rest = std::string_view(stat).substr(end + 2);
  facts.state = rest.front();
  for (int skipped = 0; skipped < 6 && rest.find(' ') != std::string_view::npos; skipped++)
    rest.remove_prefix(rest.find(' ') + 1);  // proc(5): flags is field 9, state field 3
  facts.kernel_thread = (base::leading_number<std::uint64_t>(rest).value_or(0) & kKernelThread) != 0;
}

void read_elf_header(const std::string& process, report::RefusalFacts& facts) {
  const base::ScopedFd fd(::open((process + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<unsigned char, 20> header{};
  if (!fd || ::read(fd.get(), header.data(), header.size()) != 20) return;
  if (header[0] != 0x7f || header[1] != 'E' || header[2] != 'L' || header[3] != 'F') return;
  facts.elf_bits = header[4] == 1 ? 32 : header[4] == 2 ? 64 : 0;
  facts.elf_machine = static_cast<std::uint16_t>(header[18] | header[19] << 8);
}

std::string user_namespace(const std::string& process) { return base::link_at("/proc/" + process + "/ns/user"); }

/// Whether all ids map to themselves, as only in the initial user namespace (user_namespaces(7)).
bool is_in_first_user_namespace() {
  const std::string map = base::line_at("/proc/self/uid_map");
  unsigned inside = 1, outside = 1, count = 0;
  return std::sscanf(map.c_str(), "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
         count == 0xffffffffu;
}

void read_ourselves(report::RefusalFacts& facts) {
  const std::string status = base::own_status();
  facts.own_uid = static_cast<std::uint32_t>(geteuid());
  facts.limits = base::own_gain_limits();
  const std::uint64_t capabilities = base::status_number(status, "CapEff", 16);
  const auto has = [capabilities](unsigned capability) { return (capabilities >> capability & 1) != 0; };
  facts.may_trace = has(kCapSysPtrace);
  facts.may_read = has(kCapDacOverride) || has(kCapDacReadSearch);
  if (const auto scope = base::leading_number<int>(base::line_at("/proc/sys/kernel/yama/ptrace_scope")))
    facts.yama = *scope;
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
  const auto read = base::read_text(fmt::format("/proc/{}/status", pid), kMostText);
  const std::string status = read.value_or("");
  if (status.empty()) {
    if (!read) facts.look_error = read.error().os_error;
    facts.proc_missing = !is_proc_mounted();
    // Signal 0 only checks whether the process exists.
    facts.is_hidden = ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
    return facts;
  }
  facts.exists = true;
  facts.comm = process::comm_of(pid);
  facts.thread_group =
      base::leading_number<std::uint32_t>(base::status_field(status, "Tgid").value_or("")).value_or(pid);
  facts.tracer = static_cast<std::uint32_t>(base::status_number(status, "TracerPid"));
  if (facts.tracer != 0) facts.tracer_comm = process::comm_of(facts.tracer);
  facts.uid = static_cast<std::uint32_t>(base::status_number(status, "Uid"));
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

}  // namespace mixstack::machine
