#include "process/live/late_look.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;

ThreadCapture seen(ThreadId tid, std::chrono::nanoseconds late = 0ns) {
  ThreadCapture t;
  t.tid = tid;
  t.captured = true;
  t.late = late;
  return t;
}

ThreadCapture missing(ThreadId tid, char state, ErrorCode code = ErrorCode::thread_not_stopped) {
  ThreadCapture t;
  t.tid = tid;
  t.kernel_state = state;
  t.error = {code, 0, tid};
  return t;
}

class FakeLook final : public LateLook {
 public:
  bool is_allowed = true;
  Result<Capture> answer = fail(ErrorCode::io_error);
  std::vector<CaptureRequest> requests;

  [[nodiscard]] bool prepare() override { return is_allowed; }
  [[nodiscard]] Result<Capture> look(const CaptureRequest& request) override {
    requests.push_back(request);
    return std::move(answer);
  }
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override { return {}; }
};

/// One that stopped, one in an uninterruptible sleep, one that ended, and two that no processor was given to.
Capture busy() {
  Capture capture;
  capture.threads = {seen(1), missing(2, 'D'), missing(3, 'R', ErrorCode::no_such_thread), missing(4, 'R'),
                     missing(5, 'R')};
  capture.threads_not_stopped = 3;
  return capture;
}

std::vector<ThreadId> tids(const Capture& capture) {
  std::vector<ThreadId> all;
  for (const ThreadCapture& t : capture.threads) all.push_back(t.tid);
  return all;
}

bool look_at(Capture& capture, FakeLook& look) {
  return look_at_late_threads(capture, {}, std::chrono::steady_clock::now() - 2s, look);
}

TEST(LateLook, IsAskedForThreadsThatOnlyLackAProcessor) {
  FakeLook look;
  Capture capture = busy();
  EXPECT_TRUE(look_at(capture, look));
  ASSERT_EQ(look.requests.size(), 1u);
  EXPECT_EQ(look.requests.front().threads, (std::vector<ThreadId>{4, 5}));
  EXPECT_TRUE(look.requests.front().goes_on);
  // It failed: all is as it was.
  EXPECT_EQ(tids(capture), (std::vector<ThreadId>{1, 2, 3, 4, 5}));
  EXPECT_EQ(capture.threads_not_stopped, 3u);
  EXPECT_TRUE(capture.late.empty());
}

TEST(LateLook, IsNotMadeWhereNobodyMayOrNothingIsMissing) {
  FakeLook look;
  Capture whole;
  whole.threads = {seen(1), missing(2, 'D')};
  EXPECT_FALSE(look_at(whole, look));
  look.is_allowed = false;
  Capture capture = busy();
  EXPECT_TRUE(look_at(capture, look));
  EXPECT_TRUE(look.requests.empty());
  EXPECT_EQ(capture.threads.size(), 5u);
}

TEST(LateLook, PutsWhatItSawInThePlaceOfWhatWasMissing) {
  Capture saw, later;
  saw.threads = {seen(4), missing(5, 'R')};
  saw.threads_not_stopped = 1;
  later.threads = {seen(5, 3ms)};
  saw.late.push_back(std::move(later));
  FakeLook look;
  look.answer = std::move(saw);
  Capture capture = busy();
  EXPECT_TRUE(look_at(capture, look));
  EXPECT_EQ(tids(capture), (std::vector<ThreadId>{1, 2, 3}));
  EXPECT_EQ(capture.threads_not_stopped, 1u);
  EXPECT_EQ(capture.consistency, Consistency::all_stopped_together);
  ASSERT_EQ(capture.late.size(), 2u);
  for (const Capture& part : capture.late) {
    EXPECT_EQ(part.consistency, Consistency::not_stopped);
    EXPECT_EQ(part.threads_not_stopped, 0u);
    EXPECT_TRUE(part.late.empty());
  }
  EXPECT_EQ(tids(capture.late[0]), (std::vector<ThreadId>{4}));
  EXPECT_EQ(tids(capture.late[1]), (std::vector<ThreadId>{5}));
  EXPECT_GE(capture.late[0].threads[0].late, 2s);
  EXPECT_EQ(capture.late[1].threads[0].late, capture.late[0].threads[0].late + 3ms);
}

TEST(LateLook, BelievesNothingOfThreadsThatWereNotAskedFor) {
  Capture saw;
  saw.threads = {seen(1), seen(77), missing(4, 'R')};
  FakeLook look;
  look.answer = std::move(saw);
  Capture capture = busy();
  EXPECT_TRUE(look_at(capture, look));
  EXPECT_EQ(capture.threads.size(), 5u);
  EXPECT_EQ(capture.threads_not_stopped, 3u);
  EXPECT_TRUE(capture.late.empty());
}

}  // namespace
}  // namespace mixstack::process
