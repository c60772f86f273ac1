// Input: /proc and our own rights; a process, or none. Output: Examination: findings, each with its remedy.
// Algorithm: 1. Our own rights, by /proc/self/status. 2. Prohibitions of the machine: yama, namespaces. 3. Trials
// on children of our own: ptrace, process_vm_readv, a perf event, a BPF map; a filter may kill the caller. 4. The
// process: what a dump would run into, from /proc and by opening its memory, which the kernel judges as it does
// tracing; then whether its runtimes are of versions that are known. Order: the machine comes first, since a foreign
// /proc makes every fact about a process meaningless. Bounds: each trial is one child; three names of refused
// descriptors per runtime.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/system/gained_rights.h"
#include "base/system/number.h"
#include "base/system/own_program.h"
#include "base/system/proc_mount.h"
#include "base/system/proc_status.h"
#include "base/system/scoped_fd.h"
#include "base/system/small_file.h"
#include "features/machine/refusal_facts.h"
#include "mixstack/machine.h"
#include "output/report/errors.h"
#include "output/report/escape.h"
#include "process/live/ptrace_refusal.h"
#include "process/live/rights_by_trial.h"
#include "session/runtime_check.h"

namespace mixstack {
namespace {

std::optional<std::int64_t> read_number(const std::string& path) {
  return base::leading_number<std::int64_t>(base::line_at(path));
}

/// Ourselves, by /proc/self/status.
struct Own {
  std::uint32_t uid = 0;
  std::uint64_t capabilities = 0;
  bool has_filter = false;
  base::GainLimits limits;
  // linux/capability.h
  static constexpr unsigned kDacOverride = 1, kDacReadSearch = 2, kSysPtrace = 19, kSysAdmin = 21, kPerfmon = 38,
                            kBpf = 39;
  [[nodiscard]] bool has(unsigned capability) const { return (capabilities >> capability & 1) != 0; }
};

Own read_own() {
  Own own;
  own.uid = static_cast<std::uint32_t>(::geteuid());
  const std::string status = base::own_status();
  own.capabilities = base::status_number(status, "CapEff", 16);
  own.has_filter = base::status_number(status, "Seccomp") == 2;
  own.limits = base::own_gain_limits();
  return own;
}

using process::Tried;

std::string error_text(const Tried& tried) {
  if (tried.error == Tried::kKilled) return "whoever calls it is killed (a seccomp filter)";
  return std::generic_category().message(tried.error);
}

constexpr std::string_view kContainer =
    "docker run --cap-add=SYS_PTRACE ... (its default seccomp profile allows ptrace then); in Kubernetes\n"
    "securityContext.capabilities.add: [\"SYS_PTRACE\"]; or run mixstack on the host";

/// How to get `needed`. One line for all there is: setting capabilities of a file takes others away from it.
std::string ways_to_get(const Own& own, std::string_view needed, std::string_view more = {}) {
  return base::ways_to_gain(needed, fmt::format("{}{}", machine::kRecordCapabilities, more), own.limits,
                            base::own_program_for_shell());
}

using Verdict = Finding::Verdict;

void look_at_rights(const Own& own, std::vector<Finding>& findings) {
  const bool traces = own.has(Own::kSysPtrace);
  const bool may = traces && (own.has(Own::kDacOverride) || own.has(Own::kDacReadSearch));
  std::string who = own.uid == 0 ? "root" : fmt::format("uid {}", own.uid);
  who += may      ? ", with CAP_SYS_PTRACE: processes of every user"
         : traces ? ", with CAP_SYS_PTRACE, without CAP_DAC_READ_SEARCH: processes of the same user only"
                  : ", without CAP_SYS_PTRACE: processes of the same user only";
  const bool surprising = own.uid == 0 && !traces;
  findings.push_back({may ? Verdict::ok : Verdict::note, "user", who,
                      may          ? ""
                      : surprising ? std::string(kContainer)
                                   : ways_to_get(own, "cap_sys_ptrace", ",cap_dac_read_search")});
  if (own.limits.no_new_privs && !may)
    findings.push_back({Verdict::note, "no_new_privs", "set: sudo and file capabilities give nothing here",
                        "start without it (docker: no --security-opt no-new-privileges; systemd: NoNewPrivileges=no)"});
}

void look_at_yama(const Own& own, std::vector<Finding>& findings) {
  const auto scope = read_number("/proc/sys/kernel/yama/ptrace_scope");
  const bool may = own.has(Own::kSysPtrace);
  if (!scope || *scope == 0) {
    findings.push_back({Verdict::ok, "yama", scope ? "kernel.yama.ptrace_scope is 0" : "not in this kernel", ""});
  } else if (*scope == 3) {
    findings.push_back({Verdict::bad, "yama", "kernel.yama.ptrace_scope is 3: nobody may trace",
                        "it can be changed by restarting the machine only"});
  } else {
    findings.push_back({may ? Verdict::ok : Verdict::bad, "yama",
                        fmt::format("kernel.yama.ptrace_scope is {}: {}", *scope,
                                    may           ? "CAP_SYS_PTRACE is exempt"
                                    : *scope == 1 ? "only descendants may be traced"
                                                  : "only CAP_SYS_PTRACE may trace"),
                        may ? ""
                            : ways_to_get(own, "cap_sys_ptrace") +
                                  (*scope == 1 ? "; or sudo sysctl kernel.yama.ptrace_scope=0" : "")});
  }
}

void look_at_calls(const Own& own, std::vector<Finding>& findings) {
  const Tried ptrace = process::try_ptrace(), memory = process::try_memory();
  const std::string filter = own.has_filter ? " (a seccomp filter is on us)" : "";
  findings.push_back({ptrace.works() ? Verdict::ok : Verdict::bad, "ptrace",
                      ptrace.works()
                          ? "works on a child of our own" + filter
                          : fmt::format("refused even for a child of our own: {}{}", error_text(ptrace), filter),
                      ptrace.works() ? "" : std::string(kContainer)});
  findings.push_back(
      {memory.works() ? Verdict::ok : Verdict::note, "memory",
       memory.works() ? "process_vm_readv works on a child of our own"
                      : fmt::format("process_vm_readv refused: {}; /proc/PID/mem is read instead", error_text(memory)),
       ""});
}

void look_at_namespaces(std::vector<Finding>& findings) {
  const std::string map = base::line_at("/proc/self/uid_map");
  unsigned inside = 1, outside = 1, count = 0;
  const bool is_first = std::sscanf(map.c_str(), "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 &&
                        outside == 0 && count == 0xffffffffu;
  if (!is_first)
    findings.push_back({Verdict::note, "user namespace", "not the machine's own: capabilities count inside it only",
                        "for processes outside of it: run mixstack on the host"});
  if (base::is_proc_of_other_pid_namespace()) {
    findings.push_back({Verdict::bad, "/proc",
                        "that of another pid namespace than ours: its numbers mean other processes",
                        "a /proc of our own namespace: nsenter -t PID -p -m mixstack ...,\n"
                        "unshare -p -f --mount-proc ..., or mount -t proc proc /proc"});
    return;
  }
  constexpr std::string_view kFirst = "pid:[4026531836]";  // PROC_PID_INIT_INO, include/linux/proc_ns.h
  const std::string own = base::link_at("/proc/self/ns/pid");
  if (!own.empty() && own != kFirst)
    findings.push_back(
        {Verdict::note, "pid namespace", "not the machine's own: only processes inside it are seen", ""});
}

void look_at_perf(const Own& own, std::uint32_t pid, std::vector<Finding>& findings) {
  const auto paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
  const Tried tried = process::try_perf_event(pid);
  const std::string level =
      "for CPU samples (mixstack record): " +
      (paranoid ? fmt::format("kernel.perf_event_paranoid is {}", *paranoid) : "no perf events in this kernel");
  if (tried.works()) {
    findings.push_back({Verdict::ok, "perf events", level + ", and an event could be opened", ""});
    return;
  }
  findings.push_back(
      {Verdict::bad, "perf events", fmt::format("{}: {}", level, error_text(tried)),
       paranoid && *paranoid > 2 && !own.has(Own::kPerfmon)
           ? "sudo sysctl kernel.perf_event_paranoid=2, or " + ways_to_get(own, "cap_perfmon")
       : own.has_filter
           ? "a container: docker run --cap-add=PERFMON --security-opt seccomp=unconfined ..., or on the host"
           : ways_to_get(own, "cap_perfmon")});
}

constexpr std::string_view kBpfOff =
    "we have the rights, so something else forbids it: a seccomp profile (docker: --security-opt seccomp=...),\n"
    "a security module, or a lock-down of the kernel";

void look_at_bpf(const Own& own, std::vector<Finding>& findings) {
  const bool has_types = ::access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  const bool may = own.has(Own::kSysAdmin) || (own.has(Own::kBpf) && own.has(Own::kPerfmon));
  const Tried tried = process::try_bpf();
  if (may && has_types && tried.works()) {
    findings.push_back({Verdict::ok, "BPF",
                        "for stacks of blocked threads without a stop (mixstack record): a map could be made", ""});
    return;
  }
  const std::string why = !may             ? "without CAP_BPF and CAP_PERFMON"
                          : !tried.works() ? error_text(tried)
                                           : std::string("the kernel has no /sys/kernel/btf/vmlinux");
  findings.push_back({Verdict::note, "BPF", "for stacks of blocked threads without a stop (mixstack record): " + why,
                      !may             ? ways_to_get(own, "cap_bpf,cap_perfmon")
                      : !tried.works() ? std::string(kBpfOff)
                                       : "a kernel with CONFIG_DEBUG_INFO_BTF"});
}

/// One process: everything a dump would run into, without stopping it.
Problem look_at_process(std::uint32_t pid, std::vector<Finding>& findings) {
  report::RefusalFacts facts = machine::read_refusal_facts(pid);
  facts.capabilities = machine::kRecordCapabilities;
  Problem problem = report::foreseen_problem(facts);
  Error error;
  if (problem == Problem::none) {
    // The kernel asks the same of who opens this as of who traces.
    const base::ScopedFd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
    const int refused = memory ? 0 : errno;
    facts.seccomp = machine::filter_could_be_why(facts) && !process::try_ptrace().works();
    if (refused != 0 || facts.seccomp) {
      error = {refused == ENOENT ? ErrorCode::no_such_process : ErrorCode::permission_denied, refused, pid};
      problem = report::problem_of(error, facts);
    }
  }
  if (problem == Problem::none) {
    findings.push_back({Verdict::ok, fmt::format("process {}", pid), "may be traced", ""});
    return problem;
  }
  std::string text = report::problem_text(problem, error, facts);
  const std::size_t line = std::min(text.find('\n'), text.size());
  std::string remedy = text.substr(std::min(line + 1, text.size()));
  while (remedy.ends_with('\n')) remedy.pop_back();
  findings.push_back({Verdict::bad, fmt::format("process {}", pid), text.substr(0, line), remedy});
  return problem;
}

/// Whether it has a runtime of a version that is not known: of a later .NET.
void look_at_runtimes(std::uint32_t pid, std::vector<Finding>& findings) {
  constexpr std::size_t kMostNamed = 3;
  for (const session::RuntimeCheck& runtime : session::check_runtimes(pid)) {
    std::string text = runtime.name + ": of a version that is known";
    if (!runtime.refusals.empty()) {
      text = runtime.name + " describes itself in a version that mixstack does not know (";
      for (std::size_t i = 0; i < std::min(runtime.refusals.size(), kMostNamed); i++)
        text += (i == 0 ? "" : ", ") + runtime.refusals[i].subject;
      text += "): native frames only, unless by its DAC; why can tell little";
    }
    findings.push_back({runtime.refusals.empty() ? Verdict::ok : Verdict::note, "runtime",
                        report::escape_for_terminal(text), runtime.refusals.empty() ? "" : "a newer mixstack"});
  }
}

bool stands_in_the_way(const std::vector<Finding>& findings, std::initializer_list<std::string_view> subjects) {
  for (const Finding& f : findings)
    for (const std::string_view subject : subjects)
      if (f.verdict == Verdict::bad && f.subject.starts_with(subject)) return true;
  return false;
}

}  // namespace

Examination examine(std::uint32_t pid) {
  const Own own = read_own();
  Examination result;
  std::vector<Finding>& findings = result.findings;
  look_at_rights(own, findings);
  look_at_yama(own, findings);
  look_at_calls(own, findings);
  look_at_namespaces(findings);
  const bool is_proc_ours = !stands_in_the_way(findings, {"/proc"});
  // A process that is not there says nothing about our rights.
  const bool is_there = is_proc_ours && pid != 0 && machine::read_refusal_facts(pid).exists;
  look_at_perf(own, is_there ? pid : 0, findings);
  look_at_bpf(own, findings);
  if (pid != 0) result.problem = look_at_process(pid, findings);
  if (pid != 0 && result.problem == Problem::none) look_at_runtimes(pid, findings);
  // For a given process its own answer counts: it may be a descendant of ours, which yama allows to trace.
  result.dump = pid != 0 ? result.problem == Problem::none : !stands_in_the_way(findings, {"yama", "ptrace", "/proc"});
  if (!result.dump && result.problem == Problem::none)
    result.problem = is_proc_ours ? Problem::permission : Problem::foreign_proc;
  result.perf_events = is_proc_ours && !stands_in_the_way(findings, {"perf"}) && (pid == 0 || result.dump);
  result.without_stop = std::all_of(findings.begin(), findings.end(),
                                    [](const Finding& f) { return f.subject != "BPF" || f.verdict == Verdict::ok; });
  return result;
}

}  // namespace mixstack
