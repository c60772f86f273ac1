// Facts about captured threads, read from /proc after the stop.
// Input: the captured threads, the view of the process, off-CPU times from before the stop. Output: for each thread its
// name, CPU and queue time, wait channel, and the arguments and object of the call that it blocks in.
// Algorithm: 1. for each thread: name (if the capture has none), call, wait channel. A call counts only if number and
// stack pointer are those of the capture. Its object depends on the call: polled files, futex, path, or the file of its
// descriptor; socket tables are read only if a socket occurs. 2. threads that still run after the stop are asked again;
// those that get no processor have their call in the registers of the capture. 3. times come last: a thread that is
// back in its wait uses no more time, so they fit the calls. Bounds: kMostNet bytes of a table, kMostPath of a path,
// kShown polled files, kMostRounds rounds; a file is looked up once.
#include "process/live/thread_facts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/arch/call_arguments.h"
#include "base/system/number.h"
#include "process/live/process_usage.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMostNet = 4 << 20;  // bytes of one table of sockets
constexpr std::size_t kMostPath = 4096;
constexpr unsigned kNone = 6;

/// Which argument of a call of this machine's kernel is the file descriptor that it waits for; kNone: none.
unsigned descriptor_argument(std::int64_t number) {
  switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ioctl:
    case SYS_epoll_pwait:
    case SYS_splice:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
      return 0;
    default:
      return kNone;
  }
}

bool is_poll(std::int64_t number) {
#ifdef SYS_poll
  if (number == SYS_poll) return true;
#endif
  return number == SYS_ppoll;
}

/// Splits at blanks.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  [[nodiscard]] std::string_view next() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t')) text_.remove_prefix(1);
    const std::size_t end = std::min(text_.find_first_of(" \t\n"), text_.size());
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end);
    return word;
  }

 private:
  std::string_view text_;
};

template <class Number>
bool read_number(std::string_view text, Number& out, int base = 10) {
  const auto value = base::number<Number>(text, base);
  out = value.value_or(out);
  return value.has_value();
}

/// "0100007F:0050" or the 32 digits of IPv6: words of the kernel's byte order, then the port.
std::string address_text(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::uint16_t port = 0;
  if (colon == std::string_view::npos || !read_number(text.substr(colon + 1), port, 16)) return {};
  std::array<std::uint32_t, 4> words{};
  const std::string_view digits = text.substr(0, colon);
  const std::size_t count = digits.size() / 8;
  if (digits.size() % 8 != 0 || (count != 1 && count != 4)) return {};
  for (std::size_t i = 0; i < count; i++)
    if (!read_number(digits.substr(i * 8, 8), words[i], 16)) return {};
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const bool mapped = count == 4 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
  if (count == 1 || mapped) {
    (void)::inet_ntop(AF_INET, mapped ? &words[3] : words.data(), buffer.data(), buffer.size());
    return std::string(buffer.data()) + ":" + std::to_string(port);
  }
  (void)::inet_ntop(AF_INET6, words.data(), buffer.data(), buffer.size());
  return "[" + std::string(buffer.data()) + "]:" + std::to_string(port);
}

template <class Line>
void for_each_line(std::string_view text, Line line) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    line(text.substr(at, end - at));
    at = end + 1;
  }
}

/// The names of the files of one process, each looked up once.
class Descriptors {
 public:
  explicit Descriptors(const ProcessView& view) : view_(view) {}

  const std::string& name(std::int32_t fd) {
    const auto [at, is_new] = names_.try_emplace(fd);
    if (is_new) at->second = look_up(fd);
    return at->second;
  }

 private:
  std::string look_up(std::int32_t fd) {
    const auto link = view_.proc.read_link("fd/" + std::to_string(fd));
    if (!link) return {};
    std::uint64_t inode = 0;
    if (link->starts_with("socket:[") && read_number(std::string_view(*link).substr(8, link->size() - 9), inode))
      return socket(inode);
    if (link->starts_with("pipe:[")) return "pipe";
    if (*link == "anon_inode:[eventpoll]") return epoll(fd);
    if (link->starts_with("anon_inode:[") && link->ends_with(']')) return link->substr(12, link->size() - 13);
    return *link;
  }

  std::string socket(std::uint64_t inode) {
    const std::string* name = sockets_.name(inode);
    return name == nullptr ? "socket" : *name;
  }

  std::string epoll(std::int32_t fd) const {
    const auto info = view_.proc.read("fdinfo/" + std::to_string(fd), kMostNet);
    if (!info) return "epoll";
    std::size_t files = 0;
    for_each_line(*info, [&](std::string_view line) { files += line.starts_with("tfd:") ? 1 : 0; });
    return "epoll of " + std::to_string(files) + (files == 1 ? " file" : " files");
  }

  const ProcessView& view_;
  std::map<std::int32_t, std::string> names_;
  SocketTables sockets_{
      [&view = view_](const std::string& file) { return view.proc.read(file, kMostNet).value_or(std::string()); }};
};

/// The path that an openat opens: a FIFO without a partner, or a file system that does not answer, may block it.
std::string path_at(const MemoryReader& memory, Address address) {
  std::string path(kMostPath, '\0');
  const auto read = memory.read_some(address, std::as_writable_bytes(std::span(path)));
  path.resize(read ? *read : 0);
  const std::size_t end = path.find('\0');
  return end == std::string::npos ? std::string() : path.substr(0, end);
}

std::string polled(const ProcessView& view, Descriptors& descriptors, Address address, std::uint64_t count) {
  constexpr std::uint64_t kShown = 2;
  struct Entry {
    std::int32_t fd;
    std::int16_t events, revents;
  };
  std::string text;
  for (std::uint64_t i = 0; i < std::min(count, kShown); i++) {
    Entry entry{};
    const auto read = view.memory.read_some(address + i * sizeof entry, std::as_writable_bytes(std::span(&entry, 1)));
    if (!read || *read != sizeof entry) return text;
    if (entry.fd < 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(entry.fd) + " " + descriptors.name(entry.fd);
  }
  if (count > kShown) text += " and " + std::to_string(count - kShown) + " others";
  return text;
}

void read_times(const ProcDir& proc, ThreadId tid, ThreadFacts& facts) {
  // "time on the CPU, time waited for it, slices" (Documentation/scheduler/sched-stats.rst)
  const auto text = proc.read_of_task(tid, "schedstat");
  if (!text) return;
  Words words(*text);
  std::int64_t cpu = 0, queued = 0;
  if (!read_number(words.next(), cpu) || !read_number(words.next(), queued) || cpu < 0 || queued < 0) return;
  facts.cpu = std::chrono::nanoseconds(cpu);
  facts.queued = std::chrono::nanoseconds(queued);
}

/// Answers whether to ask for the next thread, too: kernels without such names answer "0" (proc(5), wchan).
bool read_channel(const ProcDir& proc, const ThreadCapture& thread, ThreadFacts& facts) {
  if (thread.kernel_state == 'R') return true;
  auto name = proc.read_of_task(thread.tid, "wchan");
  if (!name) return name.error().code == ErrorCode::no_such_process;
  if (*name == "0") return false;
  facts.wait_channel = std::move(*name);
  return true;
}

void read_name(const ProcDir& proc, const ThreadCapture& thread, ThreadFacts& facts) {
  if (!thread.comm.empty()) return;
  facts.comm = proc.read_of_task(thread.tid, "comm").value_or(std::string());
  if (facts.comm.ends_with('\n')) facts.comm.pop_back();
}

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return "0x" + std::string(digits.data(), end);
}

void set_call(const ProcessView& view, std::int64_t number, const arch::CallArguments& arguments,
              Descriptors& descriptors, ThreadFacts& facts) {
  facts.arguments = arguments;
  if (is_poll(number)) {
    facts.object = polled(view, descriptors, arguments[0], arguments[1]);
  } else if (number == SYS_futex) {
    facts.object = "futex " + hex(arguments[0]);
  } else if (number == SYS_openat) {
    facts.object = path_at(view.memory, arguments[1]);
  } else if (const unsigned argument = descriptor_argument(number); argument != kNone) {
    facts.fd = static_cast<std::int32_t>(arguments[argument]);
    facts.object = descriptors.name(*facts.fd);
  }
}

/// False: the thread is not yet back in the call that it was stopped in, ask again.
bool read_call(const ProcessView& view, const ThreadCapture& thread, Descriptors& descriptors, ThreadFacts& facts) {
  if (!thread.captured || thread.syscall < 0) return true;
  const auto text = view.proc.read_of_task(thread.tid, "syscall");
  if (!text) return true;
  const auto call = parse_blocked_call(*text);
  if (!call) return false;  // it runs, or the kernel holds it up elsewhere on its way back
  const Address sp = thread.registers.sp();
  // A call with a time-out that our stop interrupted goes on as restart_syscall, with the registers that it had.
  if ((call->number != thread.syscall && call->number != SYS_restart_syscall) || call->sp != sp) return true;
  set_call(view, thread.syscall, call->arguments, descriptors, facts);
  return true;
}

/// A thread that waited, and finds no processor to go back into its wait: the arguments are in its registers, unless
/// the result of the call took the place of the first (AArch64, EINTR).
void read_call_of_registers(const ProcessView& view, const ThreadCapture& thread, Descriptors& descriptors,
                            ThreadFacts& facts) {
  constexpr auto kEintr = static_cast<std::uint64_t>(-EINTR);
  if (thread.kernel_state == 'R') return;
  const auto arguments = arch::arguments_in(thread.registers);
  if (arguments && arguments->front() != kEintr) set_call(view, thread.syscall, *arguments, descriptors, facts);
}

}  // namespace

std::optional<BlockedCall> parse_blocked_call(std::string_view text) {
  Words words(text);
  BlockedCall call;
  if (!read_number(words.next(), call.number) || call.number < 0) return std::nullopt;
  const auto read_hex = [&](std::uint64_t& out) {
    const std::string_view word = words.next();
    return word.starts_with("0x") && read_number(word.substr(2), out, 16);
  };
  for (std::uint64_t& argument : call.arguments)
    if (!read_hex(argument)) return std::nullopt;
  if (!read_hex(call.sp)) return std::nullopt;
  return call;
}

void parse_inet_sockets(std::string_view table, std::string_view protocol, SocketNames& out) {
  constexpr std::string_view kListening = "0A";  // TCP_LISTEN, include/net/tcp_states.h
  for_each_line(table, [&](std::string_view line) {
    Words words(line);
    (void)words.next();  // "12:"
    const std::string local = address_text(words.next()), remote = address_text(words.next());
    const std::string_view state = words.next();
    // tx_queue:rx_queue, tr:when, retransmits, uid, timeout
    for (int skipped = 0; skipped < 5; skipped++) (void)words.next();
    std::uint64_t inode = 0;
    if (local.empty() || remote.empty() || !read_number(words.next(), inode) || inode == 0) return;
    std::string text(protocol);
    if (protocol == "tcp" && state == kListening) {
      text += " listening on " + local;
    } else {
      text += " " + local + (remote.ends_with(":0") ? "" : " -> " + remote);
    }
    out[inode] = std::move(text);
  });
}

void parse_unix_sockets(std::string_view table, SocketNames& out) {
  for_each_line(table, [&](std::string_view line) {
    Words words(line);
    // Num RefCount Protocol Flags Type St Inode Path
    for (int skipped = 0; skipped < 6; skipped++) (void)words.next();
    std::uint64_t inode = 0;
    if (!read_number(words.next(), inode) || inode == 0) return;
    const std::string_view path = words.next();
    out[inode] = "unix socket" + (path.empty() ? "" : " " + std::string(path));
  });
}

bool SocketTables::read_next() {
  constexpr std::string_view kTables[] = {"unix", "tcp", "tcp6", "udp", "udp6"};
  if (tables_ == std::size(kTables)) return false;
  const std::string_view table = kTables[tables_++];
  const std::string text = read_("net/" + std::string(table));
  if (table == "unix")
    parse_unix_sockets(text, names_);
  else
    parse_inet_sockets(text, table.substr(0, 3), names_);
  return true;
}

const std::string* SocketTables::name(std::uint64_t inode) {
  do {
    if (const auto at = names_.find(inode); at != names_.end()) return &at->second;
  } while (read_next());
  return nullptr;
}

const SocketNames& SocketTables::all() {
  while (read_next()) {
  }
  return names_;
}

std::vector<ThreadFacts> read_thread_facts(const ProcessView& view, std::span<const ThreadCapture> threads,
                                           const OffCpuTimes* off_cpu) {
  std::vector<ThreadFacts> all(threads.size());
  Descriptors descriptors(view);
  bool tells_channels = off_cpu != nullptr;
  std::vector<std::size_t> again;
  const auto is_settled = [&](std::size_t i) { return read_call(view, threads[i], descriptors, all[i]); };
  for (std::size_t i = 0; i < threads.size(); i++) {
    if (off_cpu != nullptr)
      if (const auto at = off_cpu->find(threads[i].tid); at != off_cpu->end()) all[i].off_cpu = at->second;
    read_name(view.proc, threads[i], all[i]);
    if (!is_settled(i)) again.push_back(i);
    if (tells_channels) tells_channels = read_channel(view.proc, threads[i], all[i]);
  }
  // On a busy machine they come back one after the other.
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds && !again.empty(); round++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::erase_if(again, is_settled);
  }
  for (const std::size_t i : again) read_call_of_registers(view, threads[i], descriptors, all[i]);
  // Times after the calls: a thread that is back in its wait by then has used none since.
  const auto process_cpu = cpu_of_process(view.info.pid);
  for (std::size_t i = 0; i < threads.size(); i++) {
    read_times(view.proc, threads[i].tid, all[i]);
    all[i].process_cpu = process_cpu;
  }
  return all;
}

}  // namespace mixstack::process
