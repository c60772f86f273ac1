#include "features/why/call_causes.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/why/counter_change.h"
#include "output/report/escape.h"
#include "output/report/rate_words.h"
#include "output/report/words.h"

namespace mixstack::why {
namespace {

using process::DiskCall;

constexpr double kLeastTime = 0.2;       // s
constexpr double kLeastWrites = 10'000;  // a second
constexpr double kMostBytes = 256;       // of a write
constexpr double kLeastCost = 0.1;       // processors
constexpr double kManyWrites = 30'000;   // a second: worth a word whatever they cost
constexpr std::uint64_t kLeastLooks = 20;
constexpr double kLeastDisk = 0.25;  // of the looks

/// The file that took the bytes: one grew by about as many. Another one that was only written over may be it.
std::string written_file(const KernelEvidence& evidence, double bytes_a_second, bool& is_certain) {
  const double bytes = bytes_a_second * seconds_of(evidence.time);
  const auto is_larger = [](const ChangedFile& a, const ChangedFile& b) { return a.grown < b.grown; };
  const auto largest = std::max_element(evidence.changed.begin(), evidence.changed.end(), is_larger);
  is_certain = false;
  if (largest == evidence.changed.end()) return {};
  const double grown = static_cast<double>(largest->grown);
  is_certain = grown > bytes * 0.5 && grown < bytes * 1.5;
  if (is_certain || evidence.changed.size() == 1) return report::escape_for_terminal(largest->path);
  return {};
}

/// The threads that made most of the calls.
std::vector<std::string> writers(std::vector<ThreadCounters> gains, double writes) {
  constexpr std::size_t kShown = 3;
  const auto count = [](const ThreadCounters& t) { return t.writes.value_or(0); };
  std::stable_sort(gains.begin(), gains.end(), [&](const auto& a, const auto& b) { return count(a) > count(b); });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(gains.size(), kShown); i++) {
    const double share = static_cast<double>(count(gains[i])) / std::max(writes, 1.0);
    if (share < 0.1) break;
    lines.push_back(fmt::format("{} of them by thread {} \"{}\"", report::percent_words(share), gains[i].tid,
                                report::escape_for_terminal(gains[i].name)));
  }
  return lines;
}

std::string_view words_of(DiskCall call) {
  switch (call) {
    case DiskCall::sync:
      return "until what was written is on the disk";
    case DiskCall::truncate:
      return "until a file has its new size";
    case DiskCall::read:
      return "for the disk to read a file";
    case DiskCall::write:
      return "to write a file";
    case DiskCall::page_in:
      return "for memory that is not there: swapped out, or a file's";
    case DiskCall::none:
      break;
  }
  return "for the disk";
}

std::string call_words(const KernelEvidence& evidence, const process::WaitedCall& call) {
  const std::string_view name = call.number < 0 ? "" : report::syscall_name(evidence.arch, call.number);
  std::string text(name.empty() ? words_of(call.call) : name);
  if (!call.file.empty()) text += " of " + report::escape_for_terminal(call.file);
  return text;
}

}  // namespace

std::optional<SlowCause> writes_cause(const Counters& before, const Counters& after, const KernelEvidence& evidence) {
  const double time = seconds_between(before, after);
  const auto writes = gain(before.kernel.writes, after.kernel.writes);
  const auto bytes = gain(before.kernel.written_bytes, after.kernel.written_bytes);
  const auto system = gain(before.kernel.system, after.kernel.system);
  const auto user = gain(before.kernel.user, after.kernel.user);
  if (time < kLeastTime || !writes || *writes == 0 || !bytes || !system || !user) return std::nullopt;
  const double rate = static_cast<double>(*writes) / time;
  const double each = static_cast<double>(*bytes) / static_cast<double>(*writes);
  const double cost = seconds_of(*system) / time, used = cost + seconds_of(*user) / time;
  if (rate < kLeastWrites || each > kMostBytes || (cost < kLeastCost && rate < kManyWrites)) return std::nullopt;
  SlowCause cause;
  cause.kind = SlowKind::writes;
  cause.is_certain = true;
  cause.share = std::min(1.0, used > 0 ? cost / used : 0);
  bool is_file_certain = false;
  const std::string file = written_file(evidence, rate * each, is_file_certain);
  cause.what = fmt::format("{}/s of {}{}{}; {} of its processor time is the kernel's", report::count_words(rate),
                           report::amount_words(each),
                           file.empty()      ? ""
                           : is_file_certain ? " to "
                                             : ", perhaps to ",
                           file, report::percent_words(cause.share));
  cause.place_of = "written";
  cause.facts = {{"per_second", rate}, {"bytes_each", each}, {"kernel_processors", cost}};
  cause.more = writers(thread_gains(before.kernel, after.kernel), static_cast<double>(*writes));
  cause.change = "collect what is written in a buffer, and write it together";
  return cause;
}

namespace {

constexpr std::uint64_t kUnanswered = 3;  // packets for each one received

/// A question or an answer each is no cause.
bool is_answered(const process::SocketCounters& s) { return s.packets_sent < s.packets_received * kUnanswered; }

std::string receivers(const std::vector<process::SocketCounters>& sockets) {
  return sockets.size() == 1 ? sockets.front().peer : report::counted(sockets.size(), "connection", "connections");
}

}  // namespace

std::optional<SlowCause> costly_sends_cause(const KernelEvidence& evidence, double processors) {
  constexpr double kLeastBytes = 10'000;  // a second
  constexpr double kOfPacket = 20e-6;     // s: no answer costs more
  constexpr double kLeastOfByte = 10e-9;  // s: a call of 256 bytes costs one to three microseconds
  const double time = seconds_of(evidence.time);
  if (time < kLeastTime) return std::nullopt;
  std::vector<process::SocketCounters> sending;
  double bytes = 0, cost = processors;
  for (const process::SocketCounters& s : evidence.sent) {
    const double of_it = static_cast<double>(s.bytes_sent) / time;
    if (is_answered(s)) {
      cost -= static_cast<double>(s.packets_sent) / time * kOfPacket;
    } else if (of_it >= kLeastBytes) {
      bytes += of_it;
      sending.push_back(s);
    }
  }
  if (sending.empty() || cost < 2 * kLeastCost || cost < processors / 2 || cost < bytes * kLeastOfByte)
    return std::nullopt;
  SlowCause cause;
  cause.kind = SlowKind::writes;
  cause.share = std::min(1.0, cost);
  cause.what =
      fmt::format("{}/s to {} in calls of few bytes: {} ns for each byte, {:.1f} processors",
                  report::amount_words(bytes), receivers(sending), report::count_words(cost / bytes * 1e9), cost);
  cause.place_of = kSent;
  cause.facts = {{"bytes_per_second", bytes}, {"kernel_processors", cost}, {"ns_per_byte", cost / bytes * 1e9}};
  cause.change = "collect what is sent in a buffer, and send it together";
  return cause;
}

std::optional<SlowCause> sends_cause(const Counters& before, const Counters& after, const KernelEvidence& evidence) {
  constexpr double kLeastOfOne = 1000;  // packets a second: a connection of its own right, not one of very many
  constexpr std::size_t kShown = 3;
  const double time = seconds_of(evidence.time), between = seconds_between(before, after);
  const auto system = gain(before.kernel.system, after.kernel.system);
  const auto user = gain(before.kernel.user, after.kernel.user);
  if (time < kLeastTime || between < kLeastTime || !system || !user) return std::nullopt;
  std::vector<process::SocketCounters> chatty;
  double packets = 0, bytes = 0;
  for (const process::SocketCounters& s : evidence.sent) {
    const auto count = static_cast<double>(s.packets_sent);
    if (count < kLeastOfOne * time || static_cast<double>(s.bytes_sent) > kMostBytes * count) continue;
    if (is_answered(s)) continue;
    packets += count;
    bytes += static_cast<double>(s.bytes_sent);
    chatty.push_back(s);
  }
  const double rate = packets / time, cost = seconds_of(*system) / between, used = cost + seconds_of(*user) / between;
  if (rate < kLeastWrites || (cost < kLeastCost && rate < kManyWrites)) return std::nullopt;
  std::stable_sort(chatty.begin(), chatty.end(),
                   [](const auto& a, const auto& b) { return a.packets_sent > b.packets_sent; });
  SlowCause cause;
  cause.kind = SlowKind::writes;
  cause.is_certain = true;
  cause.share = std::min(1.0, used > 0 ? cost / used : 0);
  cause.what =
      fmt::format("{} packets/s of {} to {}; {} of its processor time is the kernel's", report::count_words(rate),
                  report::amount_words(bytes / packets), receivers(chatty), report::percent_words(cause.share));
  cause.place_of = kSent;
  cause.facts = {{"per_second", rate},
                 {"bytes_each", bytes / packets},
                 {"kernel_processors", cost},
                 {"connections", static_cast<double>(chatty.size())}};
  for (std::size_t i = 0; chatty.size() > 1 && i < std::min(chatty.size(), kShown); i++)
    cause.more.push_back(fmt::format("{} of them to {}",
                                     report::percent_words(static_cast<double>(chatty[i].packets_sent) / packets),
                                     chatty[i].peer));
  cause.change = "collect what is sent in a buffer, and send it together";
  return cause;
}

std::optional<SlowCause> disk_cause(const Counters& before, const Counters& after, const KernelEvidence& evidence) {
  const process::CallTally& tally = evidence.calls;
  if (tally.looks < kLeastLooks || tally.threads.empty() || tally.calls.empty()) return std::nullopt;
  const auto looks = static_cast<double>(tally.looks);
  std::uint64_t seen = 0;
  for (const process::DiskThread& t : tally.threads) seen += t.seen;
  const double threads = static_cast<double>(seen) / looks;
  if (threads < kLeastDisk) return std::nullopt;
  const process::DiskThread& busiest = tally.threads.front();
  const double longest = std::min(1.0, static_cast<double>(busiest.seen) / looks);
  SlowCause cause;
  cause.kind = SlowKind::disk;
  cause.is_certain = true;
  cause.share = longest;
  const std::string call = call_words(evidence, tally.calls.front());
  if (longest >= threads * 0.8) {
    cause.what = fmt::format("thread {} waits {} of the time: {}", busiest.tid, report::percent_words(longest), call);
  } else {
    cause.what = fmt::format("{} threads wait for it at any time: {}", report::count_words(threads), call);
  }
  cause.place_of = "called";
  cause.facts = {{"waiting_threads", threads},
                 {"longest_share", longest},
                 {"looks", looks},
                 {"different_threads", static_cast<double>(tally.threads.size())}};
  const double time = seconds_between(before, after);
  if (const auto faults = gain(before.kernel.major_faults, after.kernel.major_faults); faults && time > 0)
    cause.facts.emplace_back("major_faults_per_second", static_cast<double>(*faults) / time);
  for (std::size_t i = 1; i < std::min<std::size_t>(tally.calls.size(), 4); i++)
    cause.more.push_back(fmt::format("also {}: {}", call_words(evidence, tally.calls[i]),
                                     report::percent_words(static_cast<double>(tally.calls[i].seen) /
                                                           static_cast<double>(std::max<std::uint64_t>(seen, 1)))));
  const bool is_sync = tally.calls.front().call == DiskCall::sync;
  cause.change = is_sync ? "one flush for many records, on a thread of its own" : "read or write less, or ahead";
  return cause;
}

}  // namespace mixstack::why
