// The C interface as a caller sees it: good answers on a process and a core, answers instead of crashes on misuse.
#include <mixstack.h>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "mixstack/result.h"

namespace mixstack {
namespace {

template <class T>
T sized() {
  T value{};
  value.size = sizeof(T);
  return value;
}

/// A child of one thread that sleeps.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execlp("sleep", "sleep", "600", nullptr);
      ::_exit(127);
    }
    is_asleep_ = wait_until_asleep();
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  [[nodiscard]] bool is_asleep() const { return is_asleep_; }

 private:
  /// Until it sleeps: it is no more what we were, and its stack is known.
  [[nodiscard]] bool wait_until_asleep() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/stat";
    for (int i = 0; i < 1000; i++) {
      char text[64] = {};
      if (FILE* f = std::fopen(path.c_str(), "r")) {
        (void)!std::fgets(text, sizeof text, f);
        std::fclose(f);
      }
      if (std::strstr(text, "(sleep) S ") != nullptr) return true;
      ::usleep(10'000);
    }
    return false;
  }

  pid_t pid_;
  bool is_asleep_ = false;
};

mixstack_dump* dump_of(uint32_t pid) {
  mixstack_error error = sized<mixstack_error>();
  mixstack_session* session = mixstack_open_process(pid, &error);
  if (session == nullptr) return nullptr;
  mixstack_options options = sized<mixstack_options>();
  options.stop_timeout_ms = 5000;
  mixstack_dump* dump = mixstack_take_dump(session, &options, &error);
  mixstack_close(session);
  return dump;
}

std::vector<std::string> names_of(const mixstack_dump* dump, size_t thread) {
  std::vector<std::string> names;
  for (size_t i = 0;; i++) {
    mixstack_frame frame = sized<mixstack_frame>();
    if (mixstack_get_frame(dump, thread, i, &frame) != 0) return names;
    names.emplace_back(frame.name);
  }
}

bool any_has(const std::vector<std::string>& names, const char* part) {
  for (const std::string& name : names)
    if (name.find(part) != std::string::npos) return true;
  return false;
}

TEST(CInterface, AProcessByThreadsFramesAndJson) {
  const Sleeper sleeper;
  ASSERT_TRUE(sleeper.is_asleep());
  mixstack_dump* dump = dump_of(sleeper.pid());  // the session is closed: a dump outlives it
  ASSERT_NE(dump, nullptr);
  ASSERT_EQ(mixstack_thread_count(dump), 1u);
  mixstack_thread thread = sized<mixstack_thread>();
  ASSERT_EQ(mixstack_get_thread(dump, 0, &thread), 0);
  EXPECT_EQ(thread.tid, sleeper.pid());
  EXPECT_EQ(thread.managed_id, 0u);
  EXPECT_STREQ(thread.name, "sleep");
  EXPECT_STREQ(thread.exception, "");
  EXPECT_EQ(thread.captured, 1);
  EXPECT_EQ(thread.is_complete, 1);
  EXPECT_STREQ(thread.stop_reason, "end_of_stack");
  EXPECT_EQ(thread.frame_count, names_of(dump, 0).size());
  EXPECT_TRUE(any_has(names_of(dump, 0), "nanosleep"));
  mixstack_frame frame = sized<mixstack_frame>();
  ASSERT_EQ(mixstack_get_frame(dump, 0, 0, &frame), 0);
  EXPECT_EQ(frame.kind, MIXSTACK_NATIVE);
  EXPECT_EQ(frame.trust, 0);
  EXPECT_STREQ(frame.module, "libc.so.6");
  EXPECT_GT(frame.cfa, frame.sp);
  const char* text = mixstack_json(dump);
  EXPECT_EQ(text, mixstack_json(dump)) << "made once";
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["threads"].size(), 1u);
  EXPECT_EQ(json["threads"][0]["tid"], sleeper.pid());
  mixstack_free_dump(dump);
}

TEST(CInterface, OptionsAreHeard) {
  const Sleeper sleeper;
  mixstack_session* session = mixstack_open_process(sleeper.pid(), nullptr);
  ASSERT_NE(session, nullptr);
  const uint32_t threads[] = {sleeper.pid()};
  mixstack_options options = sized<mixstack_options>();
  options.threads = threads;
  options.thread_count = 1;
  options.max_frames = 1;
  options.stop_timeout_ms = 5000;
  mixstack_dump* dump = mixstack_take_dump(session, &options, nullptr);
  ASSERT_NE(dump, nullptr);
  mixstack_thread thread = sized<mixstack_thread>();
  ASSERT_EQ(mixstack_get_thread(dump, 0, &thread), 0);
  EXPECT_EQ(thread.frame_count, 1u);
  EXPECT_EQ(thread.is_complete, 0);
  EXPECT_STREQ(thread.stop_reason, "max_frames");
  mixstack_free_dump(dump);
  mixstack_close(session);
}

TEST(CInterface, ACore) {
  const Sleeper sleeper;
  ASSERT_TRUE(sleeper.is_asleep());
  if (std::system("command -v gcore >/dev/null 2>&1") != 0) GTEST_SKIP() << "gdb is not installed";
  char folder[] = "/tmp/mixstack-capi-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string base = std::string(folder) + "/core";
  const std::string command = "gcore -o " + base + " " + std::to_string(sleeper.pid()) + " >/dev/null 2>&1 </dev/null";
  const bool written = std::system(command.c_str()) == 0;
  const std::string path = base + "." + std::to_string(sleeper.pid());
  mixstack_error error = sized<mixstack_error>();
  mixstack_session* session = nullptr;
  mixstack_dump* dump = nullptr;
  if (written) {
    const char* const sysroots[] = {nullptr, "/nonexistent"};  // a NULL among them is no folder
    mixstack_core_options options = sized<mixstack_core_options>();
    options.sysroots = sysroots;
    options.sysroot_count = 2;
    session = mixstack_open_core(path.c_str(), &options, &error);
    dump = session == nullptr ? nullptr : mixstack_take_dump(session, nullptr, &error);
  }
  std::filesystem::remove_all(folder);
  if (std::system("command -v bash >/dev/null") != 0) GTEST_SKIP() << "gcore is a script for bash, which is not here";
  ASSERT_TRUE(written);
  ASSERT_NE(session, nullptr) << mixstack_error_name(error.code);
  ASSERT_NE(dump, nullptr) << mixstack_error_name(error.code);
  EXPECT_EQ(mixstack_thread_count(dump), 1u);
  EXPECT_TRUE(any_has(names_of(dump, 0), "nanosleep"));
  mixstack_close(session);
  mixstack_free_dump(dump);
}

TEST(CInterface, FailuresAreNamed) {
  mixstack_error error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_open_process(0x7fffffff, &error), nullptr);
  EXPECT_EQ(error.code, static_cast<int32_t>(ErrorCode::no_such_process));
  EXPECT_EQ(mixstack_open_process(0x7fffffff, nullptr), nullptr);
  EXPECT_EQ(mixstack_open_core("/nonexistent/core", nullptr, &error), nullptr);
  EXPECT_EQ(error.code, static_cast<int32_t>(ErrorCode::not_found));
  EXPECT_EQ(error.os_error, ENOENT);
  EXPECT_EQ(mixstack_open_core("/bin/sh", nullptr, &error), nullptr);
  EXPECT_NE(error.code, 0);
  for (const int32_t code : {0, 1, 5, 24, 25, 1000, -1}) {
    ASSERT_NE(mixstack_error_name(code), nullptr) << code;
    EXPECT_NE(mixstack_error_name(code)[0], '\0') << code;
  }
  EXPECT_EQ(mixstack_version() >> 16, 0u);
  EXPECT_NE(mixstack_version(), 0u);
}

TEST(CInterface, AProcessThatEnded) {
  mixstack_session* session = nullptr;
  {
    const Sleeper sleeper;
    session = mixstack_open_process(sleeper.pid(), nullptr);
    ASSERT_NE(session, nullptr);
  }
  mixstack_error error = sized<mixstack_error>();
  mixstack_dump* dump = mixstack_take_dump(session, nullptr, &error);
  EXPECT_TRUE(dump != nullptr || error.code != 0);
  mixstack_free_dump(dump);
  mixstack_close(session);
}

TEST(CInterface, NullsAreAnswered) {
  mixstack_error error = sized<mixstack_error>();
  mixstack_close(nullptr);
  mixstack_free_dump(nullptr);
  EXPECT_EQ(mixstack_thread_count(nullptr), 0u);
  mixstack_thread thread = sized<mixstack_thread>();
  mixstack_frame frame = sized<mixstack_frame>();
  EXPECT_EQ(mixstack_get_thread(nullptr, 0, &thread), -1);
  EXPECT_EQ(mixstack_get_frame(nullptr, 0, 0, &frame), -1);
  EXPECT_STREQ(mixstack_json(nullptr), "");
  EXPECT_EQ(mixstack_take_dump(nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error.code, static_cast<int32_t>(ErrorCode::invalid_argument));
  EXPECT_EQ(mixstack_take_dump(nullptr, nullptr, nullptr), nullptr);
  error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_open_core(nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error.code, static_cast<int32_t>(ErrorCode::invalid_argument));
}

TEST(CInterface, WrongSizesAndIndexesWriteNothing) {
  const Sleeper sleeper;
  mixstack_dump* dump = dump_of(sleeper.pid());
  ASSERT_NE(dump, nullptr);
  mixstack_thread thread;
  mixstack_frame frame;
  std::memset(&thread, 0xa5, sizeof thread);
  std::memset(&frame, 0xa5, sizeof frame);
  thread.size = frame.size = 0;
  const mixstack_thread thread_before = thread;
  const mixstack_frame frame_before = frame;
  EXPECT_EQ(mixstack_get_thread(dump, 0, &thread), -1);
  EXPECT_EQ(mixstack_get_frame(dump, 0, 0, &frame), -1);
  EXPECT_EQ(mixstack_get_thread(dump, 0, nullptr), -1);
  EXPECT_EQ(mixstack_get_frame(dump, 0, 0, nullptr), -1);
  EXPECT_EQ(std::memcmp(&thread, &thread_before, sizeof thread), 0);
  EXPECT_EQ(std::memcmp(&frame, &frame_before, sizeof frame), 0);
  thread.size = sizeof thread;
  frame.size = sizeof frame;
  EXPECT_EQ(mixstack_get_thread(dump, 1, &thread), -1);
  EXPECT_EQ(mixstack_get_thread(dump, SIZE_MAX, &thread), -1);
  EXPECT_EQ(mixstack_get_frame(dump, 1, 0, &frame), -1);
  EXPECT_EQ(mixstack_get_frame(dump, 0, SIZE_MAX, &frame), -1);
  EXPECT_EQ(thread.tid, 0xa5a5a5a5u);
  EXPECT_EQ(frame.pc, 0xa5a5a5a5a5a5a5a5u);
  mixstack_free_dump(dump);
}

/// The structure of an older version ends earlier, that of a newer one later.
TEST(CInterface, StructuresOfOtherVersionsGetWhatTheyHave) {
  const Sleeper sleeper;
  mixstack_dump* dump = dump_of(sleeper.pid());
  ASSERT_NE(dump, nullptr);
  mixstack_thread older;
  std::memset(&older, 0xa5, sizeof older);
  older.size = offsetof(mixstack_thread, exception);
  ASSERT_EQ(mixstack_get_thread(dump, 0, &older), 0);
  EXPECT_EQ(older.size, offsetof(mixstack_thread, exception));
  EXPECT_EQ(older.tid, sleeper.pid());
  EXPECT_STREQ(older.name, "sleep");
  EXPECT_EQ(older.frame_count, 0xa5a5a5a5a5a5a5a5u) << "beyond its end";
  struct {
    mixstack_frame known;
    std::uint64_t more[4];
  } newer;
  std::memset(&newer, 0xa5, sizeof newer);
  newer.known.size = sizeof newer;
  ASSERT_EQ(mixstack_get_frame(dump, 0, 0, &newer.known), 0);
  EXPECT_EQ(newer.known.size, sizeof newer);
  EXPECT_STREQ(newer.known.module, "libc.so.6");
  EXPECT_EQ(newer.more[0], 0xa5a5a5a5a5a5a5a5u);
  mixstack_free_dump(dump);
  mixstack_error error{};
  error.size = offsetof(mixstack_error, value);
  error.value = 77;
  EXPECT_EQ(mixstack_open_process(0, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_NO_SUCH_PROCESS);
  EXPECT_EQ(error.value, 77u);
}

TEST(CInterface, OptionsOfOtherVersionsAreHeard) {
  const Sleeper sleeper;
  mixstack_session* session = mixstack_open_process(sleeper.pid(), nullptr);
  ASSERT_NE(session, nullptr);
  mixstack_options older;
  std::memset(&older, 0xa5, sizeof older);
  older.size = offsetof(mixstack_options, max_frames);
  older.threads = nullptr;
  mixstack_dump* dump = mixstack_take_dump(session, &older, nullptr);
  ASSERT_NE(dump, nullptr);
  mixstack_thread thread = sized<mixstack_thread>();
  ASSERT_EQ(mixstack_get_thread(dump, 0, &thread), 0);
  EXPECT_GT(thread.frame_count, 1u);
  mixstack_free_dump(dump);
  struct {
    mixstack_options known;
    std::uint64_t more;
  } newer{};
  newer.known.size = sizeof newer;
  newer.known.max_frames = 1;
  dump = mixstack_take_dump(session, &newer.known, nullptr);
  ASSERT_NE(dump, nullptr) << "what it asks for beyond ours is nothing";
  ASSERT_EQ(mixstack_get_thread(dump, 0, &thread), 0);
  EXPECT_EQ(thread.frame_count, 1u);
  mixstack_free_dump(dump);
  newer.more = 1;
  mixstack_error error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_take_dump(session, &newer.known, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  mixstack_close(session);
}

/// One that was joined may still be in the list of threads for a moment.
void wait_for_threads(std::ptrdiff_t count) {
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  for (int i = 0; i < 5000 && threads() != count; i++) ::usleep(1000);
}

TEST(CInterface, OurOwnProcess) {
  wait_for_threads(1);
  EXPECT_EQ(mixstack_open_process(static_cast<uint32_t>(::getpid()), nullptr), nullptr);
  mixstack_error error = sized<mixstack_error>();
  mixstack_self_options options = sized<mixstack_self_options>();
  std::atomic<bool> is_there = false, may_end = false;
  std::thread other([&] {
    is_there = true;
    while (!may_end) ::usleep(1000);
  });
  while (!is_there) ::usleep(1000);
  for (const int32_t how : {MIXSTACK_CALLING_ONLY, MIXSTACK_BY_SIGNAL, MIXSTACK_BY_HELPER}) {
    options.other_threads = how;
    options.signal = how == MIXSTACK_BY_SIGNAL ? SIGRTMIN + 3 : 0;
    wait_for_threads(2);  // those that walked for the session before have been joined
    mixstack_session* session = mixstack_open_self(&options, &error);
    ASSERT_NE(session, nullptr) << how << " " << error.code;
    mixstack_options patient = sized<mixstack_options>();
    patient.stop_timeout_ms = 5000;  // a machine with much to do may not let the other thread run for a while
    mixstack_dump* dump = mixstack_take_dump(session, &patient, &error);
    ASSERT_NE(dump, nullptr) << how << " " << error.code;
    EXPECT_EQ(mixstack_thread_count(dump), 2u) << how << mixstack_text(dump);
    EXPECT_NE(std::strstr(mixstack_text(dump), "mixstack_take_dump"), nullptr) << how << mixstack_text(dump);
    mixstack_thread second = sized<mixstack_thread>();
    ASSERT_EQ(mixstack_get_thread(dump, 1, &second), 0);
    EXPECT_EQ(second.captured, how == MIXSTACK_CALLING_ONLY ? 0 : 1);
    mixstack_free_dump(dump);
    mixstack_close(session);
  }
  options.other_threads = 3;
  EXPECT_EQ(mixstack_open_self(&options, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  may_end = true;
  other.join();
}

TEST(CInterface, TextsForPeople) {
  const Sleeper sleeper;
  mixstack_dump* dump = dump_of(sleeper.pid());
  ASSERT_NE(dump, nullptr);
  for (size_t i = 0; i < names_of(dump, 0).size(); i++) {
    char text[256];
    const size_t length = mixstack_frame_text(dump, 0, i, text, sizeof text);
    EXPECT_GT(length, 0u) << "also where no name is known";
    EXPECT_EQ(length, std::strlen(text));
    char cut[4];
    EXPECT_EQ(mixstack_frame_text(dump, 0, i, cut, sizeof cut), length);
    EXPECT_EQ(std::string(cut), std::string(text).substr(0, 3));
    const bool has_symbol = !names_of(dump, 0)[i].empty();  // those without one can share a line
    EXPECT_TRUE(!has_symbol || std::strstr(mixstack_text(dump), text) != nullptr) << text;
  }
  EXPECT_EQ(mixstack_frame_text(dump, 0, SIZE_MAX, nullptr, 0), 0u);
  EXPECT_EQ(mixstack_frame_text(dump, 9, 0, nullptr, 0), 0u);
  mixstack_free_dump(dump);
  mixstack_error error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_open_core("/nonexistent", nullptr, &error), nullptr);
  char text[128];
  const size_t length = mixstack_describe_error(&error, text, sizeof text);
  EXPECT_EQ(length, std::strlen(text));
  EXPECT_STREQ(text, "not found: No such file or directory");
}

TEST(CInterface, OptionsOfAnotherSizeAreRefused) {
  const Sleeper sleeper;
  mixstack_error error = sized<mixstack_error>();
  mixstack_session* session = mixstack_open_process(sleeper.pid(), &error);
  ASSERT_NE(session, nullptr);
  const mixstack_options options{};
  EXPECT_EQ(mixstack_take_dump(session, &options, &error), nullptr);
  EXPECT_EQ(error.code, static_cast<int32_t>(ErrorCode::invalid_argument));
  const mixstack_core_options core{};
  EXPECT_EQ(mixstack_open_core("/nonexistent", &core, &error), nullptr);
  EXPECT_EQ(error.code, static_cast<int32_t>(ErrorCode::invalid_argument));
  mixstack_error small{};
  small.code = 77;
  EXPECT_EQ(mixstack_open_core("/nonexistent", nullptr, &small), nullptr);
  EXPECT_EQ(small.code, 77) << "an error of unknown size is not written";
  mixstack_close(session);
}

TEST(CInterface, WhyOfAProcessWithoutARuntime) {
  const Sleeper sleeper;
  ASSERT_TRUE(sleeper.is_asleep());
  mixstack_error error = sized<mixstack_error>();
  mixstack_session* session = mixstack_open_process(sleeper.pid(), &error);
  ASSERT_NE(session, nullptr);
  mixstack_why_options options = sized<mixstack_why_options>();
  options.no_samples = 1;
  mixstack_answer* first = mixstack_why(session, &options, &error);
  ASSERT_NE(first, nullptr);
  mixstack_answer* second = mixstack_why(session, &options, &error);
  mixstack_close(session);  // answers outlive it
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(mixstack_answer_verdict(second), MIXSTACK_NOT_ALL_KNOWN);
  const auto json = nlohmann::json::parse(mixstack_answer_json(second));
  EXPECT_TRUE(json.at("verdicts").empty());
  EXPECT_STRNE(mixstack_answer_text(first), "");
  mixstack_free_answer(first);
  mixstack_free_answer(second);
}

TEST(CInterface, WhyOfNothing) {
  mixstack_error error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_why(nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  EXPECT_EQ(mixstack_answer_verdict(nullptr), MIXSTACK_NOT_ALL_KNOWN);
  EXPECT_STREQ(mixstack_answer_json(nullptr), "");
  EXPECT_STREQ(mixstack_answer_text(nullptr), "");
  mixstack_free_answer(nullptr);
}

TEST(CInterface, ADumpIsReadByManyThreads) {
  const Sleeper sleeper;
  mixstack_dump* dump = dump_of(sleeper.pid());
  ASSERT_NE(dump, nullptr);
  const auto expected = names_of(dump, 0);
  std::vector<std::thread> readers;
  std::vector<int> same(4, 0);
  for (size_t i = 0; i < same.size(); i++)
    readers.emplace_back([&, i] { same[i] = names_of(dump, 0) == expected ? 1 : 0; });
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(same, std::vector<int>(4, 1));
  mixstack_free_dump(dump);
}

}  // namespace
}  // namespace mixstack
