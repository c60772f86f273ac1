// From samples to a recording, over a fake target: its code is a page that only this test describes.
#include "features/record/stack_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "features/record/process_recorder.h"
#include "support/sparse_memory.h"

namespace mixstack::record {
namespace {

constexpr Address kCode = 0x7000'0000;
constexpr Address kMadeCode = 0x7100'0000;  // JIT-compiled
constexpr ThreadId kTid = 17;

class FakeTarget final : public Target {
 public:
  FakeTarget() {
    info_.pid = 4711;
    info_.arch = Arch::x86_64;
  }
  [[nodiscard]] const TargetInfo& info() const override { return info_; }
  [[nodiscard]] const MemoryReader& memory() const override { return memory_; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return std::vector<ThreadId>{kTid}; }
  [[nodiscard]] Result<std::vector<Region>> regions() const override {
    Region code;
    code.range = {kCode, kCode + 0x1000};
    code.readable = code.executable = true;
    Region made;
    made.range = {kMadeCode, kMadeCode + 0x1000};
    made.readable = made.executable = made.shared = true;
    made.path = "/memfd:doublemapper";
    return std::vector<Region>{code, made};
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region&) const override {
    return fail(ErrorCode::not_found);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string&) const override {
    return fail(ErrorCode::not_found);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest&) override { return fail(ErrorCode::unsupported); }

 private:
  TargetInfo info_;
  test::SparseMemory memory_;
};

/// A name provider that counts its questions.
class Names final : public NameProvider {
 public:
  [[nodiscard]] std::string_view provider_name() const override { return "test"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override {
    asked++;
    const auto at = names.find(frame.pc.lookup());
    if (at == names.end()) return std::nullopt;
    SymbolInfo info;
    info.name = at->second;
    if (frame.module != kNoModule) info.module = "libx.so";
    return info;
  }
  std::map<Address, std::string> names;
  std::size_t asked = 0;
};

class Recorded : public ::testing::Test {
 protected:
  Recorded() {
    auto opened = Session::open(std::make_unique<FakeTarget>());
    EXPECT_TRUE(opened);
    shared_session.session = std::move(*opened);
    shared_session.session->add_name_provider(names);
    EXPECT_TRUE(shared.recording.process({.pid = 4711}));
  }
  static ThreadCapture thread_at(Address pc, ThreadId tid = kTid) {
    ThreadCapture thread;
    thread.tid = tid;
    thread.comm = "worker";
    thread.captured = true;
    thread.registers = Registers(Arch::x86_64);
    thread.registers.set_pc(pc);
    thread.registers.set_sp(0x1000);
    return thread;
  }
  static SampleBatch batch_of(std::vector<ThreadCapture> threads, std::uint64_t time_ns = 0,
                              Activity activity = Activity::running) {
    SampleBatch batch;
    batch.capture.arch = Arch::x86_64;
    batch.capture.consistency = Consistency::not_stopped;
    for (ThreadCapture& thread : threads) {
      batch.samples.push_back({.time_ns = time_ns, .clock = SampleClock::wall, .activity = activity});
      batch.threads.push_back(std::move(thread));
    }
    return batch;
  }
  static SampleBatch repeat_of(ThreadId tid, std::uint64_t time_ns = 0, std::uint32_t source = 0) {
    SampleBatch batch;
    batch.repeats.push_back({tid, time_ns, Activity::running});
    batch.source = source;
    return batch;
  }
  /// Counts by stack, "outer;inner", of everything written down.
  std::map<std::string, std::uint64_t> stacks() {
    std::map<std::string, std::uint64_t> found;
    for (const Sample& sample : shared.recording.samples()) {
      std::string text;
      for (const std::uint32_t frame : shared.recording.frames_of(sample.stack)) {
        const std::string name = shown_name(shared.recording, shared.recording.frames()[frame].function);
        text = text.empty() ? name : name + ";" + text;
      }
      found[text] += sample.count;
    }
    return found;
  }

  std::shared_ptr<Names> names = std::make_shared<Names>();
  SharedSession shared_session;
  SharedRecording shared;
};

using Counts = std::map<std::string, std::uint64_t>;

class FrameNamed : public Recorded {
 protected:
  Walker walker() {
    auto made = shared_session.session->walker_of({}, {});
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  std::string name_of(std::uint32_t frame) {
    return shown_name(shared.recording, shared.recording.frames()[frame].function);
  }
};

TEST_F(FrameNamed, AnAddressThatIsUsedAgainNeverHasTheOldName) {
  FrameNames frames(shared.recording, shared_session.session->target().info());
  Frame frame;
  frame.kind = FrameKind::managed;
  frame.pc = CodeAddress::exact(kCode + 8);
  names->names[kCode + 8] = "App.Before()";
  Walker first = walker();
  frames.begin(first, std::chrono::nanoseconds(1));
  ASSERT_EQ(frames.name(frame, nullptr).numbers.size(), 1u);
  const std::uint32_t before = frames.name(frame, nullptr).numbers[0];
  const std::size_t asked = names->asked;
  EXPECT_EQ(frames.name(frame, nullptr).numbers[0], before);
  EXPECT_EQ(names->asked, asked) << "within a capture each place is asked once";
  names->names[kCode + 8] = "App.After()";
  Walker second = walker();
  frames.begin(second, std::chrono::nanoseconds(2));
  ASSERT_EQ(frames.name(frame, nullptr).numbers.size(), 1u);
  EXPECT_EQ(name_of(frames.name(frame, nullptr).numbers[0]), "App.After()");
  EXPECT_EQ(name_of(before), "App.Before()");
  EXPECT_EQ(shared.recording.frames()[before].address, kCode + 8);
}

TEST_F(FrameNamed, CodeInImagesIsAskedOnce) {
  FrameNames frames(shared.recording, shared_session.session->target().info());
  Frame frame;
  frame.pc = CodeAddress::exact(kCode + 8);
  frame.module = 0;
  frame.module_offset = 0x123;
  names->names[kCode + 8] = "f";
  Walker first = walker();
  frames.begin(first, std::chrono::nanoseconds(1));
  const std::uint32_t number = frames.name(frame, nullptr).numbers[0];
  EXPECT_EQ(shared.recording.frames()[number].address, 0x123u);
  const std::size_t asked = names->asked;
  Walker second = walker();
  frames.begin(second, std::chrono::nanoseconds(2));
  EXPECT_EQ(frames.name(frame, nullptr).numbers[0], number);
  EXPECT_EQ(names->asked, asked);
}

TEST_F(FrameNamed, KindsAndTrustOfOneAddressAreDifferentFrames) {
  FrameNames frames(shared.recording, shared_session.session->target().info());
  Walker one = walker();
  frames.begin(one, std::chrono::nanoseconds(1));
  Frame frame;
  frame.kind = FrameKind::managed;
  frame.pc = CodeAddress::exact(kCode + 8);
  const std::uint32_t managed = frames.name(frame, nullptr).numbers[0];
  frame.kind = FrameKind::runtime_stub;
  const std::uint32_t stub = frames.name(frame, nullptr).numbers[0];
  frame.trust = Trust::inferred;
  const std::uint32_t inferred = frames.name(frame, nullptr).numbers[0];
  const auto kind = [&](std::uint32_t number) {
    return shared.recording.functions()[shared.recording.frames()[number].function].kind;
  };
  EXPECT_EQ(kind(managed), CodeKind::managed);
  EXPECT_EQ(kind(stub), CodeKind::stub);
  EXPECT_NE(stub, inferred);
  EXPECT_EQ(shared.recording.frames()[inferred].trust, Trust::inferred);
}

TEST_F(FrameNamed, AMethodThatWasFreedBeforeItWasNamedIsSaidToBe) {
  FrameNames frames(shared.recording, shared_session.session->target().info());
  Walker one = walker();
  frames.begin(one, std::chrono::nanoseconds(1));
  const auto name = [&](FrameKind kind, CodeAddress pc) {
    Frame frame;
    frame.kind = kind;
    frame.pc = pc;
    return name_of(frames.name(frame, nullptr).numbers[0]);
  };
  EXPECT_EQ(name(FrameKind::undescribed, CodeAddress::after_call(kMadeCode + 8)), "[freed method]");
  EXPECT_EQ(name(FrameKind::undescribed, CodeAddress::exact(kMadeCode + 8)), "[unknown]") << "a stub may be there";
  EXPECT_EQ(name(FrameKind::undescribed, CodeAddress::after_call(kCode + 8)), "[unknown]");
  EXPECT_EQ(name(FrameKind::managed, CodeAddress::exact(kMadeCode + 32)), "[freed method]")
      << "and no runtime keeps it";
  names->names[kMadeCode + 16] = "App.M()";
  EXPECT_EQ(name(FrameKind::undescribed, CodeAddress::exact(kMadeCode + 16)), "App.M()");
}

TEST_F(Recorded, EqualStacksAreCountedTogetherAndOthersApart) {
  StackRecorder recorder(shared_session, shared, {});
  names->names = {{kCode, "a"}, {kCode + 8, "b"}};
  for (int i = 0; i < 3; i++) ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)})));
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode + 8), thread_at(kCode, kTid + 1)})));
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"a", 4}, {"b", 1}}));
  EXPECT_EQ(shared.recording.facts.account.samples, 5u);
  EXPECT_EQ(shared.recording.facts.account.walked, 5u);
  EXPECT_EQ(shared.recording.facts.account.cut, 5u) << "nobody knows how these stacks go on";
  ASSERT_EQ(shared.recording.threads().size(), 2u);
  EXPECT_EQ(shared.recording.threads()[0].comm, "worker");
}

TEST_F(Recorded, ASampleHasTheNameOfItsOwnTime) {
  StackRecorder recorder(shared_session, shared, {});
  names->names[kCode] = "before";
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)})));
  names->names[kCode] = "after";
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)})));
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"before", 1}, {"after", 1}}));
}

TEST_F(Recorded, AThreadThatHasNotRunIsInItsLastStack) {
  StackRecorder recorder(shared_session, shared, {});
  names->names[kCode] = "wait";
  ASSERT_TRUE(recorder.take(repeat_of(kTid)));  // no sample yet
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)})));
  for (int i = 0; i < 4; i++) ASSERT_TRUE(recorder.take(repeat_of(kTid)));
  ASSERT_TRUE(recorder.take(repeat_of(kTid, 0, 1)));  // another source has no sample of it
  recorder.flush();
  for (int i = 0; i < 2; i++) ASSERT_TRUE(recorder.take(repeat_of(kTid)));  // what was written stays known
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"wait", 7}}));
  EXPECT_EQ(shared.recording.facts.account.walked, 1u);
}

TEST_F(Recorded, WhomARoundDoesNotNameIsWhereItWas) {
  names->names[kCode] = "waits";
  names->names[kCode + 0x10] = "runs";
  StackRecorder recorder(shared_session, shared, {});
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode, 1), thread_at(kCode, 2), thread_at(kCode, 3)}, 100)));
  SampleBatch second = batch_of({thread_at(kCode + 0x10, 2)}, 200);
  second.lost.push_back(3);
  second.others_ns = 200;
  ASSERT_TRUE(recorder.take(std::move(second)));
  SampleBatch third;
  third.running.push_back({2, 300, Activity::running});
  third.others_ns = 300;
  ASSERT_TRUE(recorder.take(std::move(third)));
  recorder.end_all();
  EXPECT_EQ(stacks(), (Counts{{"waits", 3 + 2}, {"runs", 1}})) << "where the third thread is nobody knows any more";
}

TEST_F(Recorded, AThreadThatCouldNotBeStoppedIsCountedAndKnownAgainAfterwards) {
  StackRecorder recorder(shared_session, shared, {});
  names->names[kCode] = "wait";
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)})));
  ThreadCapture failed = thread_at(kCode);
  failed.captured = false;
  ASSERT_TRUE(recorder.take(batch_of({failed})));
  EXPECT_EQ(shared.recording.facts.account.lost_to_stops, 1u);
  ASSERT_TRUE(recorder.take(repeat_of(kTid)));  // of a stack that no sample has
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)})));
  for (int i = 0; i < 5; i++) ASSERT_TRUE(recorder.take(repeat_of(kTid)));
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"wait", 7}}));
}

TEST_F(Recorded, AnIdThatIsUsedAgainIsAnotherThread) {
  StackRecorder recorder(shared_session, shared, {});
  names->names[kCode] = "a";
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)})));
  SampleBatch end;
  end.ended = {kTid, kTid + 5};
  ASSERT_TRUE(recorder.take(std::move(end)));
  ASSERT_TRUE(recorder.take(repeat_of(kTid)));
  ThreadCapture other = thread_at(kCode);
  other.comm = "other";
  ASSERT_TRUE(recorder.take(batch_of({other})));
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"a", 2}}));
  ASSERT_EQ(shared.recording.threads().size(), 2u);
  EXPECT_EQ(shared.recording.threads()[1].comm, "other");
}

TEST_F(Recorded, ARunEndsAfterASecondForPicturesOverTime) {
  StackRecorder recorder(shared_session, shared, {.start_ns = 1'000});
  names->names[kCode] = "a";
  for (const std::uint64_t ms : {1u, 500u, 999u, 1500u})
    ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)}, 1'000 + ms * 1'000'000)));
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)}, 10, Activity::waiting)));  // before it began
  recorder.flush();
  const auto& samples = shared.recording.samples();
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].count, 3u);
  EXPECT_EQ(samples[0].time_ns, 1'000'000u);
  EXPECT_EQ(samples[1].time_ns, 1'500'000'000u);
  EXPECT_EQ(samples[2].time_ns, 0u);
  EXPECT_EQ(shared.recording.contexts()[samples[2].context].activity, Activity::waiting);
}

class Kernel final : public KernelNames {
 public:
  [[nodiscard]] std::string name(Address address) override { return address == 1 ? "do_futex" : "entry"; }
};

TEST_F(Recorded, FramesOfTheKernelStandInnermostWhereTheyAreWanted) {
  Kernel kernel;
  names->names[kCode] = "a";
  for (KernelNames* wanted : {static_cast<KernelNames*>(&kernel), static_cast<KernelNames*>(nullptr)}) {
    StackRecorder recorder(shared_session, shared, {.kernel = wanted});
    SampleBatch batch = batch_of({thread_at(kCode)});
    batch.samples[0].kernel = {1, 2};
    ASSERT_TRUE(recorder.take(std::move(batch)));
    recorder.flush();
  }
  EXPECT_EQ(stacks(), (Counts{{"a;entry;do_futex", 1}, {"a", 1}}));
}

TEST_F(Recorded, ALookBeforeTheBeginIsNotCounted) {
  names->names[kCode] = "a";
  StackRecorder recorder(shared_session, shared, {});
  SampleBatch look = batch_of({thread_at(kCode)}, 50);
  ThreadCapture gone;
  gone.tid = 99;
  look.threads.push_back(std::move(gone));
  look.samples.push_back({.time_ns = 50, .activity = Activity::waiting});
  recorder.warm_up(std::move(look));
  EXPECT_EQ(stacks(), Counts());
  recorder.begin(100, 1000);
  // It has not run since that look: its stack is known.
  ASSERT_TRUE(recorder.take(repeat_of(kTid, 100)));
  ASSERT_TRUE(recorder.take(repeat_of(kTid, 999)));
  ASSERT_TRUE(recorder.take(repeat_of(kTid, 1000)));  // after the end
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)}, 1000)));
  recorder.end_all();
  EXPECT_EQ(stacks(), (Counts{{"a", 2}}));
  const RecordingAccount& account = shared.recording.facts.account;
  EXPECT_EQ(account.samples, 2u);
  EXPECT_EQ(account.walked + account.lost_to_stops + account.lost_in_tree, 0u);
}

TEST_F(Recorded, RoundsSayHowLongAThreadRanAndSamplesWhere) {
  names->names = {{kCode, "a"}, {kCode + 8, "b"}, {kCode + 16, "c"}};
  const auto round = [](std::uint64_t times, ThreadId tid = kTid) {
    SampleBatch batch;
    batch.source = 1;
    for (std::uint64_t i = 0; i < times; i++) batch.running.push_back({tid, i, Activity::running});
    return batch;
  };
  StackRecorder recorder(shared_session, shared, {.end_ns = 100, .rounds_weigh = true});
  // Rounds come first, then samples for some of them, and more than there were rounds.
  ASSERT_TRUE(recorder.take(round(2)));
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode), thread_at(kCode), thread_at(kCode), thread_at(kCode + 8)})));
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"a", 2}}));
  // The last one of those is there for the next round, once.
  ASSERT_TRUE(recorder.take(round(1)));
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"a", 2}, {"b", 1}}));
  // Where samples are missing, what there is stands for all rounds in the end.
  ASSERT_TRUE(recorder.take(round(100)));
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode + 16)})));
  recorder.end_all();
  EXPECT_EQ(stacks(), (Counts{{"a", 2}, {"b", 1}, {"c", 100}}));
  // A round after the end, and of a thread of which there is no stack.
  SampleBatch late;
  late.running = {{kTid, 100, Activity::running}, {kTid + 1, 1, Activity::running}};
  ASSERT_TRUE(recorder.take(std::move(late)));
  recorder.end_all();
  EXPECT_EQ(shared.recording.facts.account.samples, 103u);
  // Threads that wait weigh what their rounds do, as ever.
  ASSERT_TRUE(recorder.take(batch_of({thread_at(kCode)}, 5, Activity::waiting)));
  recorder.end_all();
  EXPECT_EQ(shared.recording.facts.account.samples, 104u);
}

/// Delivers what it was given, then that the process has ended.
class FakeSource final : public SampleSource {
 public:
  FakeSource(std::vector<SampleBatch> batches, ErrorCode end, std::string words)
      : batches_(std::move(batches)), end_(end), words_(std::move(words)) {}
  void begin(std::uint64_t) override {}
  [[nodiscard]] Result<SampleBatch> next(const std::stop_token& stop) override {
    if (at_ < batches_.size()) return std::move(batches_[at_++]);
    if (end_ != ErrorCode::none && fails_++ >= 2) return fail(end_);
    if (end_ != ErrorCode::none) return fail(ErrorCode::thread_not_stopped);  // passes
    (void)stop;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return SampleBatch();
  }
  [[nodiscard]] SourceAccount account() const override {
    SourceAccount account;
    account.lost_in_kernel = 2;
    account.skipped = 1;
    account.holds.counts[3] = 4;
    account.holds.longest_ns = 50;
    account.holds.holds = 4;
    return account;
  }
  [[nodiscard]] std::string words() const override { return words_; }

 private:
  std::vector<SampleBatch> batches_;
  std::size_t at_ = 0;
  unsigned fails_ = 0;
  ErrorCode end_;
  std::string words_;
};

TEST_F(Recorded, TwoSourcesAreRecordedUntilTheProcessEnds) {
  names->names = {{kCode, "runs"}, {kCode + 8, "waits"}};
  std::vector<SampleBatch> running, waiting;
  for (int i = 0; i < 3; i++) running.push_back(batch_of({thread_at(kCode)}));
  waiting.push_back(batch_of({thread_at(kCode + 8)}));
  waiting.push_back(repeat_of(kTid));
  std::vector<std::unique_ptr<SampleSource>> sources;
  sources.push_back(std::make_unique<FakeSource>(std::move(running), ErrorCode::none, "first"));
  sources.push_back(std::make_unique<FakeSource>(std::move(waiting), ErrorCode::no_such_process, "second"));
  auto session = std::make_unique<SharedSession>();
  session->session = std::move(shared_session.session);
  ProcessRecorder recorder(std::move(session), std::move(sources), shared, {});
  recorder.start(0);
  EXPECT_EQ(recorder.source_words(), "first, second");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!recorder.has_ended() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(recorder.has_ended());
  recorder.stop();
  EXPECT_EQ(recorder.end_error().code, ErrorCode::no_such_process);
  const SourceAccount account = recorder.account();
  EXPECT_EQ(account.lost_in_kernel, 4u);
  EXPECT_EQ(account.skipped, 2u);
  EXPECT_EQ(account.holds.counts[3], 8u);
  EXPECT_EQ(account.holds.longest_ns, 50u);
  const auto found = stacks();
  EXPECT_EQ(found.at("waits"), 2u) << "a repeat is of a sample of its own source";
  EXPECT_LE(found.contains("runs") ? found.at("runs") : 0, 3u);
}

TEST_F(Recorded, StoppingEndsASourceThatHasNothingAndKeepsWhatCame) {
  names->names[kCode] = "a";
  std::vector<SampleBatch> batches;
  batches.push_back(batch_of({thread_at(kCode)}));
  std::vector<std::unique_ptr<SampleSource>> sources;
  sources.push_back(std::make_unique<FakeSource>(std::move(batches), ErrorCode::none, "only"));
  auto session = std::make_unique<SharedSession>();
  session->session = std::move(shared_session.session);
  ProcessRecorder recorder(std::move(session), std::move(sources), shared, {});
  recorder.start(0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto count = [&] {
    const std::lock_guard lock(shared.mutex);
    return shared.recording.facts.account.samples;
  };
  while (count() == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(recorder.has_ended());
  recorder.stop();
  recorder.stop();
  EXPECT_EQ(recorder.end_error().code, ErrorCode::none);
  EXPECT_EQ(stacks(), (Counts{{"a", 1}}));
}

StackRecorder::Options told_mappings() {
  StackRecorder::Options options;
  options.mappings_are_told = options.rounds_weigh = true;
  return options;
}

SampleBatch told(std::uint64_t until_ns, std::vector<CodeMapping> mapped = {}) {
  SampleBatch batch;
  batch.mapped = std::move(mapped);
  batch.mapped_until_ns = until_ns;
  return batch;
}

TEST_F(Recorded, SamplesWaitUntilItIsKnownWhatWasMappedBeforeThem) {
  names->names[kCode + 8] = "f";
  StackRecorder recorder(shared_session, shared, told_mappings());
  SampleBatch round = batch_of({thread_at(kCode + 8)}, monotonic_ns(), Activity::waiting);
  round.source = 1;
  round.until_ns = monotonic_ns();
  ASSERT_TRUE(recorder.take(std::move(round)));
  recorder.flush();
  EXPECT_EQ(stacks(), Counts());
  ASSERT_TRUE(recorder.take(told(monotonic_ns() - 1'000'000'000)));  // which is too little
  recorder.flush();
  EXPECT_EQ(stacks(), Counts());
  // A walker is made then, and another one since the stack has no end that it knows: each asks for what came before it.
  for (int i = 0; i < 3; i++) ASSERT_TRUE(recorder.take(told(monotonic_ns())));
  recorder.flush();
  EXPECT_EQ(stacks(), (Counts{{"f", 1}}));
}

TEST_F(Recorded, CodeThatWasReplacedHasNoName) {
  names->names[kCode + 8] = "f";
  StackRecorder recorder(shared_session, shared, told_mappings());
  SampleBatch round = batch_of({thread_at(kCode + 8)}, monotonic_ns(), Activity::waiting);
  round.source = 1;
  const std::uint64_t taken = round.until_ns = monotonic_ns();
  ASSERT_TRUE(recorder.take(std::move(round)));
  ASSERT_TRUE(recorder.take(told(monotonic_ns(), {{taken + 1, {kCode, kCode + 0x1000}}})));
  ASSERT_TRUE(recorder.take(told(monotonic_ns())));
  recorder.end_all();
  EXPECT_EQ(stacks(), (Counts{{"[code that was replaced]", 1}}));
}

TEST_F(Recorded, SamplesOfAStopWaitForNothing) {
  names->names[kCode + 8] = "f";
  names->names[kCode + 16] = "g";
  StackRecorder recorder(shared_session, shared, told_mappings());
  for (int i = 0; i < 3; i++) {
    SampleBatch stop =
        batch_of({thread_at(kCode + 8), thread_at(kCode + 16, kTid + 1)}, monotonic_ns(), Activity::waiting);
    stop.capture.consistency = Consistency::all_stopped_together;
    stop.source = 1;
    stop.until_ns = monotonic_ns();
    ASSERT_TRUE(recorder.take(std::move(stop)));
    recorder.flush();
  }
  EXPECT_EQ(stacks(), (Counts{{"f", 3}, {"g", 3}}));
}

TEST_F(Recorded, BytesAreWeightsAndTypesAreInnermost) {
  names->names[kCode + 8] = "f";
  StackRecorder recorder(shared_session, shared, {.allocations = true});
  const auto made = [&](std::uint32_t weight, const std::string& type) {
    SampleBatch batch = batch_of({thread_at(kCode + 8)}, monotonic_ns());
    batch.samples[0].clock = SampleClock::bytes;
    batch.samples[0].weight = weight;
    batch.samples[0].type = type;
    return batch;
  };
  ASSERT_TRUE(recorder.take(made(8000, "Shop.Order")));
  ASSERT_TRUE(recorder.take(made(4'000'000'000, "Shop.Order")));
  ASSERT_TRUE(recorder.take(made(4'000'000'000, "Shop.Order")));  // beyond what one count holds
  ASSERT_TRUE(recorder.take(made(100, "")));
  ASSERT_TRUE(recorder.take(made(0, "Shop.Order")));  // stands for nothing
  SampleBatch rest = batch_of({});
  rest.unplaced.push_back({kTid, "worker", 5'000'000'000, monotonic_ns()});
  ASSERT_TRUE(recorder.take(std::move(rest)));
  recorder.end_all();
  EXPECT_EQ(stacks(), (Counts{{"f;new Shop.Order", 8'000'008'000},
                              {"f;new (type not known)", 100},
                              {"[allocated without a sample]", 5'000'000'000}}));
  EXPECT_EQ(shared.recording.facts.account.samples, 4u);
  EXPECT_EQ(shared.recording.period_ns(SampleClock::bytes), 0u);
}

}  // namespace
}  // namespace mixstack::record
