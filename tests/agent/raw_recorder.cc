// A Recorder in place of the agent's: it writes every stack as the handler left it, with its addresses, a line each, to
// the file that MIXSTACK_TEST_STACKS names. Everything else in the library of the test is the agent's own.
#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "agent/in_process/recorder.h"

namespace mixstack::agent {

/// "TID<tab>STATE<tab>STOP", then for each frame "<tab>ADDRESS KIND NAME".
void Recorder::add(const Sample& sample) {
  const std::lock_guard lock(mutex_);
  account_.samples++;
  if (sample.stop != StopReason::end_of_stack) account_.cut++;
  const char* path = std::getenv("MIXSTACK_TEST_STACKS");
  if (path == nullptr) return;
  std::string line = std::to_string(sample.tid) + "\t" + std::string(word_of(sample.state)) + "\t" +
                     std::string(to_string(sample.stop));
  for (std::size_t i = 0; i < sample.count; i++) {
    const ProfileFrame frame = namer_(sample.address(i) - (i == 0 ? 0 : 1), sample.method(i));
    char address[32];
    (void)std::snprintf(address, sizeof(address), "\t%#" PRIx64 " ", sample.address(i));
    line += address + std::string(frame.kind == FrameKind::managed ? "managed " : "other ") + frame.name;
  }
  line += "\n";
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  (void)!::write(file, line.data(), line.size());
  (void)::close(file);
}

/// Every sample is walked.
bool Recorder::repeat(std::uint32_t) { return false; }
void Recorder::flush() {}
void Recorder::finish() {}
void Recorder::send_to(std::shared_ptr<Outbox>) {}
bool Recorder::no_longer_to(const Outbox*) { return true; }

ProfileAccount Recorder::account() const {
  const std::lock_guard lock(mutex_);
  return account_;
}

Profile Recorder::take() { return {}; }

}  // namespace mixstack::agent
