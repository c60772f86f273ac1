#include "output/formats/folded_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/words/stack_depth.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::formats {
namespace {

constexpr std::size_t kMostName = 4096;

struct Line {
  std::string_view stack;
  std::uint64_t count = 0;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::optional<Line> line_of(std::string_view text) {
  text = trimmed(text);
  const std::size_t gap = text.find_last_of(" \t");
  if (gap == std::string_view::npos) return std::nullopt;
  Line line{trimmed(text.substr(0, gap)), 0};
  std::string_view number = text.substr(gap + 1);
  number = number.substr(0, number.find('.'));  // some tools write fractions of a sample: drop them
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), line.count);
  if (error != std::errc{} || end != number.data() + number.size() || line.stack.empty()) return std::nullopt;
  return line;
}

/// Calls `use` with each line that is a stack; returns the number of other lines. Empty lines and comments do not
/// count.
template <class Use>
std::uint64_t each_line(std::string_view text, std::uint64_t& lines, Use use) {
  std::uint64_t others = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    lines++;
    if (const auto stack = line_of(line); stack) {
      use(*stack);
    } else {
      others++;
    }
  }
  return others;
}

struct Named {
  std::string name;
  CodeKind kind = CodeKind::unknown;
  Inlining inlining = Inlining::none;
};

/// A blank name becomes empty: written to a folded line, it could not be read back.
std::string name_of(std::string_view text) {
  return trimmed(text).empty() ? std::string{} : report::escape_for_terminal(text.substr(0, kMostName));
}

Named named(std::string_view text) {
  Named result;
  if (text.ends_with("_[k]")) {
    result.kind = CodeKind::kernel;
  } else if (text.ends_with("_[j]")) {
    result.kind = CodeKind::managed;
  } else if (text.ends_with("_[i]")) {
    result.inlining = Inlining::debug_information;
  } else {
    result.name = name_of(text);
    return result;
  }
  result.name = name_of(text.substr(0, text.size() - 4));
  return result;
}

class Reader {
 public:
  explicit Reader(std::string_view name) {
    const auto process = recording_.process({.comm = name_of(name)});
    const auto thread = recording_.add_thread({.process = *process});
    context_ = *recording_.context({.thread = *thread, .clock = SampleClock::cpu});
  }
  bool add(const Line& line, std::uint64_t divisor);
  Recording take(std::uint64_t others, std::uint64_t divisor);

 private:
  std::optional<std::uint32_t> frame_of(std::string_view text);
  std::optional<std::uint32_t> left_out_of(std::size_t frames);

  Recording recording_;
  std::uint32_t context_ = 0;
  std::uint64_t too_deep_ = 0;   ///< lines
  std::uint64_t too_small_ = 0;  ///< lines whose count becomes 0 by the division
};

std::optional<std::uint32_t> Reader::frame_of(std::string_view text) {
  Named name = named(text);
  const auto function = recording_.function({.name = std::move(name.name), .kind = name.kind});
  if (!function) return std::nullopt;
  return recording_.frame({.function = *function, .inlining = name.inlining});
}

std::optional<std::uint32_t> Reader::left_out_of(std::size_t frames) {
  const auto function = recording_.function({.name = left_out_name(frames), .kind = CodeKind::unknown});
  return function ? recording_.frame({.function = *function}) : std::nullopt;
}

bool Reader::add(const Line& line, std::uint64_t divisor) {
  if (line.count / divisor == 0) {
    too_small_ += line.count == 0 ? 0 : 1;
    return true;
  }
  const std::size_t ends = static_cast<std::size_t>(std::count(line.stack.begin(), line.stack.end(), ';'));
  const std::size_t left_out = frames_left_out(ends + (line.stack.ends_with(';') ? 0 : 1));
  too_deep_ += left_out == 0 ? 0 : 1;
  std::uint32_t node = 0;
  std::size_t at = 0;
  for (std::string_view rest = line.stack; !rest.empty(); at++) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const bool is_in_gap = at >= kOuterShown && at < kOuterShown + left_out;
    if (is_in_gap && at != kOuterShown) {
      rest.remove_prefix(std::min(end + 1, rest.size()));
      continue;
    }
    const auto frame = is_in_gap ? left_out_of(left_out) : frame_of(rest.substr(0, end));
    const auto next = frame ? recording_.node({node, *frame}) : std::nullopt;
    if (!next) return false;
    node = *next;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto count = static_cast<std::uint32_t>(line.count / divisor);
  recording_.facts.account.samples += count;
  return recording_.add({.stack = node, .context = context_, .count = count});
}

Recording Reader::take(std::uint64_t others, std::uint64_t divisor) {
  auto& notes = recording_.facts.notes;
  notes.emplace_back("read from folded stacks: nothing is known of times, threads and rates");
  if (others != 0)
    notes.push_back(others == 1 ? "1 line was no stack" : fmt::format("{} lines were no stacks", others));
  if (too_deep_ != 0)
    notes.push_back(
        fmt::format("{} of more than {} frames: {}", kCutInTheMiddle, kMostShown, report::counted(too_deep_, "line")));
  if (divisor != 1) {
    std::string note = fmt::format("{} by {}: together they are more than 32 bits hold", kCountsDivided, divisor);
    if (too_small_ != 0) note += fmt::format("; left out as less than that: {}", report::counted(too_small_, "line"));
    notes.push_back(std::move(note));
  }
  return std::move(recording_);
}

}  // namespace

Result<Recording> read_folded(std::string_view text, std::string_view name) {
  std::uint64_t sum = 0, lines = 0;
  const std::uint64_t others =
      each_line(text, lines, [&sum](const Line& line) { sum += std::min(line.count, UINT64_MAX - sum); });
  // Other texts have some lines that end in a number, too: require that most lines are stacks.
  if (others * 2 >= lines) return fail(ErrorCode::malformed, lines);
  std::uint64_t divisor = 1;
  // By the sum, not the largest count: counts of lines with the same stack are added up.
  while (sum / divisor > UINT32_MAX) divisor *= 10;
  Reader reader(name);
  bool has_room = true;
  (void)each_line(text, lines, [&](const Line& line) { has_room = has_room && reader.add(line, divisor); });
  if (!has_room) return fail(ErrorCode::limit_exceeded);
  return reader.take(others, divisor);
}

}  // namespace mixstack::formats
