// Recordings by the C interface: samples, their functions and files, progress, pieces and cancellation.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mixstack.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace mixstack {
namespace {

template <class T>
T sized() {
  T value{};
  value.size = sizeof(T);
  return value;
}

/// A child that runs all the time in a function of its own, opened.
class Spinner {
 public:
  Spinner() : pid_(::fork()) {
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      volatile std::uint64_t turns = 0;
      for (;;) turns = turns + 1;
    }
    session = mixstack_open_process(static_cast<uint32_t>(pid_), nullptr);
  }
  ~Spinner() {
    end();
    mixstack_close(session);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }
  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  mixstack_session* session = nullptr;

 private:
  pid_t pid_;
};

/// Calls of the caller's functions.
struct Calls {
  std::vector<int32_t> steps{};
  uint64_t samples = 0;  ///< of the last progress
  uint64_t in_pieces = 0;
  std::size_t pieces = 0;
  std::function<bool(const mixstack_record_progress&)> answer{};
};

int32_t on_progress(void* context, const mixstack_record_progress* now) {
  auto& calls = *static_cast<Calls*>(context);
  calls.steps.push_back(now->step);
  calls.samples = now->samples;
  return !calls.answer || calls.answer(*now) ? 1 : 0;
}

void on_piece(void* context, mixstack_recording* piece) {
  auto& calls = *static_cast<Calls*>(context);
  calls.in_pieces += mixstack_recording_samples(piece);
  calls.pieces++;
}

mixstack_record_options options_for(Calls& calls, uint32_t duration_ms) {
  auto options = sized<mixstack_record_options>();
  options.duration_ms = duration_ms;
  options.progress = on_progress;
  options.piece = on_piece;
  options.piece_ms = 100;
  options.context = &calls;
  return options;
}

TEST(CRecordings, FunctionsAndFilesOfAProcessThatRuns) {
  const Spinner spinner;
  ASSERT_NE(spinner.session, nullptr);
  Calls calls;
  const mixstack_record_options options = options_for(calls, 500);
  auto error = sized<mixstack_error>();
  mixstack_recording* recording = mixstack_record(spinner.session, &options, &error);
  ASSERT_NE(recording, nullptr) << error.code;
  EXPECT_GE(mixstack_recording_samples(recording), 10u);  // 50 on a quiet machine
  EXPECT_EQ(calls.steps.front(), MIXSTACK_RECORD_OPEN);
  EXPECT_EQ(calls.steps.back(), MIXSTACK_RECORD_FINISH);
  EXPECT_GE(calls.pieces, 2u);
  EXPECT_EQ(calls.in_pieces, mixstack_recording_samples(recording));  // each sample is in one piece
  ASSERT_GE(mixstack_function_count(recording), 1u);
  auto function = sized<mixstack_function>();
  ASSERT_EQ(mixstack_get_function(recording, 0, &function), 0);
  EXPECT_NE(std::strstr(function.name, "Spinner"), nullptr) << function.name;
  EXPECT_GT(function.self_ns, 100'000'000u);
  EXPECT_GE(function.total_ns, function.self_ns);
  EXPECT_EQ(function.kind, MIXSTACK_CODE_NATIVE);
  EXPECT_STRNE(function.module, "");
  size_t size = 0;
  const char* folded = mixstack_recording_file(recording, "folded", &size);
  ASSERT_NE(folded, nullptr);
  EXPECT_EQ(std::strlen(folded), size);
  EXPECT_NE(std::strstr(folded, "Spinner"), nullptr);
  EXPECT_EQ(mixstack_recording_file(recording, "folded", nullptr), folded);  // made once
  EXPECT_EQ(std::string(mixstack_recording_file(recording, "raw", &size), 4).size(), 4u);
  EXPECT_GT(size, 100u);
  EXPECT_EQ(mixstack_recording_file(recording, "nonsense", &size), nullptr);
  EXPECT_EQ(size, 0u);
  mixstack_free_recording(recording);
}

TEST(CRecordings, TheSessionCanBeAskedBeforeAndAfter) {
  const Spinner spinner;
  auto options = sized<mixstack_record_options>();
  options.duration_ms = 150;
  options.mode = MIXSTACK_CPU;
  auto error = sized<mixstack_error>();
  for (int i = 0; i < 2; i++) {
    mixstack_recording* recording = mixstack_record(spinner.session, &options, &error);
    ASSERT_NE(recording, nullptr) << error.code;
    EXPECT_GE(mixstack_recording_samples(recording), 1u);
    mixstack_free_recording(recording);
    mixstack_dump* dump = mixstack_take_dump(spinner.session, nullptr, &error);
    ASSERT_NE(dump, nullptr) << error.code;
    EXPECT_EQ(mixstack_thread_count(dump), 1u);
    mixstack_free_dump(dump);
  }
}

TEST(CRecordings, TheCallerEndsIt) {
  const Spinner spinner;
  Calls calls;
  calls.answer = [](const mixstack_record_progress& now) { return now.elapsed_ns < 200'000'000; };
  const mixstack_record_options options = options_for(calls, 0);  // no end of its own
  auto error = sized<mixstack_error>();
  mixstack_recording* recording = mixstack_record(spinner.session, &options, &error);
  ASSERT_NE(recording, nullptr) << error.code;
  EXPECT_GE(mixstack_recording_samples(recording), 1u);  // it keeps what it has
  mixstack_free_recording(recording);
  calls.answer = [](const mixstack_record_progress&) { return false; };
  EXPECT_EQ(mixstack_record(spinner.session, &options, &error), nullptr);  // before its first sample
  EXPECT_EQ(error.code, MIXSTACK_CANCELLED);
}

TEST(CRecordings, AProcessThatEndsEndsIt) {
  Spinner spinner;
  Calls calls;
  calls.answer = [&spinner](const mixstack_record_progress& now) {
    if (now.elapsed_ns > 200'000'000) spinner.end();
    return true;
  };
  const mixstack_record_options options = options_for(calls, 60'000);
  mixstack_recording* recording = mixstack_record(spinner.session, &options, nullptr);
  ASSERT_NE(recording, nullptr);
  EXPECT_GE(mixstack_recording_samples(recording), 1u);
  mixstack_free_recording(recording);
}

TEST(CRecordings, WrongCallsAreAnswered) {
  const Spinner spinner;
  auto error = sized<mixstack_error>();
  auto options = sized<mixstack_record_options>();
  EXPECT_EQ(mixstack_record(nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  EXPECT_EQ(mixstack_record(spinner.session, &options, &error), nullptr);  // would never end
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  options.duration_ms = 100;
  options.mode = 2;
  EXPECT_EQ(mixstack_record(spinner.session, &options, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  options.mode = MIXSTACK_WALL;
  options.size = 3;
  EXPECT_EQ(mixstack_record(spinner.session, &options, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  options.size = sizeof options;
  mixstack_session* own = mixstack_open_self(nullptr, &error);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(mixstack_record(own, &options, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_UNSUPPORTED);
  mixstack_close(own);
  auto function = sized<mixstack_function>();
  EXPECT_EQ(mixstack_recording_samples(nullptr), 0u);
  EXPECT_EQ(mixstack_function_count(nullptr), 0u);
  EXPECT_EQ(mixstack_get_function(nullptr, 0, &function), -1);
  EXPECT_EQ(mixstack_recording_file(nullptr, "raw", nullptr), nullptr);
  mixstack_free_recording(nullptr);
}

TEST(CRecordings, WhyReportsItsStepsAndIsCancelled) {
  const Spinner spinner;
  struct Steps {
    std::vector<int32_t> seen{};
    bool goes_on = true;
  } steps;
  auto options = sized<mixstack_why_options>();
  options.no_samples = 1;
  options.context = &steps;
  options.progress = [](void* context, int32_t step) -> int32_t {
    auto& all = *static_cast<Steps*>(context);
    all.seen.push_back(step);
    return all.goes_on ? 1 : 0;
  };
  auto error = sized<mixstack_error>();
  mixstack_answer* answer = mixstack_why(spinner.session, &options, &error);
  ASSERT_NE(answer, nullptr) << error.code;
  ASSERT_FALSE(steps.seen.empty());
  EXPECT_EQ(steps.seen.front(), MIXSTACK_WHY_LOOK);
  mixstack_free_answer(answer);
  steps.goes_on = false;
  EXPECT_EQ(mixstack_why(spinner.session, &options, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_CANCELLED);
}

TEST(CPacks, APackIsReadAsACore) {
  const Spinner spinner;
  const std::string path = ::testing::TempDir() + "/mixstack_c_pack_" + std::to_string(::getpid());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  auto options = sized<mixstack_pack_options>();
  options.read_back = 1;
  auto summary = sized<mixstack_pack_summary>();
  auto error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_pack(spinner.pid(), fd, &options, &summary, &error), 0) << error.code;
  EXPECT_EQ(summary.threads, 1u);
  EXPECT_EQ(summary.different_threads, 0u);
  EXPECT_GT(summary.pause_ns, 0u);
  EXPECT_EQ(static_cast<uint64_t>(::lseek(fd, 0, SEEK_END)), summary.written);
  ::close(fd);
  mixstack_session* session = mixstack_open_core(path.c_str(), nullptr, &error);
  ASSERT_NE(session, nullptr) << error.code;
  mixstack_dump* dump = mixstack_take_dump(session, nullptr, &error);
  ASSERT_NE(dump, nullptr) << error.code;
  auto thread = sized<mixstack_thread>();
  ASSERT_EQ(mixstack_get_thread(dump, 0, &thread), 0);
  EXPECT_EQ(thread.tid, spinner.pid());
  EXPECT_EQ(thread.is_complete, 1);
  mixstack_free_dump(dump);
  mixstack_close(session);
  ::unlink(path.c_str());
}

TEST(CPacks, FailuresAreNamed) {
  auto error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_pack(0x7fffffff, 1, nullptr, nullptr, &error), -1);
  EXPECT_EQ(error.code, MIXSTACK_NO_SUCH_PROCESS);
  const Spinner spinner;
  EXPECT_EQ(mixstack_pack(spinner.pid(), -1, nullptr, nullptr, &error), -1);
  EXPECT_EQ(error.code, MIXSTACK_IO_ERROR);
  EXPECT_EQ(error.value, 1u);
  auto options = sized<mixstack_pack_options>();
  options.size = 1;
  EXPECT_EQ(mixstack_pack(spinner.pid(), 1, &options, nullptr, &error), -1);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
}

TEST(CTopTest, AThreadThatRunsIsFirst) {
  Spinner spinner;
  mixstack_top* top = mixstack_open_top(spinner.pid(), nullptr, nullptr);
  ASSERT_NE(top, nullptr);
  auto question = sized<mixstack_top_question>();
  question.list = MIXSTACK_TOP_THREADS;
  question.whole = 1;
  auto row = sized<mixstack_top_row>();
  for (int i = 0; i < 300 && row.self_ns < 100'000'000; i++) {
    ::usleep(100'000);
    EXPECT_EQ(mixstack_next_top(top), 1);
    if (mixstack_top_rows(top, &question) != 0) {
      EXPECT_EQ(mixstack_get_top_row(top, 0, &row), 0);
    }
  }
  EXPECT_GE(row.self_ns, 100'000'000u);
  EXPECT_EQ(row.tid, spinner.pid());
  EXPECT_EQ(mixstack_get_top_row(top, 1, &row), -1) << "it has one thread";
  question.list = 2;
  EXPECT_EQ(mixstack_top_rows(top, &question), 0u);
  spinner.end();
  int goes_on = 1;
  for (int i = 0; i < 300 && goes_on == 1; i++) {
    ::usleep(100'000);
    goes_on = mixstack_next_top(top);
  }
  EXPECT_EQ(goes_on, 0);
  mixstack_close_top(top);
}

TEST(CTopTest, WhatCannotBe) {
  auto error = sized<mixstack_error>();
  EXPECT_EQ(mixstack_open_top(0x7fffffff, nullptr, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_NO_SUCH_PROCESS);
  auto options = sized<mixstack_top_options>();
  options.mode = 7;
  EXPECT_EQ(mixstack_open_top(static_cast<uint32_t>(::getpid()), &options, &error), nullptr);
  EXPECT_EQ(error.code, MIXSTACK_INVALID_ARGUMENT);
  EXPECT_EQ(mixstack_next_top(nullptr), 0);
  EXPECT_EQ(mixstack_top_rows(nullptr, nullptr), 0u);
  mixstack_close_top(nullptr);
}

}  // namespace
}  // namespace mixstack
