// Input: an error of a session, and facts from /proc about the process and about ourselves (RefusalFacts).
// Output: the problem, its reason as a name for programs (`problem_reason`), and lines of text with a remedy.
// Algorithm: `foreseen_problem` looks at facts alone, and goes before the error's code in `problem_of`. `bar_of` finds
// what forbids ptrace: the first that would have to change, in the order of the kernel's checks. Reason and remedy come
// from it. Bounds: pure functions of small data.
#include "output/report/errors.h"

#include <fmt/format.h>

#include <cerrno>

#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::uint16_t kX86_64 = 62, kAarch64 = 183;  // e_machine, System V gABI

std::string who(const RefusalFacts& facts) {
  if (facts.comm.empty()) return fmt::format("pid {}", facts.pid);
  return fmt::format("pid {} ({})", facts.pid, escape_for_terminal(facts.comm));
}

bool is_unsupported(const RefusalFacts& facts) {
  if (facts.elf_bits == 0) return false;
  return facts.elf_bits != 64 || (facts.elf_machine != kX86_64 && facts.elf_machine != kAarch64);
}

std::string unsupported_text(const RefusalFacts& facts) {
  if (facts.elf_bits == 32)
    return fmt::format("{} is a 32-bit process; mixstack walks 64-bit processes only.\n", who(facts));
  return fmt::format("{} runs on a CPU that mixstack does not know (e_machine {}).\n", who(facts), facts.elf_machine);
}

std::string traced_text(const Error& error, const RefusalFacts& facts) {
  const std::uint64_t tracer = facts.tracer != 0 ? facts.tracer : error.value;
  std::string by = tracer == 0 ? "another tracer" : fmt::format("pid {}", tracer);
  if (!facts.tracer_comm.empty()) by += fmt::format(" ({})", escape_for_terminal(facts.tracer_comm));
  return fmt::format(
      "{} is already traced by {}.\n"
      "  A process can have one tracer only. Let that one detach (gdb: detach; strace: Ctrl-C), then try again.\n",
      who(facts), by);
}

/// Its files in /proc (mem, auxv) are those of another user, which CAP_SYS_PTRACE does not open.
bool is_of_others(const RefusalFacts& facts) { return facts.uid != facts.own_uid || facts.not_dumpable; }

std::string grant(const RefusalFacts& facts) {
  const std::string needed = is_of_others(facts) ? ",cap_dac_read_search" : "";
  const std::string file = facts.capabilities + needed;
  if (!base::out_of_bounds(file, facts.limits.bounding).empty() || facts.limits.no_new_privs ||
      facts.limits.is_nosuid) {
    std::string ways = base::ways_to_gain("cap_sys_ptrace" + needed, file, facts.limits, facts.own_program);
    for (std::size_t at = ways.find('\n'); at != std::string::npos; at = ways.find('\n', at + 1))
      ways.insert(at + 1, "  ");
    return "  Get the right: " + ways + "\n";
  }
  return fmt::format(
      "  Run it as root (sudo {0} ...), or give its file the capability once:\n"
      "    sudo setcap {1}{2}+ep {0}\n",
      facts.own_program, facts.capabilities, needed);
}

constexpr std::string_view kSeccomp =
    "  A seccomp filter that we run under denies ptrace: the profile of a container, or SystemCallFilter= of a "
    "service.\n"
    "  Start the container with\n"
    "    docker run --cap-add=SYS_PTRACE ...       (its default profile allows ptrace then)\n"
    "  or in Kubernetes with securityContext.capabilities.add: [\"SYS_PTRACE\"] or another seccompProfile; or run\n"
    "  mixstack outside, on the host.\n";

/// Why ptrace is not permitted: the first that would have to change.
enum class Bar : std::uint8_t {
  yama_off,
  user_namespace,
  seccomp,
  unreadable_files,
  security_module,
  container,
  other_user,
  hides_itself,
  yama,
  more_rights,
  own_user_namespace,
  unknown
};

Bar bar_of(const RefusalFacts& facts) {
  if (facts.yama == 3) return Bar::yama_off;
  if (facts.may_trace && facts.other_user_namespace) return Bar::user_namespace;
  if (facts.seccomp) return Bar::seccomp;
  if (facts.may_trace && !facts.may_read && facts.own_uid != 0 && is_of_others(facts)) return Bar::unreadable_files;
  if (facts.may_trace) return Bar::security_module;
  if (facts.own_uid == 0) return Bar::container;
  if (facts.uid != facts.own_uid) return Bar::other_user;
  if (facts.not_dumpable) return Bar::hides_itself;
  if (facts.yama == 1 || facts.yama == 2) return Bar::yama;
  if (facts.more_rights) return Bar::more_rights;
  return facts.other_user_namespace ? Bar::own_user_namespace : Bar::unknown;
}

std::string_view name_of(Bar bar) {
  constexpr std::string_view kNames[] = {
      "yama_off",   "user_namespace", "seccomp", "unreadable_files", "security_module", "container",
      "other_user", "hides_itself",   "yama",    "more_rights",      "user_namespace",  "unknown"};
  return kNames[static_cast<std::size_t>(bar)];
}

std::string remedy(const RefusalFacts& facts) {
  switch (bar_of(facts)) {
    case Bar::yama_off:
      return "  kernel.yama.ptrace_scope is 3: tracing is switched off on this machine until it is restarted.\n";
    case Bar::user_namespace:
      return "  It lives in another user namespace, where our CAP_SYS_PTRACE does not count.\n"
             "  Run mixstack as root of the host, or inside that namespace (nsenter -t PID -U).\n";
    case Bar::seccomp:
      return std::string(kSeccomp);
    case Bar::unreadable_files:
      return "  We have CAP_SYS_PTRACE, but not CAP_DAC_READ_SEARCH, without which files of another user's process in\n"
             "  /proc cannot be read.\n" +
             grant(facts);
    case Bar::security_module:
      return "  We have CAP_SYS_PTRACE, so something else forbids it: a security module (SELinux deny_ptrace, "
             "AppArmor, "
             "...).\n";
    case Bar::container:
      return "  We are root, but without CAP_SYS_PTRACE: probably inside a container. Start it with\n"
             "    docker run --cap-add=SYS_PTRACE ...\n"
             "  or in Kubernetes with securityContext.capabilities.add: [\"SYS_PTRACE\"].\n";
    case Bar::other_user:
      return fmt::format("  It belongs to uid {}, and we are uid {}.\n", facts.uid, facts.own_uid) + grant(facts);
    case Bar::hides_itself:
      return "  It has our uid but hides itself: it was started with more rights than we have, or made itself\n"
             "  undumpable (prctl PR_SET_DUMPABLE).\n" +
             grant(facts);
    case Bar::yama:
      return fmt::format("  kernel.yama.ptrace_scope is {}: {}.\n", facts.yama,
                         facts.yama == 1 ? "a process may trace its own children only" : "only root may trace") +
             grant(facts) + (facts.yama == 1 ? "  or: sudo sysctl kernel.yama.ptrace_scope=0\n" : "");
    case Bar::more_rights:
      return "  It has our uid, and capabilities that we lack.\n" + grant(facts);
    case Bar::own_user_namespace:
      return "  It has our uid, but lives in another user namespace.\n" + grant(facts);
    case Bar::unknown:
      break;
  }
  return "  It has our uid and does not hide itself, so something else forbids it: a security module (SELinux "
         "deny_ptrace,\n"
         "  AppArmor, Landlock) or the container we run in.\n";
}

std::string shortage_text(int error, const RefusalFacts& facts) {
  std::string what = "not enough memory (limits: ulimit -v, the cgroup)";
  if (error == EMFILE)
    what = fmt::format("mixstack may not open as many files as it needs (limit: ulimit -n; {} are enough)",
                       facts.enough_files);
  if (error == ENFILE) what = "the system has no more open files to give (limit: fs.file-max)";
  if (error == EAGAIN) what = "no thread could be started (limits: ulimit -u and -v, the cgroup's pids.max)";
  return fmt::format("{} could not be read: {}.\n", who(facts), what);
}

}  // namespace

bool is_shortage(int os_error) {
  return os_error == EMFILE || os_error == ENFILE || os_error == ENOMEM || os_error == EAGAIN;
}

Problem foreseen_problem(const RefusalFacts& facts) {
  if (facts.proc_foreign) return Problem::foreign_proc;
  if (facts.proc_missing) return Problem::no_proc;
  if (is_shortage(facts.look_error)) return Problem::resources;
  if (!facts.exists) return facts.is_hidden ? Problem::hidden : Problem::no_such_process;
  if (facts.is_self) return Problem::is_self;
  if (facts.kernel_thread) return Problem::kernel_thread;
  if (facts.thread_group != 0 && facts.thread_group != facts.pid) return Problem::is_thread;
  if (facts.state == 'Z' || facts.state == 'X') return Problem::zombie;
  if (facts.tracer != 0) return Problem::already_traced;
  return is_unsupported(facts) ? Problem::unsupported_cpu : Problem::none;
}

Problem problem_of(const Error& error, const RefusalFacts& facts) {
  if (is_shortage(error.os_error)) return Problem::resources;
  if (const Problem foreseen = foreseen_problem(facts); foreseen != Problem::none) return foreseen;
  switch (error.code) {
    case ErrorCode::no_such_process:
      return Problem::no_such_process;
    case ErrorCode::no_such_thread:
      return Problem::no_such_thread;
    case ErrorCode::permission_denied:
      return Problem::permission;
    case ErrorCode::already_traced:
      return Problem::already_traced;
    case ErrorCode::unsupported_cpu:
      return Problem::unsupported_cpu;
    case ErrorCode::process_changed:
      return Problem::process_changed;
    default:
      return Problem::other;
  }
}

std::string_view problem_reason(Problem problem, const Error& error, const RefusalFacts& facts) {
  if (problem == Problem::permission) return name_of(bar_of(facts));
  if (problem != Problem::resources) return {};
  switch (is_shortage(error.os_error) ? error.os_error : facts.look_error) {
    case EMFILE:
      return "files";
    case ENFILE:
      return "files_of_system";
    case EAGAIN:
      return "threads";
    default:
      return "memory";
  }
}

std::string problem_text(Problem problem, const Error& error, const RefusalFacts& facts) {
  switch (problem) {
    case Problem::none:
      return {};
    case Problem::no_such_process:
      return fmt::format("there is no process {}{}.\n", facts.pid,
                         facts.comm.empty() ? "" : " any more: it was " + escape_for_terminal(facts.comm));
    case Problem::is_thread:
      return fmt::format("{0} is a thread of process {1}.\n  Try: mixstack dump {1} -t {2}\n", who(facts),
                         facts.thread_group, facts.pid);
    case Problem::zombie:
      return fmt::format("{} is a zombie: it has exited, no stack is left. Its parent has not waited for it yet.\n",
                         who(facts));
    case Problem::kernel_thread:
      return fmt::format(
          "{0} is a kernel thread; it has no user stack.\n  Its kernel stack: sudo cat /proc/{1}/stack\n", who(facts),
          facts.pid);
    case Problem::is_self:
      return "a process cannot stop and dump itself: this pid is mixstack's own.\n";
    case Problem::unsupported_cpu:
      return unsupported_text(facts);
    case Problem::already_traced:
      return traced_text(error, facts);
    case Problem::permission:
      return fmt::format("ptrace of {}: Operation not permitted.\n{}", who(facts), remedy(facts));
    case Problem::process_changed:
      return fmt::format("{} exited or became another program while it was being read. Try again.\n", who(facts));
    case Problem::no_such_thread:
      return fmt::format("no such thread in {}.\n", who(facts));
    case Problem::resources:
      return shortage_text(is_shortage(error.os_error) ? error.os_error : facts.look_error, facts);
    case Problem::no_proc:
      return fmt::format(
          "process {} cannot be read: processes are read through /proc, and no proc file system is mounted there.\n"
          "  Mount it: mount -t proc proc /proc\n",
          facts.pid);
    case Problem::foreign_proc:
      return fmt::format(
          "/proc is that of another pid namespace: what it says of {} is of another process than we would stop.\n"
          "  Use a /proc of our own namespace: nsenter -t PID -p -m mixstack ..., unshare -p -f --mount-proc ...,\n"
          "  or mount one, in a mount namespace of its own: mount -t proc proc /proc\n",
          facts.pid);
    case Problem::hidden:
      return fmt::format(
          "process {} exists, and /proc does not show it: /proc is mounted with hidepid, or belongs to another\n"
          "  pid namespace. Run mixstack as root, or with a /proc of its own pid namespace.\n",
          facts.pid);
    case Problem::other:
      break;
  }
  return fmt::format("{} could not be dumped: {}.\n", who(facts), error_words(error));
}

}  // namespace mixstack::report
