// A library in the place of a DAC that attacks the program which loads it: its constructor tries to get out of the
// helper, and then it speaks in the helper's name. What it is to do, and with whom, stands at the end of its own file:
// "\n@hostile WAY PID FILE\n".
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "dotnet/dac/message_channel.h"
#include "dotnet/dac/protocol.h"

namespace {

using namespace mixstack::dotnet::dac;

struct Orders {
  char way[32] = {};
  int victim = 0;
  char file[512] = {};
};

Orders read_orders() {
  Orders orders;
  char tail[1024] = {};
  struct stat st {};
  if (::fstat(kHelperDac, &st) != 0) return orders;
  const off_t from = st.st_size > 1023 ? st.st_size - 1023 : 0;
  const ssize_t n = ::pread(kHelperDac, tail, sizeof tail - 1, from);
  const std::string text(tail, n > 0 ? static_cast<std::size_t>(n) : 0);
  const auto at = text.rfind("@hostile ");
  if (at != std::string::npos)
    std::sscanf(text.c_str() + at, "@hostile %31s %d %511s", orders.way, &orders.victim, orders.file);
  return orders;
}

bool opens(const char* path, int flags) {
  const int fd = ::open(path, flags);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

/// 0, or the number of the first thing that it got away with.
int escape_by_files(const Orders& orders) {
  if (opens(orders.file, O_RDONLY)) return 51;
  if (opens(("/proc/" + std::to_string(::getppid()) + "/mem").c_str(), O_RDWR)) return 52;
  if (opens("/etc/passwd", O_RDONLY)) return 53;
  if (opens("/tmp/mixstack-was-here", O_WRONLY | O_CREAT)) return 54;
  struct stat st {};
  if (::stat(orders.file, &st) == 0) return 55;
  if (::access("/etc/passwd", F_OK) == 0) return 56;
  char link[64];
  if (::readlink("/proc/self/exe", link, sizeof link) >= 0) return 57;
  if (::syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", link, sizeof link) >= 0) return 58;
  if (::mkdir("/tmp/mixstack-was-here", 0700) == 0 || ::unlink(orders.file) == 0) return 59;
  if (::chdir("/proc") == 0) return 60;
  // Descriptors of the program that started us.
  for (int fd = 5; fd < 1024; fd++) {
    char first = 0;
    if (::fcntl(fd, F_GETFD) >= 0 && ::write(fd, &first, 0) == 0 && ::lseek(fd, 0, SEEK_CUR) < 0) return 61;
  }
  return 0;
}

int escape_by_signals(const Orders& orders) {
  for (const int fd : {0, 1, 2, kHelperSocket, kHelperDac}) {
    if (::fcntl(fd, F_SETOWN, orders.victim) == 0) return 71;
    if (::fcntl(fd, F_SETSIG, SIGKILL) == 0) return 72;
    if (::fcntl(fd, F_SETFL, O_ASYNC) == 0) return 73;
    int on = 1, owner = orders.victim;
    if (::ioctl(fd, FIOASYNC, &on) == 0) return 74;
    if (::ioctl(fd, FIOSETOWN, &owner) == 0) return 75;
  }
  for (const int pid : {orders.victim, ::getppid(), ::getpid()}) {
    siginfo_t info{};
    if (::kill(pid, SIGKILL) == 0) return 76;
    if (::syscall(SYS_tgkill, pid, pid, SIGKILL) == 0 || ::syscall(SYS_tkill, pid, SIGKILL) == 0) return 77;
    if (::syscall(SYS_rt_sigqueueinfo, pid, SIGKILL, &info) == 0) return 78;
    if (::syscall(SYS_pidfd_open, pid, 0) >= 0) return 79;
    if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0) return 80;
    char byte = 0;
    iovec mine{&byte, 1}, theirs{&byte, 1};
    errno = 0;
    if (::process_vm_readv(pid, &mine, 1, &theirs, 1, 0) == 1 || errno != EPERM) return 81;
  }
  if (::send(kHelperSocket, "x", 1, MSG_OOB) >= 0) return 82;
  return 0;
}

void* nothing(void*) { return nullptr; }

int escape_by_processes() {
  if (::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) >= 0) return 91;
  if (::syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr) >= 0) return 92;
  if (::fork() >= 0) return 93;
  char shell[] = "/bin/true";
  char* arguments[] = {shell, nullptr};
  ::execv(shell, arguments);
  ::syscall(SYS_execveat, kHelperDac, "", arguments, nullptr, AT_EMPTY_PATH);
  if (::socket(AF_INET, SOCK_STREAM, 0) >= 0 || ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return 94;
  io_uring_params parameters{};
  if (::syscall(SYS_io_uring_setup, 1, &parameters) >= 0) return 95;
  if (::unshare(CLONE_NEWUSER) == 0 || ::prctl(PR_SET_DUMPABLE, 1) == 0) return 96;
  if (::geteuid() == 0) return 97;
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, nothing, nullptr) == 0) return 98;
  return 0;
}

[[gnu::constructor]] void on_load() {
  const Orders orders = read_orders();
  if (std::strcmp(orders.way, "escape") == 0) {
    int escaped = escape_by_files(orders);
    if (escaped == 0) escaped = escape_by_signals(orders);
    if (escaped == 0) escaped = escape_by_processes();
    if (escaped != 0) ::_exit(escaped);
  }
  if (std::strcmp(orders.way, "devour") == 0) {
    // More than the helper may have: the status says how much it was in the end, in units of 64 MB.
    int pieces = 0;
    for (; pieces < 200; pieces++) {
      void* piece = ::mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (piece == MAP_FAILED) break;
      std::memset(piece, 1, 64 << 20);
    }
    ::_exit(pieces);
  }
}

Element an_element() {
  Element e;
  e.kind = ElementKind::method;
  e.registers = mixstack::Registers(mixstack::Arch::x86_64);
  return e;
}

/// Whatever is asked: frames for ever.
void flood_walk(MessageChannel& channel) {
  Writer batch;
  while (batch.size() < kMaxPayload / 2) encode(an_element(), batch);
  while (channel.send(MessageType::frames, batch.bytes())) {
  }
}

/// Never late, never done: memory is asked for without end.
void flood_questions(MessageChannel& channel) {
  Writer question;
  question.value(std::uint64_t{0x1000});
  question.value(std::uint32_t{64});
  while (channel.send(MessageType::read_memory, question.bytes()) && channel.receive()) {
  }
}

/// As a DAC over a structure that is being changed.
void crash_on_torn_memory(MessageChannel& channel) {
  Writer question;
  question.value(std::uint64_t{0x1000});
  question.value(std::uint32_t{1});
  if (!channel.send(MessageType::read_memory, question.bytes())) return;
  const auto memory = channel.receive();
  if (memory && !memory->payload.empty() && memory->payload[0] != std::byte{0}) __builtin_trap();
}

void answer(MessageChannel& channel, const DacMessage& message, const Orders& orders) {
  const std::string way = orders.way;
  if (message.type == MessageType::flush) {
    (void)channel.send(MessageType::flushed, {});
  } else if (message.type == MessageType::threads) {
    ThreadRecord thread;
    thread.os_id = static_cast<std::uint32_t>(orders.victim);
    thread.exception_type.assign(kMaxText, 'x');
    Writer batch;
    while (batch.size() + kMaxText < kMaxPayload / 2) encode(thread, batch);
    for (int i = 0; way == "threads" || i < 1; i++)
      if (!channel.send(MessageType::thread_list, batch.bytes())) return;
    (void)channel.send(MessageType::thread_list, {});
  } else if (message.type == MessageType::walk) {
    way == "questions" ? flood_questions(channel) : flood_walk(channel);
  } else {
    if (way == "torn") crash_on_torn_memory(channel);
    // Each answer in time, none soon.
    if (way == "slow") ::usleep(400'000);
    Description d;
    d.kind = CodeClass::method;
    d.name.assign(kMaxText, 'x');
    (void)channel.send(MessageType::description, encode(d));
  }
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int DllMain(void*, std::uint32_t, void*) { return 1; }

/// Takes the helper's socket over and never comes back.
[[gnu::visibility("default")]] std::int32_t CLRDataCreateInstance(const void*, void*, void** out) {
  *out = nullptr;
  const Orders orders = read_orders();
  if (std::strcmp(orders.way, "escape") == 0) return static_cast<std::int32_t>(0x80004005u);
  MessageChannel channel{mixstack::base::ScopedFd(kHelperSocket)};
  if (!channel.send(MessageType::opened, {})) ::_exit(0);
  while (const auto message = channel.receive()) answer(channel, *message, orders);
  ::_exit(0);
}
}
