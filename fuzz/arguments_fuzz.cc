// LINK: mixstack_frontends_cli
// Any command line: words apart by line breaks or NULs. What parse_arguments promises must hold of every answer, and
// the program must say something and end with a documented exit code where no process or core is there.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/system/scoped_fd.h"
#include "frontends/cli/arguments.h"
#include "frontends/cli/program.h"

namespace {

using namespace mixstack;
using namespace mixstack::cli;

void require(bool ok) {
  if (!ok) std::abort();
}

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::size_t kMaxWords = 256;
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c != '\n' && c != '\0')
      words.back() += c;
    else if (words.size() < kMaxWords)
      words.emplace_back();
  return words;
}

void check_dump(const DumpArguments& dump) {
  const int sources = (dump.pid != 0 ? 1 : 0) + (dump.core.path.empty() ? 0 : 1) + (dump.stored_core.empty() ? 0 : 1) +
                      (dump.name.empty() ? 0 : 1);
  require(sources == 1);
  require(dump.pid <= INT32_MAX);
  const auto& threads = dump.options.threads;
  require(std::is_sorted(threads.begin(), threads.end()));
  require(std::adjacent_find(threads.begin(), threads.end()) == threads.end());
  require(threads.empty() || threads.front() > 0);
  require(dump.options.walk.max_frames > 0 && dump.options.stop_timeout.count() > 0);
  require(dump.options.stop_timeout <= std::chrono::hours(1));
}

void check_agent(const AgentArguments& agent) {
  using Verb = AgentArguments::Verb;
  require(agent.pid != 0 && agent.pid <= INT32_MAX);
  require(agent.cpu_hertz <= 10'000 && agent.wall_hertz <= 1000);
  require(agent.verb != Verb::record || agent.cpu_hertz + agent.wall_hertz != 0);
  require(agent.timeout.count() > 0 && agent.duration.count() >= 0);
  // Settings are lines.
  require(agent.out.find('\n') == std::string::npos);
}

void check_pack(const PackArguments& pack) {
  require((pack.pid != 0) == pack.core.path.empty() && pack.pid <= INT32_MAX);
  require(!pack.out.empty());
}

/// Only lines that lead to no other program, file or process of this machine are run.
void run(const std::vector<std::string>& words) {
  base::ScopedFd out(::memfd_create("out", MFD_CLOEXEC)), err(::memfd_create("err", MFD_CLOEXEC));
  Environment environment;
  environment.out = out.get();
  environment.err = err.get();
  environment.open_process = [](std::uint32_t) { return fail(ErrorCode::io_error); };
  environment.open_unstopped = environment.open_process;
  environment.open_core = [](const CoreOptions&) { return fail(ErrorCode::malformed); };
  const int code = run_program(words, environment);
  require(code >= 0 && code <= static_cast<int>(ExitCode::output));
  require(code == 0 ? ::lseek(out.get(), 0, SEEK_END) > 0 : ::lseek(err.get(), 0, SEEK_END) > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto words = words_of({reinterpret_cast<const char*>(data), size});
  const Invocation invocation = parse_arguments(words);
  using Action = Invocation::Action;
  if (invocation.action == Action::dump) check_dump(invocation.dump);
  if (invocation.action == Action::agent) check_agent(invocation.agent);
  if (invocation.action == Action::pack) check_pack(invocation.pack);
  const bool is_text = invocation.action == Action::print || invocation.action == Action::usage_error;
  if (is_text) require(!invocation.text.empty());
  // The other commands look at this machine.
  if (is_text ||
      (invocation.action == Action::dump && invocation.dump.stored_core.empty() && invocation.dump.name.empty()))
    run(words);
  return 0;
}
