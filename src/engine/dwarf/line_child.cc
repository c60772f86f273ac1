#include "engine/dwarf/line_child.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace mixstack::symbols {
namespace {

using Clock = std::chrono::steady_clock;

bool write_all(int fd, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& out, std::string text) {
  text.resize(std::min<std::size_t>(text.size(), LineChild::kMostText));
  append(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

/// The number of bytes our address space has now.
std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// A fault ends the child quietly: no core, no message, no handler of the program we are in.
void bound(std::uint64_t space) {
  ::prctl(PR_SET_DUMPABLE, 0);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGPIPE})
    ::signal(signal, SIG_DFL);
  const rlimit seconds{4, 4}, none{0, 0};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::setrlimit(RLIMIT_CORE, &none);
  const rlimit memory{space + LineChild::kMemory, space + LineChild::kMemory};
  ::setrlimit(RLIMIT_AS, &memory);
}

void serve(int fd, LineTable& table) {
  std::uint64_t address = 0;
  for (;;) {
    const ssize_t n = ::recv(fd, &address, sizeof address, MSG_WAITALL);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof address) return;
    auto places = table.at(address);
    places.resize(std::min<std::size_t>(places.size(), LineChild::kMostPlaces));
    std::string answer;
    append(answer, static_cast<std::uint32_t>(places.size()));
    for (const SourcePlace& p : places) {
      append(answer, p.entry);
      append(answer, p.line);
      append(answer, p.function);
      append(answer, p.file);
    }
    if (!write_all(fd, answer)) return;
  }
}

}  // namespace

Result<std::unique_ptr<LineChild>> LineChild::start(std::shared_ptr<const images::ElfImage> image,
                                                    std::shared_ptr<const images::ElfImage> shared,
                                                    DebugSections::Packed packed, LineBudget& budget) {
  if (!image) return fail(ErrorCode::not_found);
  if (!DebugSections::is_at_hand(*image, packed)) return fail(ErrorCode::limit_exceeded);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail(ErrorCode::io_error);
  base::ScopedFd ours(ends[0]), theirs(ends[1]);
  const std::uint64_t space = address_space();
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::io_error);
  if (child == 0) {
    bound(space);
    ::close(ours.get());
    LineBudget own = budget;
    if (auto table = LineTable::open(std::move(image), std::move(shared), packed, own)) serve(theirs.get(), **table);
    ::_exit(0);
  }
  base::ScopedFd handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  return std::unique_ptr<LineChild>(new LineChild(child, std::move(handle), std::move(ours), budget));
}

LineChild::~LineChild() { end(); }

void LineChild::end() {
  if (child_ == 0) return;
  link_ = base::ScopedFd();
  // By its descriptor, because our program may have waited for the child, and its number may be reused.
  if (handle_) {
    (void)::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
  } else {
    ::kill(child_, SIGKILL);  // Linux before 5.3 has no such descriptors
  }
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
}

bool LineChild::read(void* out, std::size_t size) {
  auto* at = static_cast<char*>(out);
  while (size != 0) {
    const auto begin = Clock::now();
    pollfd wait{link_.get(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(budget_.time).count();
    const int ready = left <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(left));
    budget_.time -= Clock::now() - begin;
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t n = ready <= 0 ? 0 : ::recv(link_.get(), at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool LineChild::read_text(std::string& out) {
  std::uint32_t size = 0;
  if (!read(&size, sizeof size) || size > kMostText) return false;
  out.resize(size);
  return read(out.data(), size);
}

bool LineChild::read_place(SourcePlace& place) {
  return read(&place.entry, sizeof place.entry) && read(&place.line, sizeof place.line) && read_text(place.function) &&
         read_text(place.file);
}

std::vector<SourcePlace> LineChild::at(std::uint64_t address) {
  if (child_ == 0) return {};
  std::string question;
  append(question, address);
  std::uint32_t count = 0;
  std::vector<SourcePlace> places;
  bool is_well = write_all(link_.get(), question) && read(&count, sizeof count) && count <= kMostPlaces;
  for (std::uint32_t i = 0; is_well && i < count; i++) {
    places.emplace_back();
    is_well = read_place(places.back());
  }
  if (is_well) return places;
  end();
  return {};
}

}  // namespace mixstack::symbols
