#include "helpers/fetch/network_seal.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string_view>

#include "base/system/number.h"
#include "base/system/service_process.h"

namespace mixstack::fetcher {
namespace {

[[maybe_unused]] constexpr rlim_t kMaxAddressSpace = rlim_t{2} << 30;  // sanitizers reserve more
constexpr rlim_t kMaxDescriptors = 64;

bool limit(decltype(RLIMIT_AS) what, rlim_t value) {
  const rlimit both{value, value};
  return ::setrlimit(what, &both) == 0;
}

bool drop_user() {
  if (::geteuid() != 0) return true;
  constexpr unsigned kNobody = 65534;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
         ::setresuid(kNobody, kNobody, kNobody) == 0;
}

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2];
  std::memset(none, 0, sizeof none);
  return ::syscall(SYS_capset, &header, none) == 0;
}

bool quiet_standard_streams() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return false;
  bool done = true;
  for (const int fd : {0, 1, 2}) done = ::dup2(null, fd) == fd && done;
  return done;
}

bool ends_with(pid_t parent) { return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent; }

}  // namespace

std::optional<pid_t> parse_orders(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--serve") return std::nullopt;
  return base::number<pid_t>(argv[2]);
}

bool seal(pid_t parent) {
  if (!ends_with(parent) || !quiet_standard_streams()) return false;
  if (::syscall(SYS_close_range, base::kServiceSocket + 1, ~0u, 0) != 0) return false;
  (void)::prctl(PR_SET_NAME, "mixstack-fetch");  // executed by descriptor, it is called "4"
  if (::chdir("/") != 0) return false;
#ifndef MIXSTACK_SANITIZED  // shadow memory needs terabytes of addresses
  if (!limit(RLIMIT_AS, kMaxAddressSpace)) return false;
#endif
  if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_NOFILE, kMaxDescriptors) || !limit(RLIMIT_FSIZE, 0)) return false;
  if (!drop_user() || !drop_capabilities()) return false;
  // Changing the user clears the parent-death signal (prctl(2)): set it again.
  return ends_with(parent) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

}  // namespace mixstack::fetcher
