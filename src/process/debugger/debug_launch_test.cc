// Programs that are started to be debugged, and walked while held.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "process/debugger/debug_test.h"
#include "process/live/live_target.h"
#include "support/source_folder.h"

namespace mixstack::process {
namespace {

using namespace test;

LaunchRequest sleeping(const char* seconds = "1000") {
  LaunchRequest request;
  request.executable = "/bin/sleep";
  request.arguments = {"sleep", seconds};
  request.options.kill_with_us = true;
  request.startup_limit *= slowness();
  return request;
}

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  std::string drain() {
    ::close(ends[1]);
    ends[1] = -1;
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }
};

/// Whatever the environment.
void expect_held_when_the_linker_has_done_its_work(std::optional<std::vector<std::string>> environment) {
  Loop loop;
  auto request = sleeping();
  request.environment = std::move(environment);
  auto launched = loop->launch(request);
  ASSERT_TRUE(launched.has_value()) << static_cast<int>(launched.error().code);
  DebuggedProcess& p = **launched;
  EXPECT_FALSE(p.is_running());
  const auto libraries = p.libraries();
  ASSERT_TRUE(libraries.has_value());
  const auto is_libc = [](const LoadedLibrary& l) { return l.path.find("libc.so.6") != std::string::npos; };
  EXPECT_TRUE(std::any_of(libraries->begin(), libraries->end(), is_libc));
  EXPECT_EQ(libraries->front().path, p.info().executable);
  EXPECT_TRUE(p.library_trap_address().has_value());
  // Its first instruction outside the linker is still to come: pc lies in the linker.
  const auto registers = p.registers(p.pid());
  ASSERT_TRUE(registers.has_value());
  auto target = p.open_target();
  ASSERT_TRUE(target.has_value());
  const auto regions = (*target)->regions();
  for (const auto& r : *regions)
    if (r.range.contains(registers->registers.pc())) {
      EXPECT_NE(r.path.find("ld-linux"), std::string::npos) << r.path;
    }
  EXPECT_EQ(p.info().command_line, (std::vector<std::string>{"sleep", "1000"}));
  loop.turn(0);
  EXPECT_TRUE(loop.events().empty()) << "all this is no news";
  ASSERT_TRUE(p.resume().has_value());
  EXPECT_TRUE(eventually([&] { return state_of(static_cast<pid_t>(p.pid())) == 'S'; }));
  EXPECT_TRUE(p.kill().has_value());
  EXPECT_TRUE(loop.until_seen(Kind::killed));
}

TEST(DebugLaunch, HeldWhenTheLinkerHasDoneItsWork) { expect_held_when_the_linker_has_done_its_work({}); }

/// Where the linker has found everything without its cache it makes no system call after that.
TEST(DebugLaunch, HeldWhenTheLinkerHasDoneItsWorkWithoutACache) {
  Dl_info libc{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::getrlimit), &libc), 0);
  const auto folder = std::filesystem::path(libc.dli_fname).parent_path().string();
  expect_held_when_the_linker_has_done_its_work({{"LD_LIBRARY_PATH=" + folder}});
}

TEST(DebugLaunch, ArgumentsEnvironmentDescriptorsAndDirectory) {
  Loop loop;
  Pipe out, err;
  LaunchRequest request;
  request.executable = "/bin/sh";
  request.arguments = {"sh", "-c", "echo $WORD; pwd; echo to-err >&2; read line || echo no input"};
  request.environment = {{"WORD=said"}};
  // Crosswise: the number that is one's place is the other's source.
  const int low = ::dup(out.ends[1]);
  request.descriptors = {{1, out.ends[1]}, {2, err.ends[1]}, {0, -1}, {low, err.ends[1]}};
  request.working_directory = "/usr";
  auto launched = loop->launch(request);
  ASSERT_TRUE(launched.has_value());
  ::close(low);
  ASSERT_TRUE((*launched)->resume().has_value());
  ASSERT_TRUE(loop.until_seen(Kind::exited));
  EXPECT_EQ(out.drain(), "said\n/usr\nno input\n");
  EXPECT_NE(err.drain().find("to-err\n"), std::string::npos);
}

TEST(DebugLaunch, SignalsAreAtTheirDefaults) {
  Loop loop;
  auto launched = loop->launch(sleeping());
  ASSERT_TRUE(launched.has_value());
  const std::string status = slurp("/proc/" + std::to_string((*launched)->pid()) + "/status");
  for (const char* field : {"SigBlk", "SigIgn", "SigCgt"})
    EXPECT_EQ(status_field(status, field).value_or("?"), "0000000000000000") << field;
}

TEST(DebugLaunch, FailuresAreNamed) {
  Loop loop;
  LaunchRequest request;
  request.executable = "/does/not/exist";
  EXPECT_EQ(loop->launch(request).error().code, ErrorCode::not_found);
  request.executable = "/etc";
  EXPECT_EQ(loop->launch(request).error().code, ErrorCode::permission_denied);
  const std::string text = ::testing::TempDir() + "/no_program";
  std::ofstream(text) << "hello";
  std::filesystem::permissions(text, std::filesystem::perms::owner_all);
  request.executable = text;
  EXPECT_EQ(loop->launch(request).error().code, ErrorCode::unsupported);
  request.executable = "/bin/true";
  request.working_directory = "/does/not/exist";
  EXPECT_EQ(loop->launch(request).error().code, ErrorCode::not_found);
  request.working_directory.clear();
  request.descriptors = {{1, 9999}};
  const Error bad = loop->launch(request).error();
  EXPECT_EQ(bad.code, ErrorCode::io_error);
  EXPECT_EQ(bad.os_error, EBADF);
  EXPECT_TRUE(loop->processes().empty());
  loop.turn(0);
  EXPECT_TRUE(loop.events().empty());
}

TEST(DebugLaunch, AStaticProgramIsHeldAtItsEntry) {
  const std::string program = mixstack::test::source_folder() + "/build/debuggees/native/stay";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << program << " is not built";
  Loop loop;
  LaunchRequest request;
  request.executable = program;
  request.options.kill_with_us = true;
  auto launched = loop->launch(request);
  ASSERT_TRUE(launched.has_value());
  const auto registers = (*launched)->registers((*launched)->pid());
  ASSERT_TRUE(registers.has_value());
  EXPECT_EQ(registers->registers.pc(), (*launched)->info().entry_point);
  EXPECT_TRUE((*launched)->libraries()->empty());
  EXPECT_EQ((*launched)->library_trap_address().error().code, ErrorCode::not_found);
}

TEST(DebugLaunch, WithoutKillItOutlivesTheSession) {
  pid_t pid = 0;
  {
    Loop loop;
    auto request = sleeping();
    request.options.kill_with_us = false;
    auto launched = loop->launch(request);
    ASSERT_TRUE(launched.has_value());
    pid = static_cast<pid_t>((*launched)->pid());
  }
  EXPECT_TRUE(eventually([&] { return state_of(pid) == 'S'; })) << "it went on from where it was held";
  EXPECT_TRUE(is_untraced(pid));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "and it is no child of ours";
  ::kill(pid, SIGKILL);
}

TEST(DebugLaunch, ManyTimesAtOnce) {
  Loop loop;
  std::vector<std::shared_ptr<DebuggedProcess>> all;
  for (int i = 0; i < 30; i++) {
    auto launched = loop->launch(sleeping("0.01"));
    ASSERT_TRUE(launched.has_value());
    all.push_back(*launched);
  }
  for (auto& p : all) ASSERT_TRUE(p->resume().has_value());
  EXPECT_TRUE(loop.until([&] { return loop.count(Kind::exited) == 30; }));
}

/// Each thread of a held process, captured twice: by its tracer, and by nobody else's leave.
TEST(DebugCapture, OfAHeldProcessDisturbsNothing) {
  const TestProcess process(
      [](Shared& s) {
        start_thread(counting_thread, &s);
        start_thread(waiting_thread, &s);
      },
      2);
  Loop loop;
  auto debugged = loop->attach(process.id(), {.hold = true});
  ASSERT_TRUE(debugged.has_value());
  auto live = open_live(process.id());
  ASSERT_TRUE(live.has_value());
  EXPECT_EQ((*live)->capture({}).error().code, ErrorCode::already_traced) << "why a target of our own is needed";
  auto target = (*debugged)->open_target();
  ASSERT_TRUE(target.has_value());
  auto first = (*target)->capture({});
  auto second = (*target)->capture({});
  ASSERT_TRUE(first.has_value() && second.has_value());
  ASSERT_EQ(first->threads.size(), 3u);
  EXPECT_EQ(first->threads_not_stopped, 0u);
  for (std::size_t i = 0; i < 3; i++) {
    const ThreadCapture &a = first->threads[i], &b = second->threads[i];
    ASSERT_TRUE(a.captured && b.captured);
    const auto registers = (*debugged)->registers(a.tid);
    EXPECT_EQ(a.registers.pc(), b.registers.pc());
    EXPECT_EQ(a.registers.sp(), registers->registers.sp());
    EXPECT_TRUE(std::equal(a.stack.bytes.begin(), a.stack.bytes.end(), b.stack.bytes.begin(), b.stack.bytes.end()));
    EXPECT_FALSE(a.stack_truncated);
    EXPECT_GT(a.stack.bytes.size(), 128u);
  }
  EXPECT_TRUE(stands(process)) << "still held";
  // The same process, let go and captured as any other: what does not move is equal.
  ASSERT_TRUE((*debugged)->detach().has_value());
  auto plain = (*live)->capture({});
  ASSERT_TRUE(plain.has_value());
  for (const auto& t : plain->threads) {
    const auto same = std::find_if(first->threads.begin(), first->threads.end(),
                                   [&](const ThreadCapture& c) { return c.tid == t.tid; });
    ASSERT_NE(same, first->threads.end());
    EXPECT_EQ(same->comm, t.comm);
    if (t.syscall < 0) continue;
    EXPECT_EQ(same->registers.sp(), t.registers.sp());
    EXPECT_EQ(same->stack.range(), t.stack.range());
  }
}

/// A machine with much to do may not let every thread run for a while.
CaptureRequest patiently() {
  CaptureRequest request;
  request.stop_timeout = 5s;
  return request;
}

TEST(DebugCapture, OfARunningProcessLetsItRunOn) {
  const TestProcess process([](Shared& s) {
    for (int i = 0; i < 3; i++) start_thread(counting_thread, &s);
  });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  auto target = (*debugged)->open_target();
  ASSERT_TRUE(target.has_value());
  const ThreadId held = (*debugged)->threads()->at(1);
  ASSERT_TRUE((*debugged)->pause(held).has_value());
  for (int i = 0; i < 50; i++) {
    auto capture = (*target)->capture(patiently());
    ASSERT_TRUE(capture.has_value());
    EXPECT_TRUE(std::all_of(capture->threads.begin(), capture->threads.end(),
                            [](const ThreadCapture& t) { return t.captured; }));
  }
  EXPECT_TRUE(counts(process));
  EXPECT_TRUE((*debugged)->is_stopped(held)) << "as it was before";
  CaptureRequest one;
  one.threads = {held, 1};
  EXPECT_EQ((*target)->capture(one)->threads.size(), 1u);
  one.threads = {1};
  EXPECT_EQ((*target)->capture(one).error().code, ErrorCode::no_such_thread);
  EXPECT_EQ(loop.events().size(), 0u);
}

/// `dotnet Scenarios.dll NAME`, from its first instruction under a debugger, spoken to line by line.
class DebuggedDotnet {
 public:
  DebuggedDotnet(Loop& loop, const std::string& scenario) : loop_(loop) {
    LaunchRequest request;
    for (const auto& folder : split(std::string(::getenv("PATH") == nullptr ? "" : ::getenv("PATH"))))
      if (request.executable.empty() && ::access((folder + "/dotnet").c_str(), X_OK) == 0)
        request.executable = folder + "/dotnet";
    const std::string dll = mixstack::test::source_folder() + "/build/debuggees/Scenarios/Scenarios.dll";
    if (request.executable.empty() || !std::filesystem::exists(dll)) return;
    request.arguments = {"dotnet", dll, scenario};
    request.descriptors = {{0, in_.ends[0]}, {1, out_.ends[1]}};
    request.options.kill_with_us = true;
    request.options.follow_children = true;
    if (auto launched = loop->launch(request)) process_ = *launched;
  }
  [[nodiscard]] const std::shared_ptr<DebuggedProcess>& process() const { return process_; }
  void say(const std::string& line) {
    EXPECT_EQ(::write(in_.ends[1], (line + "\n").data(), line.size() + 1), static_cast<ssize_t>(line.size() + 1));
  }
  /// The next line that begins so; events are handled meanwhile.
  std::string hear(const std::string& begin) {
    std::string line;
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < end) {
      pollfd ready[2] = {{out_.ends[0], POLLIN, 0}, {loop_->event_fd(), POLLIN, 0}};
      (void)::poll(ready, 2, 100);
      if (ready[1].revents != 0) loop_->handle_events(false);
      char c = 0;
      if ((ready[0].revents & POLLIN) == 0 || ::read(out_.ends[0], &c, 1) != 1) continue;
      if (c != '\n') {
        line += c;
        continue;
      }
      if (line.starts_with(begin)) return line;
      line.clear();
    }
    return {};
  }

 private:
  static std::vector<std::string> split(const std::string& path) {
    std::vector<std::string> parts;
    std::istringstream in(path);
    for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
    return parts;
  }
  Loop& loop_;
  Pipe in_, out_;
  std::shared_ptr<DebuggedProcess> process_;
};

TEST(DebugDotnet, SocketsAndTimersRunUnderADebugger) {
  Loop loop;
  DebuggedDotnet dotnet(loop, "traffic");
  if (dotnet.process() == nullptr) GTEST_SKIP() << "the scenarios are not built";
  DebuggedProcess& p = *dotnet.process();
  ASSERT_TRUE(p.resume().has_value());
  ASSERT_FALSE(dotnet.hear("READY").empty());
  auto target = p.open_target();
  ASSERT_TRUE(target.has_value());
  for (int i = 0; i < 200; i++) {
    auto capture = (*target)->capture(patiently());
    ASSERT_TRUE(capture.has_value());
    EXPECT_EQ(capture->threads_not_stopped, 0u);
    EXPECT_GT(capture->threads.size(), 5u);
    if (i % 10 == 0) {
      ASSERT_TRUE(p.pause().has_value());
      loop.turn(0);
      ASSERT_TRUE(p.resume().has_value());
    }
  }
  long trips[2] = {}, ticks[2] = {}, errors[2] = {};
  for (int i = 0; i < 2; i++) {
    dotnet.say("traffic");
    const std::string answer = dotnet.hear("TRAFFIC");
    ASSERT_EQ(std::sscanf(answer.c_str(), "TRAFFIC %ld %ld %ld", &trips[i], &ticks[i], &errors[i]), 3) << answer;
    nap(100ms);
  }
  EXPECT_GT(trips[1], trips[0]);
  EXPECT_GT(ticks[1], ticks[0]);
  EXPECT_EQ(errors[1], 0);
  const auto libraries = p.libraries();
  ASSERT_TRUE(libraries.has_value());
  EXPECT_TRUE(std::any_of(libraries->begin(), libraries->end(),
                          [](const LoadedLibrary& l) { return l.path.find("libcoreclr.so") != std::string::npos; }));
  EXPECT_GT(loop.count(Kind::library_loaded), 3u) << "the runtime was loaded after the start";
  dotnet.say("quit");
  ASSERT_TRUE(loop.until_seen(Kind::exited, p.pid(), 1));
  EXPECT_EQ(p.end()->value, 0);
  EXPECT_EQ(loop.count(Kind::thread_created, p.pid()), loop.count(Kind::thread_exited, p.pid()));
}

TEST(DebugDotnet, CollectionsGoOnWhileItIsCapturedAndDetached) {
  Loop loop;
  DebuggedDotnet dotnet(loop, "gc_storm");
  if (dotnet.process() == nullptr) GTEST_SKIP() << "the scenarios are not built";
  DebuggedProcess& p = *dotnet.process();
  ASSERT_TRUE(p.resume().has_value());
  ASSERT_FALSE(dotnet.hear("READY").empty());
  int before = 0, after = 0, later = 0;
  dotnet.say("collections");
  ASSERT_EQ(std::sscanf(dotnet.hear("COLLECTIONS").c_str(), "COLLECTIONS %d", &before), 1);
  auto target = p.open_target();
  for (int i = 0; i < 200; i++) {
    auto capture = (*target)->capture({});
    ASSERT_TRUE(capture.has_value());
    loop.turn(0);
  }
  dotnet.say("collections");
  ASSERT_EQ(std::sscanf(dotnet.hear("COLLECTIONS").c_str(), "COLLECTIONS %d", &after), 1);
  EXPECT_GT(after, before);
  ASSERT_TRUE(p.detach().has_value());
  nap(100ms);
  dotnet.say("collections");
  ASSERT_EQ(std::sscanf(dotnet.hear("COLLECTIONS").c_str(), "COLLECTIONS %d", &later), 1);
  EXPECT_GT(later, after);
  dotnet.say("quit");
  EXPECT_TRUE(eventually([&] { return ::kill(static_cast<pid_t>(p.pid()), 0) != 0; })) << "the tracer collects it";
}

}  // namespace
}  // namespace mixstack::process
