#include "helpers/dac/seal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "base/system/number.h"
#include "dotnet/dac/protocol.h"
#include "helpers/dac/file_answers.h"
#include "helpers/dac/syscall_filter.h"

namespace mixstack::helper {
namespace {

// A DAC needs some ten megabytes; a hostile one must not exhaust the machine.
#ifdef MIXSTACK_SANITIZED
constexpr rlim_t kMaxAddressSpace = RLIM_INFINITY;  // shadow memory needs terabytes of addresses
#else
constexpr rlim_t kMaxAddressSpace = rlim_t{1} << 30;
#endif

constexpr rlim_t kMaxDescriptors = 64;

template <class T>
bool number(std::string_view text, T& out) {
  const auto value = base::number<T>(text);
  if (value) out = *value;
  return value.has_value();
}

bool limit(decltype(RLIMIT_AS) what, rlim_t value) {
  const rlimit both{value, value};
  return ::setrlimit(what, &both) == 0;
}

bool drop_user() {
  if (::geteuid() != 0) return true;
  // Nobody even if the target is root's: that root may be a container's.
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

/// The libraries that DACs of .NET 8 to 10 need (readelf -d), from this machine's own folders. If one is missing,
/// loading the DAC fails later.
void load_libraries() {
  for (const char* name :
       {"libc.so.6", "libgcc_s.so.1", "libpthread.so.0", "librt.so.1", "libdl.so.2", "libm.so.6", "libstdc++.so.6"})
    (void)::dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::optional<Orders> parse_orders(int argc, char** argv) {
  Orders orders;
  if (argc != 3 || std::string_view(argv[1]) != "--serve") return std::nullopt;
  if (!number(argv[2], orders.parent)) return std::nullopt;
  return orders;
}

bool seal(const Orders& orders) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != orders.parent) return false;
  if (!quiet_standard_streams()) return false;
  if (::syscall(SYS_close_range, dotnet::dac::kHelperDac + 1, ~0u, 0) != 0) return false;
  (void)::prctl(PR_SET_NAME, "mixstack-helper");  // executed by descriptor, it is called "5"
  if (::chdir("/") != 0) return false;
  load_libraries();
  if (!open_answered_files()) return false;
  if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_NOFILE, kMaxDescriptors) || !limit(RLIMIT_FSIZE, 0) ||
      !limit(RLIMIT_AS, kMaxAddressSpace))
    return false;
  if (!drop_user() || !drop_capabilities()) return false;
  // Changing the user clears the parent-death signal (prctl(2)): set it again.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != orders.parent) return false;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && answer_file_calls() && allow_few_system_calls();
}

}  // namespace mixstack::helper
