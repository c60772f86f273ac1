// From batches of samples to a recording: walks, names, and counts each distinct stack once.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "features/record/frame_names.h"
#include "features/record/known_stacks.h"
#include "features/record/outer_frames.h"
#include "features/record/sample_source.h"
#include "features/record/sample_walker.h"
#include "features/record/shared_recording.h"

namespace mixstack::record {

/// Names of kernel code; called under the recording's lock.
class KernelNames {
 public:
  virtual ~KernelNames() = default;
  /// Empty: not known.
  [[nodiscard]] virtual std::string name(Address address) = 0;
};

/// The recorder of one process. One thread at a time, except where a member says otherwise.
class StackRecorder {
 public:
  /// Whether samples wait for reports of mappings, and whether they count.
  ///
  ///   warming_up <-> recording      `warm_up` begins and ends
  ///   recording <-> hurrying        `take`: too many samples wait, or few enough again
  ///   recording, hurrying -> ending `end_all`; no other state follows
  enum class State : std::uint8_t {
    recording,   ///< a sample waits until all mappings that are older are known, since other code may be there by then
    warming_up,  ///< nothing waits, and nothing is counted
    hurrying,    ///< nothing waits; places whose code is not known for sure are marked as replaced
    ending,      ///< the same
  };
  struct Options {
    std::uint32_t process = 0;            ///< index in the recording
    std::uint64_t start_ns = 0;           ///< CLOCK_MONOTONIC at the start of the recording
    std::uint64_t end_ns = UINT64_MAX;    ///< and at its end: later samples are left out
    std::uint32_t max_frames = 1u << 16;  ///< of a walk; recordings of deep stacks leave frames out (`kMostShown`)
    KernelNames* kernel = nullptr;        ///< borrowed; null: frames of the kernel are left out
    /// A source reports new mappings of code (`SampleBatch::mapped`): they need not be read for each walker.
    bool mappings_are_told = false;
    /// Running threads are sampled by another source than the rounds: the rounds that found a thread running say how
    /// long it ran, its samples say where.
    bool rounds_weigh = false;
    bool allocations = false;  ///< samples are of allocations: shown from the managed code that made the object
    /// Called for samples that tell what they did to memory, with their stack's node, under the recording's lock.
    std::function<void(const MemoryEvent& event, std::uint32_t stack)> memory_use{};
    bool async_callers = false;  ///< show async methods that await the sampled one outside of its thread's first frame
  };
  StackRecorder(SharedSession& session, SharedRecording& shared, const Options& options);

  /// Samples count from now on: the recording begins and ends at these moments (CLOCK_MONOTONIC, ns).
  void begin(std::uint64_t start_ns, std::uint64_t end_ns) {
    options_.start_ns = start_ns;
    options_.end_ns = end_ns;
  }
  /// Like `take`, but counts nothing.
  void warm_up(SampleBatch batch);
  /// An error ends this batch only: all that could be walked is in the recording.
  [[nodiscard]] Result<void> take(SampleBatch batch);
  /// Writes all counts that are not yet in the recording. Any thread, at any time.
  void flush();
  /// Call after the last batch: writes the remaining counts.
  void end_all();

 private:
  /// The present stack of a thread, as one source sees it.
  struct Run {
    Sample sample{.count = 0};  ///< periods with one stack and context, not yet in the recording; count 0: none
    SampleContext context;      ///< of the last sample
    bool has_stack = false;     ///< `sample.stack` is that of the last sample
  };
  /// A sample of a thread that ran.
  struct Ran {
    std::uint32_t stack = 0;
    SampleContext context;
    std::uint64_t time_ns = 0;
  };
  struct Thread {
    std::uint32_t index = 0;  ///< in the recording
    bool is_named = false;
    std::uint32_t owed = 0;      ///< rounds that found it running and have no sample yet
    std::optional<Ran> last;     ///< its last sample as a running thread
    bool last_is_spare = false;  ///< no round has counted `last` yet
    std::uint32_t unseen = 0;    ///< rounds that did not look at it
    std::uint64_t told_ns = 0;   ///< time of the last round that named it
    std::array<Run, 2> runs;     ///< by source
  };
  /// The result of a walk, as the recording knows it.
  struct Walked {
    KnownStack known;
    StopReason stop = StopReason::end_of_stack;
  };
  static constexpr std::size_t kMostPlain = 1u << 15;         ///< addresses; longer stacks are walked each time
  static constexpr std::size_t kMostKernelFrames = 1u << 16;  ///< kept at a time
  static constexpr std::uint64_t kWalkerLife = 100'000'000;   ///< ns: code may come and go meanwhile
  static constexpr std::size_t kMostWaiting = 256, kMostWaitingSamples = 2048;  ///< batches, and samples in all of them
  static constexpr std::uint32_t kFewOwed = 16;  ///< below, one round per sample; above, more
  static constexpr std::size_t kRunning = 0;     ///< index of the source that samples running threads, if there are two
  static constexpr std::size_t kMostNew = 1u << 16;
  static constexpr std::size_t kMostUnknown = 1u << 12;        ///< unknown places kept at a time
  static constexpr std::uint64_t kLongestRun = 1'000'000'000;  ///< ns, so that pictures over time stay exact

  /// The awaiters of an async method whenever they were known.
  struct AwaitedBy {
    std::vector<std::string> names;  ///< innermost first
    std::uint32_t node = 0;
    bool differs = false;  ///< not the same each time
  };
  /// The batch that is being recorded.
  struct Batch {
    std::size_t source = 0;
    std::uint64_t begun_ns = 0;     ///< all its samples are older
    Taken taken;                    ///< its first sample, and `SampleBatch::until_ns`
    std::vector<OwnedBytes> bytes;  ///< of its stacks, if the walker is shared
  };

  [[nodiscard]] bool is_hasty() const { return state_ == State::hurrying || state_ == State::ending; }
  [[nodiscard]] bool counts() const { return state_ != State::warming_up; }
  void hurry_if_too_many_wait();
  [[nodiscard]] bool must_wait(const SampleBatch& batch) const;
  [[nodiscard]] bool sample_must_wait() const;
  [[nodiscard]] Result<void> take_now(SampleBatch batch);
  [[nodiscard]] std::optional<std::uint32_t> replaced_stack(Trace& trace, const std::vector<bool>& is_other,
                                                            std::span<const Address> kernel);
  [[nodiscard]] bool is_other_code(CodeAddress place, Taken taken) const;
  [[nodiscard]] bool renew_walker();
  [[nodiscard]] Result<void> prepare_walker(SampleBatch& batch);
  void begin_walker();
  [[nodiscard]] std::optional<Trace> walk(const ThreadCapture& thread, Taken taken);
  [[nodiscard]] Thread* thread_of(ThreadId tid, std::uint64_t time_ns, const ThreadCapture* capture);
  void name_thread(Thread& thread, const ThreadCapture& capture);
  void record(const ThreadCapture& capture, const SampledThread& sample);
  [[nodiscard]] std::optional<Walked> walked(const ThreadCapture& capture, std::span<const Address> kernel,
                                             Taken taken);
  /// The outer part of a stack, beyond the frames of a trace.
  struct Outer {
    std::uint32_t node = 0;  ///< of the recording's tree
    std::size_t inner = 0;   ///< frames of the trace that it called
    StopReason stop = StopReason::end_of_stack;
  };
  [[nodiscard]] std::optional<std::uint32_t> stack_of(const Trace& trace, std::size_t frames,
                                                      std::span<const Address> kernel, bool& lasts, std::uint32_t root);
  [[nodiscard]] std::optional<std::uint32_t> async_node(const AsyncCallersOfThread& callers);
  [[nodiscard]] std::optional<std::uint32_t> stack_of(const Trace& trace, const Outer& outer,
                                                      std::span<const Address> kernel, bool& lasts);
  [[nodiscard]] std::optional<std::uint32_t> frame_node(std::uint32_t outer, std::span<const Frame> frames,
                                                        std::size_t index, bool& lasts);
  [[nodiscard]] std::optional<std::uint32_t> type_node(std::uint32_t maker, const std::string& type);
  [[nodiscard]] std::size_t shown_from(const Trace& trace) const;
  [[nodiscard]] std::optional<std::uint32_t> box_node(std::uint32_t outer, std::string_view name);
  [[nodiscard]] std::optional<std::uint32_t> folded_node(std::size_t left_out, std::uint32_t outer);
  [[nodiscard]] std::optional<Outer> outer_of(const ThreadCapture& capture, const Trace& trace, Taken taken);
  [[nodiscard]] bool read_deep(OuterFrames& deep, const ThreadCapture& capture, Address from, Taken taken);
  [[nodiscard]] Address stack_end(Address sp);
  void learn_root(OuterFrames& deep, const ThreadCapture& capture);
  [[nodiscard]] std::optional<std::size_t> walk_deep(OuterFrames& deep, const ThreadCapture& capture,
                                                     const Frame& last);
  [[nodiscard]] std::optional<std::uint32_t> deep_node(OuterFrames& deep, std::size_t index, std::size_t inner);
  [[nodiscard]] std::optional<std::uint32_t> kernel_frame(Address address);
  void repeat(const RepeatedSample& repeat);
  void repeat_others(std::uint64_t time_ns);
  void repeat(Thread& thread, std::uint64_t time_ns, std::optional<Activity> activity);
  void found_running(const RepeatedSample& round);
  void leave_unseen(ThreadId tid);
  void count_running(Thread& thread, const Ran& ran);
  void settle(Thread& thread);
  void count(Run& run, std::uint32_t stack, const SampleContext& context, std::uint64_t time_ns,
             std::uint32_t weight = 1);
  void count_bytes(Thread& thread, std::uint32_t stack, const SampleContext& context, const SampledThread& sample);
  void count_unplaced(const UnplacedBytes& unplaced);
  void write(Run& run);
  void finish(SampleBatch& batch);
  void end(ThreadId tid);

  // Given.
  SharedSession& session_;
  SharedRecording& shared_;
  Options options_;
  TargetInfo target_;

  // The present moment.
  State state_ = State::recording;
  std::deque<SampleBatch> waiting_;  ///< until all mappings made before them are known
  Batch batch_;
  SampleWalker walker_;

  // Threads.
  std::unordered_map<ThreadId, Thread> threads_;
  std::unordered_map<ThreadId, std::uint32_t> owed_to_new_;  ///< rounds that found threads running before any sample

  // Code and stacks that are known, so that they need not be asked again.
  FrameNames names_;
  KnownStacks known_stacks_;
  OuterFramesOfThreads outer_frames_;
  std::unordered_map<Address, std::uint32_t> kernel_frames_;  ///< numbers in the recording
  std::unordered_map<Address, AwaitedBy> awaited_by_;         ///< by the MethodDesc of an async method
  /// Places that a walker did not know, and when a walker was made for each. Not repeated soon, since the new one may
  /// not know them either; later there may be other code.
  std::unordered_map<Address, std::uint64_t> unknown_;
  std::vector<Region> regions_;  ///< read when the walker's regions do not cover a stack
  std::uint64_t regions_ns_ = 0;
  std::vector<CodeAddress> addresses_ = std::vector<CodeAddress>(kMostPlain);  ///< of one stack
};

}  // namespace mixstack::record
