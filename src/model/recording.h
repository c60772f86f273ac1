// What the threads of processes did over a time: samples of stacks, each distinct stack once. What `mixstack record`
// makes and what all its formats are made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mixstack/frame.h"
#include "mixstack/symbol.h"

namespace mixstack {

/// What code is, as people tell it apart in a picture.
enum class CodeKind : std::uint8_t {
  managed,  ///< code the JIT or crossgen made
  native,
  runtime,  ///< the .NET runtime's own images: libcoreclr, libclrjit, libclrgc
  kernel,
  stub,     ///< code the runtime generated that is no method
  unknown,  ///< executable memory that nobody describes; with a name: read of names alone
};
inline constexpr CodeKind kLastCodeKind = CodeKind::unknown;
[[nodiscard]] std::string_view word_of(CodeKind);

/// What a thread did at the instant of a sample.
enum class Activity : std::uint8_t {
  running,   ///< on a processor
  runnable,  ///< ready to run, and no processor was given to it
  waiting,   ///< for a lock, a file, time: may be interrupted (S)
  blocked,   ///< in the kernel, may not be interrupted (D)
  unknown,
};
inline constexpr Activity kLastActivity = Activity::unknown;
[[nodiscard]] std::string_view word_of(Activity);

enum class GcMode : std::uint8_t { unknown, cooperative, preemptive };
inline constexpr GcMode kLastGcMode = GcMode::preemptive;
[[nodiscard]] std::string_view word_of(GcMode);

/// Which clock a sample was taken by, hence what it stands for: a period of processor time, or of wall time.
enum class SampleClock : std::uint8_t { cpu, wall };
inline constexpr SampleClock kLastSampleClock = SampleClock::wall;
[[nodiscard]] std::string_view word_of(SampleClock);

/// Indices below are those of the lists of the Recording they are in.
struct RecordedProcess {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;  ///< pid of the recorded process that started it; 0: none of them
  std::string comm{};
  std::string command{};  ///< the command line, escaped; empty: not known
  std::string runtime{};  ///< version of .NET; empty: none
};

struct RecordedThread {
  std::uint32_t process = 0;
  std::uint32_t tid = 0;
  std::string comm{};                       ///< the kernel's short name
  std::string name{};                       ///< Thread.Name; empty: none
  std::uint64_t first_ns = 0, last_ns = 0;  ///< first and last seen, since the recording began
};

struct RecordedModule {
  std::string name{};      ///< short: `libc.so.6`, `System.Private.CoreLib`, `[kernel]`
  std::string path{};      ///< as the target sees it; empty for dynamic code
  std::string build_id{};  ///< hex, native images only
  friend auto operator<=>(const RecordedModule&, const RecordedModule&) = default;
};

inline constexpr std::uint32_t kNoIndex = 0xffffffffu;

/// A function, as pictures show it. One without a name stands for all unnamed code of its module.
struct RecordedFunction {
  std::string name{};      ///< as people read it; empty: nobody knows
  std::string raw_name{};  ///< the linker's symbol, or as the metadata has it; may be empty
  std::uint32_t module = kNoIndex;
  CodeKind kind = CodeKind::native;
  bool is_user = false;  ///< of the program itself, neither of .NET nor of the system
  friend auto operator<=>(const RecordedFunction&, const RecordedFunction&) = default;
};

/// A place in a function. Frames of one stack may share an address: functions that the compiler put into another one.
struct RecordedFrame {
  std::uint32_t function = 0;
  std::uint32_t line = 0;         ///< 0: not known
  std::uint32_t file = kNoIndex;  ///< index of `files()`
  Inlining inlining = Inlining::none;
  Trust trust = Trust::certain;
  /// Link-time address in its module, or for code outside of images the address in the process; that of the
  /// instruction, for callers that of the call. 0: not known.
  std::uint64_t address = 0;
  friend auto operator<=>(const RecordedFrame&, const RecordedFrame&) = default;
};

/// A frame and all that called it: a stack is the number of its innermost node. Node 0 is the empty stack.
struct StackNode {
  std::uint32_t parent = 0;  ///< always less than the node's own number
  std::uint32_t frame = 0;
  friend bool operator==(const StackNode&, const StackNode&) = default;
};

/// All that a sample knows beside stack and time. Samples share them.
struct SampleContext {
  std::uint32_t thread = 0;
  SampleClock clock = SampleClock::wall;
  Activity activity = Activity::unknown;
  GcMode gc_mode = GcMode::unknown;
  bool gc_pending = false;  ///< the runtime was stopping its threads, or had
  StopReason stop = StopReason::end_of_stack;
  std::int32_t system_call = -1;  ///< number it was in, -1: none or not known
  friend bool operator==(const SampleContext&, const SampleContext&) = default;
};

/// `count` periods of one thread, the first of them at `time_ns`.
struct Sample {
  std::uint64_t time_ns = 0;  ///< since the recording began
  std::uint32_t stack = 0;
  std::uint32_t context = 0;
  std::uint32_t count = 1;
};

/// What was taken, and what was not and where it was lost.
struct RecordingAccount {
  std::uint64_t samples = 0;         ///< periods that are in the recording
  std::uint64_t walked = 0;          ///< of those: by a walk of their own (others: the thread had not run since)
  std::uint64_t cut = 0;             ///< of those in the recording: the end of their stacks was not reached
  std::uint64_t lost_in_kernel = 0;  ///< the kernel had no room for them
  std::uint64_t lost_in_queue = 0;   ///< walking was slower than sampling
  std::uint64_t lost_in_tree = 0;    ///< no room for so many different stacks
  std::uint64_t lost_to_stops = 0;   ///< the thread could not be stopped, or had gone
  std::uint64_t skipped = 0;         ///< rounds left out, because the last took too long
};

/// How long threads were held, as powers of two of microseconds: [0] below 1 us, [k] below 2^k us.
struct HoldHistogram {
  std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(24);
  std::uint64_t total_ns = 0, longest_ns = 0, holds = 0;
};

struct RecordingFacts {
  std::uint64_t started_unix_ns = 0;  ///< wall clock
  std::uint64_t duration_ns = 0;
  std::uint32_t cpu_hertz = 0, wall_hertz = 0;  ///< 0: not sampled by this clock
  std::string source{};  ///< in words: "perf events (cycles)", "BPF iterator and perf events", "stops by ptrace"
  std::string arch{};    ///< "x86_64", "aarch64"
  std::string host{};
  std::string version{};         ///< of mixstack
  std::uint64_t own_cpu_ns = 0;  ///< what recording cost
  HoldHistogram holds{};
  RecordingAccount account{};
  std::vector<std::string> notes{};  ///< what a reader should know: what was not allowed, what ended early
};

/// Grows with different stacks, not with samples: when there are too many of these, they are put together in slices of
/// time, each twice as long as before. Not thread-safe.
class Recording {
 public:
  static constexpr std::size_t kMostNodes = 1u << 22;
  static constexpr std::size_t kMostFrames = 1u << 21;
  static constexpr std::size_t kMostFunctions = 1u << 20;
  static constexpr std::size_t kMostThreads = 1u << 17;
  static constexpr std::size_t kMostContexts = 1u << 20;
  static constexpr std::size_t kMostSamples = 1u << 20;  ///< before time is made coarser
  static constexpr std::size_t kMostBelow = 1u << 16;    ///< depth of a stack

  Recording();

  RecordingFacts facts{};

  // Lists of what there is. Strings in them are not escaped for any format; control characters are.
  [[nodiscard]] const std::vector<RecordedProcess>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<RecordedThread>& threads() const { return threads_; }
  [[nodiscard]] const std::vector<RecordedModule>& modules() const { return modules_; }
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] const std::vector<RecordedFunction>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<RecordedFrame>& frames() const { return frames_; }
  [[nodiscard]] const std::vector<StackNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<SampleContext>& contexts() const { return contexts_; }
  /// Not sorted: `sort_samples` sorts.
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }
  /// Times are multiples of this, 1 as long as nothing was put together.
  [[nodiscard]] std::uint64_t slice_ns() const { return slice_ns_; }
  /// Nanoseconds that one period of a clock stands for, 0: nothing was sampled by it.
  [[nodiscard]] std::uint64_t period_ns(SampleClock clock) const;

  // Each answers the number of an equal element, which is added if it is new. Nothing: no room, or an index in it is
  // none of this recording's.
  [[nodiscard]] std::optional<std::uint32_t> process(const RecordedProcess& process);
  [[nodiscard]] std::optional<std::uint32_t> module(const RecordedModule& module);
  [[nodiscard]] std::optional<std::uint32_t> file(const std::string& path);
  [[nodiscard]] std::optional<std::uint32_t> function(const RecordedFunction& function);
  [[nodiscard]] std::optional<std::uint32_t> frame(const RecordedFrame& frame);
  [[nodiscard]] std::optional<std::uint32_t> node(StackNode node);
  [[nodiscard]] std::optional<std::uint32_t> context(const SampleContext& context);
  /// Threads are not put together: a thread id may be used again.
  [[nodiscard]] std::optional<std::uint32_t> add_thread(const RecordedThread& thread);
  [[nodiscard]] RecordedThread& thread(std::uint32_t index) { return threads_[index]; }

  /// False: an index is none of this recording's, the sample counts nothing, or there is no room.
  [[nodiscard]] bool add(const Sample& sample);
  /// Keeps what is added from now on a second time, until `take_fresh`: for what sends a recording piece by piece.
  void keep_fresh() { keeps_fresh_ = true; }
  /// What was added since `keep_fresh` or the last call. Every period is in one answer, and in one only. Where there
  /// were very many, samples of equal stack and context are one, at the time of the first of them.
  [[nodiscard]] std::vector<Sample> take_fresh() { return std::exchange(fresh_, {}); }
  /// By time, then context and stack.
  void sort_samples();
  /// Puts samples of equal stack and context together in slices of `slice_ns`.
  void make_coarser(std::uint64_t slice_ns);
  /// For who has counted them elsewhere; all else stays, and times of what follows are exact again.
  void forget_samples();

  /// The frames of a stack, innermost first. At most kMostBelow.
  [[nodiscard]] std::vector<std::uint32_t> frames_of(std::uint32_t stack) const;

 private:
  void make_room();
  void make_room_for_fresh();
  template <class Key>
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  template <class Key>
  using Numbers = std::unordered_map<Key, std::uint32_t, Hash<Key>>;

  std::vector<RecordedProcess> processes_;
  std::vector<RecordedThread> threads_;
  std::vector<RecordedModule> modules_;
  std::vector<std::string> files_;
  std::vector<RecordedFunction> functions_;
  std::vector<RecordedFrame> frames_;
  std::vector<StackNode> nodes_;
  std::vector<std::uint32_t> depths_;  ///< of nodes
  std::vector<SampleContext> contexts_;
  std::vector<Sample> samples_;
  std::vector<Sample> fresh_;  ///< added since they were taken, if they are kept
  bool keeps_fresh_ = false;
  std::size_t fresh_room_ = kMostSamples;
  std::uint64_t slice_ns_ = 1;
  std::size_t room_ = kMostSamples;  ///< so many samples, and time is made coarser

  Numbers<RecordedModule> module_numbers_;
  Numbers<std::string> file_numbers_;
  Numbers<RecordedFunction> function_numbers_;
  Numbers<RecordedFrame> frame_numbers_;
  Numbers<StackNode> node_numbers_;
  Numbers<SampleContext> context_numbers_;
};

/// What stands for a function in a list or picture: its name, "[libcoreclr.so]" for unnamed code of a module, else
/// "[unknown]". As recorded, not escaped.
[[nodiscard]] std::string shown_name(const Recording& recording, std::uint32_t function);
/// Whether a node is unnamed code that unnamed code of the same module called: pictures show the two as one box.
[[nodiscard]] bool repeats_unnamed(const Recording& recording, std::uint32_t node);

}  // namespace mixstack
