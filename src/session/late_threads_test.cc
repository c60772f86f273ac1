// Threads that stopped at instants of their own: whoever captures and walks step by step has all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "mixstack/session.h"
#include "process/live/live_target.h"
#include "support/dotnet_process.h"

namespace mixstack {
namespace {

/// A live process of whose threads only the first ones stop in time, the others at two instants of their own.
class BusyTarget final : public Target {
 public:
  BusyTarget(std::unique_ptr<Target> target, std::size_t in_time) : target_(std::move(target)), in_time_(in_time) {}
  [[nodiscard]] const TargetInfo& info() const override { return target_->info(); }
  [[nodiscard]] const MemoryReader& memory() const override { return target_->memory(); }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return target_->threads(); }
  [[nodiscard]] Result<std::vector<Region>> regions() const override { return target_->regions(); }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override {
    return target_->open_file(region);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    return target_->open_path(path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override {
    std::array<CaptureRequest, 3> parts{request, request, request};
    for (CaptureRequest& r : parts) r.threads.clear();
    const auto all = request.threads.empty() ? *target_->threads() : request.threads;
    for (std::size_t i = 0; i < all.size(); i++) parts[i < in_time_ ? 0 : 1 + i % 2].threads.push_back(all[i]);
    Capture whole;
    whole.arch = info().arch;
    for (std::size_t i = 0; i < parts.size(); i++) {
      if (parts[i].threads.empty()) continue;
      auto part = target_->capture(parts[i]);
      if (!part) return part;
      if (i == 0) {
        whole = std::move(*part);
        continue;
      }
      for (ThreadCapture& t : part->threads) t.late = std::chrono::milliseconds(i);
      whole.late.push_back(std::move(*part));
    }
    return whole;
  }

 private:
  std::unique_ptr<Target> target_;
  std::size_t in_time_;
};

struct Both {
  std::unique_ptr<Session> session;
  std::optional<Walker> walker;
};

Both walked(Result<std::unique_ptr<Session>> session, const std::vector<ThreadId>& threads = {}) {
  Both both;
  if (!session) return both;
  both.session = std::move(*session);
  DumpOptions options;
  options.threads = threads;
  options.stop_timeout = std::chrono::seconds(5);
  auto capture = both.session->capture(options);
  if (!capture) return both;
  auto walker = both.session->walker(std::move(*capture), {});
  if (walker) both.walker.emplace(std::move(*walker));
  return both;
}

Result<std::unique_ptr<Session>> busy(unsigned pid, std::size_t in_time) {
  auto target = process::open_live(pid);
  if (!target) return fail(target.error());
  return Session::open(std::make_unique<BusyTarget>(std::move(*target), in_time));
}

void expect_same(Walker& walker, const ThreadCapture& thread, Walker& expected, const ThreadCapture& as) {
  const Trace trace = walker.walk(thread), truth = expected.walk(as);
  ASSERT_EQ(trace.frames.size(), truth.frames.size()) << thread.tid;
  EXPECT_EQ(trace.stop, truth.stop);
  std::size_t i = 0;
  for (const Frame& f : walker.frames(thread)) {
    EXPECT_EQ(f.pc, truth.frames[i].pc);
    EXPECT_EQ(f.sp, truth.frames[i].sp);
    EXPECT_EQ(trace.frames[i].pc, truth.frames[i].pc);
    EXPECT_EQ(trace.frames[i].trust, truth.frames[i].trust);
    EXPECT_EQ(walker.name(f).name, expected.name(truth.frames[i]).name);
    i++;
  }
  EXPECT_EQ(i, truth.frames.size());
  const auto managed = walker.managed(thread), known = expected.managed(as);
  ASSERT_EQ(managed.has_value(), known.has_value());
  if (managed) {
    EXPECT_EQ(managed->name, known->name);
    EXPECT_EQ(managed->exception_type(), known->exception_type());
  }
}

class LateThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!process_.ready()) GTEST_SKIP() << "the scenarios are not built";
    process_.stop();
    truth_ = walked(Session::open_process(process_.pid()));
    ASSERT_TRUE(truth_.walker);
  }
  test::DotnetProcess process_{"nested_exceptions"};
  Both truth_;
};

TEST_F(LateThreads, AreAmongAllAndWalkedAtTheirInstant) {
  auto late = walked(busy(process_.pid(), 3));
  ASSERT_TRUE(late.walker);
  const auto& all = late.walker->capture().threads;
  ASSERT_EQ(all.size(), truth_.walker->capture().threads.size());
  EXPECT_GT(all.size(), 5u);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const ThreadCapture& t) { return t.late.count() == 0; }), 3);
  // In their order, which changes from instant to instant, and one more time.
  for (int round = 0; round < 2; round++)
    for (const ThreadCapture& thread : all) {
      const ThreadCapture* as = truth_.walker->thread(thread.tid);
      ASSERT_NE(as, nullptr);
      expect_same(*late.walker, thread, *truth_.walker, *as);
      EXPECT_EQ(late.walker->initial(thread).frame.pc, truth_.walker->initial(*as).frame.pc);
    }
  EXPECT_TRUE(late.walker->diagnoses().empty());
}

TEST_F(LateThreads, TheRuntimeAnswersForThem) {
  auto late = walked(busy(process_.pid(), 3));
  ASSERT_TRUE(late.walker);
  const auto runtimes = late.walker->runtimes(), known = truth_.walker->runtimes();
  ASSERT_EQ(runtimes.size(), 1u);
  ASSERT_EQ(known.size(), 1u);
  std::size_t elements = 0;
  for (const ThreadCapture& thread : late.walker->capture().threads) {
    const ThreadCapture& as = *truth_.walker->thread(thread.tid);
    auto walk = runtimes.front().stack_walk(thread), truth = known.front().stack_walk(as);
    ASSERT_EQ(walk.has_value(), truth.has_value());
    if (!walk) continue;
    for (; walk->next(); elements++) {
      ASSERT_TRUE(truth->next());
      EXPECT_EQ(walk->current().context, truth->current().context);
      EXPECT_EQ(walk->current().frame, truth->current().frame);
    }
    const auto frames = runtimes.front().explicit_frames(thread), expected = known.front().explicit_frames(as);
    ASSERT_TRUE(frames && expected);
    EXPECT_EQ(frames->size(), expected->size());
  }
  EXPECT_GT(elements, 10u);
  EXPECT_EQ(runtimes.front().threads().size(), known.front().threads().size());
}

TEST_F(LateThreads, OneThatIsAloneIsTheCapture) {
  const ThreadId tid = process_.pid();
  auto late = walked(busy(process_.pid(), 0), {tid});
  ASSERT_TRUE(late.walker);
  const Capture& capture = late.walker->capture();
  ASSERT_EQ(capture.threads.size(), 1u);
  EXPECT_TRUE(capture.late.empty());
  EXPECT_EQ(capture.threads.front().instant, 0u);
  EXPECT_GT(capture.threads.front().late.count(), 0);
  expect_same(*late.walker, capture.threads.front(), *truth_.walker, *truth_.walker->thread(tid));
}

}  // namespace
}  // namespace mixstack
