#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/cli/program.h"

namespace {

void say(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

/// Allocates nothing.
bool wants_json_messages() {
  const char* wanted = ::secure_getenv("MIXSTACK_MESSAGES");
  return wanted != nullptr && std::string_view(wanted) == "json";
}

/// Exits at once, from any thread: without memory not even unwinding an exception is reliable. The kernel resumes
/// stopped threads when their tracer exits.
[[noreturn]] void end_without_memory() {
  if (wants_json_messages())
    say("{\"format\":\"mixstack-message\",\"format_version\":1,\"exit_code\":10,\"code\":\"resources\","
        "\"reason\":\"memory\",\"os_error\":12,\"text\":\"not enough memory\"}\n");
  else
    say("mixstack: not enough memory (limits: ulimit -v, the cgroup). A process it looked at runs on.\n");
  ::_exit(static_cast<int>(mixstack::cli::ExitCode::resources));
}

}  // namespace

int main(int argc, char** argv) {
  std::set_new_handler(end_without_memory);
  try {
    mixstack::cli::Environment environment;
    // With raised privileges (AT_SECURE), the caller's PATH must not choose the programs that we run.
    if (const char* path = ::secure_getenv("PATH"); path != nullptr) environment.search_path = path;
    environment.json_messages = wants_json_messages();
    std::vector<std::shared_ptr<void>> left;
    environment.leave_to_the_end = [&left](std::shared_ptr<void> what) { left.push_back(std::move(what)); };
    const int code =
        mixstack::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), environment);
#ifndef MIXSTACK_IS_SANITIZED
    // All output is written; skip the destructors of large objects.
    if (!left.empty() && std::fflush(nullptr) == 0) std::_Exit(code);
#endif
    return code;
  } catch (const std::bad_alloc&) {  // an impossible size, which does not call the new handler
    end_without_memory();
  } catch (const std::exception& e) {
    say("mixstack: a fault inside mixstack: ");
    say(e.what());
    say("\n");
  }
  return static_cast<int>(mixstack::cli::ExitCode::internal);
}
