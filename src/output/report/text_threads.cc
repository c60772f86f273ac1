// Lines above stacks: one for a thread, or a head for a group of threads that share a stack.
// Input: ThreadDumps. Output: text; the group's head is painted and wrapped.
// Algorithm: a thread's line has its facts in a fixed order and leaves out unknown or insignificant ones. A group's
// head collects each fact (name, mode, state, wait) by value: if all threads agree it is said once, else the values
// follow with counts, and with thread ids where few have it. Values that differ only in an address count as one, since
// threads that wait alike each have an object of their own.
// Bounds: six values of a fact, ids of at most three threads of a value; lines are wrapped to the given width.
#include "output/report/text_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/frame_view.h"
#include "output/report/thread_role.h"
#include "output/report/wait_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::string_view kFutex = "futex ";

/// A call that we interrupted goes on as restart_syscall: the innermost function's name shows which call it was.
std::string_view restarted_call(const ProcessDump& dump, const ThreadDump& thread) {
  constexpr std::pair<std::string_view, std::string_view> kCalls[] = {
      {"poll", "poll"}, {"futex", "futex"}, {"cond_", "futex"}, {"nanosleep", "clock_nanosleep"}, {"sem_", "futex"}};
  if (thread.trace.frames.empty() || thread.trace.frames.front().kind != FrameKind::native) return {};
  const std::string& name = symbol_of(dump, thread, 0).name;
  for (const auto& [part, call] : kCalls)
    if (name.find(part) != std::string::npos) return call;
  return {};
}

/// The thread's name: the managed one if the kernel's is its first 15 bytes, else the kernel's, with the managed one.
std::string name_text(const ThreadDump& thread) {
  const std::string_view managed = thread.managed ? std::string_view(thread.managed->name) : std::string_view();
  constexpr std::size_t kKept = 15;
  if (!managed.empty() && managed.substr(0, kKept) == std::string_view(thread.comm).substr(0, kKept))
    return escape_for_terminal(managed);
  std::string text = escape_for_terminal(thread.comm);
  if (!managed.empty()) text += fmt::format(" \"{}\"", escape_for_terminal(managed));
  return text;
}

/// A thread that foreign code makes is called as the one that made it, which the runtime may know.
bool has_name_of_managed(const ProcessDump& dump, const ThreadDump& thread) {
  constexpr std::size_t kMost = 2000;  // each thread is compared with all others
  if (thread.managed || thread.comm.empty() || dump.threads.size() > kMost) return false;
  return std::ranges::any_of(dump.threads,
                             [&](const ThreadDump& other) { return other.managed && other.comm == thread.comm; });
}

std::string mode_text(const ThreadDump& thread) {
  if (!thread.managed) return "native";
  if (thread.managed->is_only_listed) return "managed";
  return thread.managed->cooperative ? "cooperative" : "preemptive";
}

/// Values of one fact, with the threads that have each.
class Fact {
 public:
  void add(std::string value, ThreadId tid) { by_value_[std::move(value)].push_back(tid); }
  [[nodiscard]] bool is_same() const { return by_value_.size() <= 1; }
  [[nodiscard]] const std::string& value() const { return by_value_.begin()->first; }
  /// "preemptive 55, cooperative 1 (4711)": the most frequent first, at most six. Values that differ only in an address
  /// count as one: "waits for the task T (39 of them) 39".
  [[nodiscard]] std::string words() const {
    std::map<std::string, Alike> alike;
    for (const auto& [text, tids] : by_value_) {
      Alike& of = alike[without_address(text)];
      of.values++;
      of.text = &text;
      of.tids.insert(of.tids.end(), tids.begin(), tids.end());
    }
    std::vector<std::pair<std::string, const Alike*>> order;
    for (const auto& [shape, of] : alike)
      order.emplace_back(of.values == 1 ? *of.text : fmt::format("{} ({} of them)", shape, of.values), &of);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->tids.size() > b.second->tids.size(); });
    constexpr std::size_t kMost = 6, kFew = 3;
    std::string out;
    for (std::size_t i = 0; i < order.size() && i < kMost; i++) {
      const auto& [text, of] = order[i];
      out += fmt::format("{}{} {}", i == 0 ? "" : ", ", text.empty() ? "unknown" : text, of->tids.size());
      if (of->tids.size() <= kFew) out += fmt::format(" ({})", number_ranges(of->tids));
    }
    if (order.size() > kMost) out += fmt::format(", {} others", order.size() - kMost);
    return out;
  }

 private:
  struct Alike {
    std::size_t values = 0;
    const std::string* text = nullptr;
    std::vector<ThreadId> tids;
  };
  /// An object's address at the end of a word or of all.
  [[nodiscard]] static std::string without_address(std::string text) {
    const std::size_t at = text.find(" 0x");
    if (at == text.npos) return text;
    const std::size_t end = text.find_first_not_of("0123456789abcdef", at + 3);
    return text.erase(at, end == text.npos ? text.npos : end - at);
  }

  std::map<std::string, std::vector<ThreadId>> by_value_;
};

}  // namespace

std::string doing_words(const ProcessDump& dump, const ThreadDump& thread) {
  // A core has the state of one thread only, and that one was dying.
  std::string text(dump.target.core_path.empty() ? kernel_state_words(thread.kernel_state) : "");
  std::string call = syscall_words(dump.target.arch, thread.syscall);
  if (call == "restart_syscall")
    if (const std::string_view was = restarted_call(dump, thread); !was.empty()) call = was;
  if (call.empty()) return text;
  text += (text.empty() ? "in " : " in ") + call;
  const ThreadFacts& facts = thread.facts;
  // A futex's address is left to `thread_line`: it would make threads of a group differ.
  if (!facts.fd && (facts.object.empty() || facts.object.starts_with(kFutex))) return text;
  const std::string object = escape_for_terminal(facts.object);
  return text + (facts.fd ? fmt::format("({}{}{})", *facts.fd, object.empty() ? "" : " ", object)
                          : fmt::format("({})", object));
}

namespace {

/// "(0x7f12a0001234), last ran 12 s ago", for one thread. It may wait for longer: our own stops make it run, too.
std::string waiting_words(const ThreadFacts& facts) {
  std::string text;
  if (facts.object.starts_with(kFutex)) text = "(" + escape_for_terminal(facts.object.substr(kFutex.size())) + ")";
  constexpr std::chrono::seconds kLong{1};
  if (facts.off_cpu && *facts.off_cpu >= kLong) text += ", last ran " + age_words(*facts.off_cpu) + " ago";
  return text;
}

/// Words for a wait that the system call does not show: `doing_words` already covers waits in the kernel alone.
[[nodiscard]] std::string runtime_wait_words(const ProcessDump& dump, const ThreadDump& thread) {
  return thread.wait && !is_told_by_call(*thread.wait) ? wait_words(dump, thread) : std::string();
}

}  // namespace

std::string thread_line(const ProcessDump& dump, const ThreadDump& thread) {
  std::string text = fmt::format("Thread {}", thread.tid);
  if (thread.ns_tid != 0 && thread.ns_tid != thread.tid) text += fmt::format(" (inside {})", thread.ns_tid);
  if (const std::string name = name_text(thread); !name.empty()) text += " " + name;
  if (role_of(dump, thread) == ThreadRole::main && !dump.runtimes.empty()) text += ", main";
  if (thread.managed && thread.managed->is_only_listed)
    text += ", managed";
  else if (thread.managed)
    text += fmt::format(", managed {}, {}", thread.managed->managed_id, mode_text(thread));
  else if (has_name_of_managed(dump, thread))
    text += ", native";
  if (const std::string state = doing_words(dump, thread); !state.empty())
    text += ", " + state + waiting_words(thread.facts);
  if (const std::string wait = runtime_wait_words(dump, thread); !wait.empty()) text += ", " + wait;
  // A few milliseconds of processor time say little about a thread.
  constexpr std::chrono::milliseconds kMuch{10};
  if (thread.facts.cpu && *thread.facts.cpu >= kMuch)
    text += fmt::format(", {} CPU", duration_words(*thread.facts.cpu));
  constexpr std::uint64_t kManyBytes = 1 << 20;
  if (thread.managed && thread.managed->allocated_bytes.value_or(0) >= kManyBytes)
    text += fmt::format(", {} allocated", size_words(*thread.managed->allocated_bytes));
  if (thread.late.count() > 0)
    text += fmt::format(", late by {:.1f} ms", static_cast<double>(thread.late.count()) / 1e6);
  if (thread.not_stopped) text += ", looked at without a stop";
  if (thread.managed && !thread.managed->exception_type().empty())
    text += ", exception " + escape_for_terminal(thread.managed->exception_type());
  return text;
}

std::string number_ranges(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) end++;
    if (!out.empty()) out += ", ";
    out += std::to_string(numbers[i]);
    if (end - i == 2) out += fmt::format(", {}", numbers[i + 1]);
    if (end - i > 2) out += fmt::format("-{}", numbers[end - 1]);
    i = end;
  }
  return out;
}

bool has_story(const ProcessDump& dump, const ThreadDump& thread) {
  const bool crashed = dump.target.crash && dump.target.crash->tid == thread.tid;
  return crashed || thread.late.count() > 0 ||
         (thread.managed && (!thread.managed->exceptions.empty() || thread.managed->abort));
}

namespace {

/// "last ran 3 s to 2 min ago": the shortest and the longest; empty where one of them ran a moment ago.
std::string since_words(const StackGroup& group) {
  constexpr std::chrono::seconds kLong{1};
  auto least = std::chrono::nanoseconds::max(), most = std::chrono::nanoseconds::zero();
  for (const ThreadDump* thread : group.threads) {
    const auto off = thread->facts.off_cpu.value_or(std::chrono::nanoseconds::zero());
    least = std::min(least, off);
    most = std::max(most, off);
  }
  if (least < kLong) return {};
  const std::string from = age_words(least), to = age_words(most);
  return from == to ? fmt::format("last ran {} ago", to) : fmt::format("last ran {} to {} ago", from, to);
}

}  // namespace

void write_group_head(Painter& out, const ProcessDump& dump, const StackGroup& group, std::size_t width) {
  Fact name, mode, doing, waits;
  std::vector<ThreadId> tids;
  for (const ThreadDump* thread : group.threads) {
    tids.push_back(thread->tid);
    name.add(name_text(*thread), thread->tid);
    mode.add(mode_text(*thread), thread->tid);
    doing.add(doing_words(dump, *thread), thread->tid);
    waits.add(runtime_wait_words(dump, *thread), thread->tid);
  }
  std::string head = fmt::format("{} threads with this stack", group.threads.size()), differ;
  const std::pair<std::string_view, const Fact*> facts[] = {
      {"name", &name}, {"mode", &mode}, {"state", &doing}, {"wait", &waits}};
  bool first = true;
  for (const auto& [what, fact] : facts) {
    if (!fact->is_same()) {
      differ += fmt::format("  {}: {}\n", what, wrapped(fact->words(), width > 9 ? width - 9 : 0, "    "));
    } else if (!fact->value().empty()) {
      head += (first ? ": " : ", ") + fact->value();
      first = false;
    }
  }
  if (const std::string since = since_words(group); !since.empty()) head += ", " + since;
  if (!group.same_addresses) differ += "  at different instructions of the functions without an address\n";
  out.paint(Ink::header, wrapped(head, width, "  ") + "\n");
  out.plain() << "  " << wrapped(number_ranges(std::move(tids)), width > 2 ? width - 2 : 0, "  ") << '\n' << differ;
}

std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  if (width == 0 || columns(text) <= width) return text;
  std::string out, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = text.find(", ", at);
    const std::size_t end = comma == std::string::npos ? text.size() : comma + 2;
    const std::string_view piece = std::string_view(text).substr(at, end - at);
    const std::size_t blank = comma == std::string::npos ? 0 : 1;  // behind the comma, and not needed at the end
    if (!line.empty() && columns(line) + columns(piece) > width + blank) {
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out += line + "\n";
      line = indent;
    }
    // A name may be longer than a line.
    const std::size_t taken = columns(line);
    const bool is_long = width > taken + 1 && columns(piece) > width - taken + blank;
    line += is_long ? shorten_middle(piece, width - taken) : std::string(piece);
    at = end;
  }
  return out + line;
}

}  // namespace mixstack::report
