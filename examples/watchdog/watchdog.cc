// Watches the main thread of a process; when its stack has not changed for some seconds, prints all stacks.
//
//   watchdog PID [SECONDS]        exit code 0: the process ended; 1: it hangs; 2: it cannot be watched
//
// Each look stops one thread for some microseconds. A main thread that waits for work in an event loop stands still,
// too: a watchdog of a real service would ask whether the innermost frames are that wait.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "common/print_stack.h"
#include "mixstack/session.h"

namespace {

using std::chrono::steady_clock;

/// What must change when a thread does anything: where it is, and in which invocation.
struct Place {
  std::vector<mixstack::Address> addresses;
  friend bool operator==(const Place&, const Place&) = default;
};

mixstack::Result<Place> look(mixstack::Session& session, mixstack::ThreadId thread) {
  mixstack::DumpOptions options;
  options.threads = {thread};
  auto capture = session.capture(options);
  if (!capture) return mixstack::fail(capture.error());
  auto walker = session.walker(std::move(*capture), {});
  if (!walker) return mixstack::fail(walker.error());
  const mixstack::ThreadCapture* captured = walker->thread(thread);
  if (captured == nullptr || !captured->captured) return mixstack::fail(mixstack::ErrorCode::no_such_thread);
  Place place;
  // Addresses only. Names cost more and are not needed until something is wrong.
  for (const mixstack::Frame& frame : walker->frames(*captured)) {
    place.addresses.push_back(frame.pc.raw());
    place.addresses.push_back(frame.sp);
  }
  return place;
}

int print_all(mixstack::Session& session) {
  mixstack::DumpOptions options;
  options.stop_timeout = std::chrono::seconds(1);  // it hangs anyway
  const auto dump = session.dump(options);
  if (!dump) return 2;
  for (const mixstack::ThreadDump& thread : dump->threads) examples::print_stack(*dump, thread);
  return 1;
}

int watch(mixstack::Session& session, std::uint32_t pid, std::chrono::seconds patience) {
  Place last;
  auto moved = steady_clock::now();
  for (;;) {
    const auto place = look(session, pid);
    if (!place) {
      if (place.error().code == mixstack::ErrorCode::thread_not_stopped) continue;  // busy, so not hanging
      std::printf("process %u ended\n", pid);
      return 0;
    }
    if (*place != last) {
      last = *place;
      moved = steady_clock::now();
    } else if (steady_clock::now() - moved >= patience) {
      std::printf("process %u has not moved for %lld s\n", pid, static_cast<long long>(patience.count()));
      return print_all(session);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int pid = count > 1 ? std::atoi(arguments[1]) : 0;
  const int seconds = count > 2 ? std::atoi(arguments[2]) : 10;
  if (pid <= 0 || seconds <= 0) {
    std::fprintf(stderr, "usage: watchdog PID [SECONDS]\n");
    return 2;
  }
  auto session = mixstack::Session::open_process(static_cast<std::uint32_t>(pid));
  if (!session) {
    std::fprintf(stderr, "cannot watch %d: %s\n", pid, mixstack::describe(session.error()).c_str());
    return 2;
  }
  return watch(**session, static_cast<std::uint32_t>(pid), std::chrono::seconds(seconds));
}
