#include "output/report/why_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "output/report/escape.h"
#include "output/report/json_fields.h"
#include "output/report/signal_words.h"
#include "output/report/wait_words.h"

namespace mixstack::report {
namespace {

/// How a process ended: `signal` 0 where the core does not tell one.
struct End {
  std::int32_t signal = 0;
  const ThreadDump* thread = nullptr;  ///< null: not known
  const RuntimeAbort* abort = nullptr;
  const ManagedException* exception = nullptr;  ///< in flight on the thread
};

/// A core that was taken of a process that runs on has neither a signal nor a thread that ends the process.
std::optional<End> end_of(const ProcessDump& dump) {
  if (dump.target.core_path.empty()) return std::nullopt;
  End end;
  if (dump.target.crash) {
    end.signal = dump.target.crash->signal;
    end.thread = find_thread(dump, dump.target.crash->tid);
  }
  const auto aborts = [](const ThreadDump& t) { return t.managed && t.managed->abort; };
  // The runtime may leave the signal to another thread than the one that failed.
  if (end.thread == nullptr || !aborts(*end.thread))
    if (const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), aborts); at != dump.threads.end())
      end.thread = &*at;
  if (end.thread != nullptr && aborts(*end.thread)) end.abort = &*end.thread->managed->abort;
  if (end.signal == 0 && end.abort == nullptr) return std::nullopt;
  const bool has_exceptions = end.thread != nullptr && end.thread->managed && !end.thread->managed->exceptions.empty();
  if (has_exceptions)
    if (const auto& chain = end.thread->managed->exceptions.front().chain; !chain.empty() && !chain[0].type.empty())
      end.exception = &chain[0];
  return end;
}

std::string_view reason_name(const End& end) {
  if (end.abort == nullptr) return "signal";
  switch (end.abort->kind) {
    case RuntimeAbort::Kind::fail_fast:
      return "fail_fast";
    case RuntimeAbort::Kind::stack_overflow:
      return "stack_overflow";
    case RuntimeAbort::Kind::unhandled_exception:
      return "unhandled_exception";
    case RuntimeAbort::Kind::runtime_failure:
      break;
  }
  return "runtime_failure";
}

/// The program's innermost frame, else the innermost that has a name.
std::string frame_words(const ProcessDump& dump, const End& end) {
  if (end.thread == nullptr) return {};
  const ThreadDump& thread = *end.thread;
  if (std::string place = place_words(dump, thread); !place.empty()) return place;
  if (end.abort != nullptr) return {};  // the runtime's own way to the end
  for (const std::uint32_t s : thread.symbols)
    if (s < dump.symbols.size() && !dump.symbols[s].name.empty())
      return escape_for_terminal(dump.symbols[s].name +
                                 (dump.symbols[s].module.empty() ? "" : ", " + dump.symbols[s].module));
  return {};
}

std::string exception_words(const ManagedException& e) {
  return escape_for_terminal(e.type) + (e.message.empty() ? "" : ": " + escape_for_terminal(e.message));
}

std::string reason_words(const End& end) {
  const std::string exception = end.exception == nullptr ? std::string() : exception_words(*end.exception);
  if (end.abort == nullptr) return exception.empty() ? "" : "while it dealt with " + exception;
  const std::string message = end.abort->message.empty() ? "" : ": " + escape_for_terminal(end.abort->message);
  switch (end.abort->kind) {
    case RuntimeAbort::Kind::fail_fast:
      return "Environment.FailFast" + message;
    case RuntimeAbort::Kind::stack_overflow:
      return "stack overflow";
    case RuntimeAbort::Kind::unhandled_exception:
      return "unhandled exception" + (exception.empty() ? message : " " + exception);
    case RuntimeAbort::Kind::runtime_failure:
      break;
  }
  return "fatal error of the runtime" + message;
}

}  // namespace

std::string end_words(const ProcessDump& dump) {
  const auto end = end_of(dump);
  if (!end) return {};
  std::string text = "The process ended";
  if (end->signal != 0) text += " by " + signal_name(end->signal);
  if (const auto& crash = dump.target.crash; end->signal != 0 && crash && crash->address)
    text += fmt::format(" at 0x{:x}", *crash->address);
  if (const std::string reason = reason_words(*end); !reason.empty()) text += ": " + reason;
  if (end->thread == nullptr) return text;
  text += ", in thread " + thread_words(dump, end->thread->tid);
  if (const std::string frame = frame_words(dump, *end); !frame.empty()) text += " at " + frame;
  return text;
}

void write_end(Painter& out, const ProcessDump& dump) {
  if (const std::string words = end_words(dump); !words.empty()) out.paint(Ink::warning, words + "\n");
}

void write_end_json(Writer& out, const ProcessDump& dump) {
  const auto end = end_of(dump);
  if (!end) {
    out << "null";
    return;
  }
  JsonObject json(out);
  json.word("reason", reason_name(*end));
  json.number("signal", std::int64_t{end->signal});
  json.text_or_null("name", end->signal == 0 ? std::string() : signal_name(end->signal));
  json.number("thread", std::uint64_t{end->thread == nullptr ? 0 : end->thread->tid});
  json.text_or_null("frame", frame_words(dump, *end));
  json.text_or_null("exception", end->exception == nullptr ? std::string() : end->exception->type);
  json.text_or_null("message", end->abort != nullptr && !end->abort->message.empty() ? end->abort->message
                               : end->exception == nullptr                           ? std::string()
                                                                                     : end->exception->message);
  json.close();
}

}  // namespace mixstack::report
