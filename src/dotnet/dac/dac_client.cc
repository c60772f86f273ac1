// Input: questions about one capture: threads, a walk, a description of code or of a method.
// Output: the DAC's answer, or a diagnosis; afterwards the client can be asked again.
// Algorithm: ask() starts the helper and opens the DAC if needed, flushes the DAC's cache after bind(), sends the
// question, then serves the helper's own questions (memory, CONTEXTs, metadata) until the answer is complete. The
// helper runs foreign code, so each message is checked; on an error, a timeout or a malformed message it is ended, and
// the next question starts a new one. After a crash the same question is asked again, because the running process may
// have changed meanwhile.
// Bounds: ClientLimits: `silence`, `request` and `total` time, `storage` bytes of answers, `restarts`, `max_frames`,
// `max_threads`; kTriesAfterCrash; kMaxRead bytes for one read, kMaxPayload for one message.
#include "dotnet/dac/dac_client.h"

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/arch/context.h"

namespace mixstack::dotnet::dac {
namespace {

std::string hex(std::int32_t result) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", static_cast<std::uint32_t>(result));
  return text.data();
}

constexpr int kTriesAfterCrash = 3;

/// An unexpected or malformed message of the helper.
Error nonsense() { return {ErrorCode::malformed, 0, 0}; }

mixstack::Diagnosis used_up(const std::string& subject, const std::string& what) {
  return {
      {ErrorCode::limit_exceeded, 0, 0},
      subject,
      "the DAC has used the " + what + " that it may use for a dump and was ended: what it had not told is missing"};
}

std::string seconds(std::chrono::milliseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", static_cast<double>(time.count()) / 1000);
  return text.data();
}

bool is_question(MessageType type) {
  return type == MessageType::read_memory || type == MessageType::thread_context || type == MessageType::metadata;
}

std::vector<std::byte> address_payload(Address address) {
  Writer out;
  out.value(address);
  return out.bytes();
}

}  // namespace

void DacClient::bind(Source source) {
  source_ = std::move(source);
  is_stale_ = is_open_;
}

void DacClient::renew_budget() {
  time_spent_ = {};
  bytes_held_ = 0;
  starts_ = 0;
}

Outcome<void> DacClient::open() {
  if (refusal_) return tl::unexpected(*refusal_);
  if (is_open_) return {};
  if (starts_ > setup_.limits.restarts)
    return tl::unexpected(mixstack::Diagnosis{
        {ErrorCode::limit_exceeded, 0, starts_}, setup_.subject, "given up after the helper failed several times"});
  starts_++;
  auto started = start();
  if (!started) refusal_ = started.error();
  return started;
}

Outcome<void> DacClient::start() {
  auto helper = HelperProcess::start(setup_.helper, setup_.dac);
  if (!helper) return tl::unexpected(helper.error());
  helper_ = std::move(*helper);
  auto opened = converse(MessageType::open, encode(setup_.facts), MessageType::opened, [](auto&) { return true; });
  if (!opened) {
    helper_.end();
    return opened;
  }
  is_open_ = true;
  is_stale_ = false;
  return {};
}

Outcome<void> DacClient::ask(MessageType question, std::span<const std::byte> payload, MessageType answer,
                             const Sink& sink) {
  if (auto ready = open(); !ready) return ready;
  if (is_stale_) {
    is_stale_ = false;
    auto flushed = converse(MessageType::flush, {}, MessageType::flushed, [](auto&) { return true; });
    if (!flushed) return flushed;
  }
  return converse(question, payload, answer, sink);
}

Outcome<void> DacClient::converse(MessageType question, std::span<const std::byte> payload, MessageType answer,
                                  const Sink& sink) {
  has_crashed_ = false;
  const auto began = MessageChannel::Clock::now();
  request_deadline_ = began + setup_.limits.request;
  budget_end_ = began + (setup_.limits.total - time_spent_);
  auto answered = exchange(question, payload, answer, sink);
  time_spent_ += MessageChannel::Clock::now() - began;
  return answered;
}

Outcome<void> DacClient::exchange(MessageType question, std::span<const std::byte> payload, MessageType answer,
                                  const Sink& sink) {
  if (auto sent = helper_.channel().send(question, payload, next_deadline()); !sent)
    return tl::unexpected(lost(sent.error()));
  while (true) {
    const auto message = helper_.channel().receive(next_deadline());
    if (!message) return tl::unexpected(lost(message.error()));
    // A helper that sends without end never makes us wait, so the deadline is checked here, too.
    if (is_late()) return tl::unexpected(lost({ErrorCode::io_error, ETIMEDOUT, 0}));
    if (message->type == MessageType::refused) return tl::unexpected(refused(*message));
    if (is_question(message->type)) {
      if (auto served = serve(*message); !served) return tl::unexpected(lost(served.error()));
      continue;
    }
    const bool is_walk = answer == MessageType::walk_end && message->type == MessageType::frames;
    if (message->type != answer && !is_walk) return tl::unexpected(lost(nonsense()));
    const bool is_complete = sink(*message);
    if (!charge(message->payload.size())) return tl::unexpected(lost({ErrorCode::limit_exceeded, 0, bytes_held_}));
    if (is_complete) return {};
  }
}

bool DacClient::is_late() const { return MessageChannel::Clock::now() >= std::min(request_deadline_, budget_end_); }

bool DacClient::charge(std::size_t bytes) {
  bytes_held_ += bytes;
  return bytes_held_ <= setup_.limits.storage;
}

DacClient::Deadline DacClient::next_deadline() const {
  return std::min({request_deadline_, budget_end_, MessageChannel::Clock::now() + setup_.limits.silence});
}

Result<void> DacClient::serve(const DacMessage& message) {
  if (message.type == MessageType::read_memory) return serve_memory(message);
  return message.type == MessageType::thread_context ? serve_context(message) : serve_metadata(message);
}

Result<void> DacClient::serve_memory(const DacMessage& message) {
  base::ByteCursor in(message.payload);
  const Address address = in.u64();
  const std::uint32_t size = in.u32();
  if (!in.ok() || !in.at_end() || size > kMaxRead) return fail(nonsense());
  std::vector<std::byte> bytes(size);
  std::size_t done = 0;
  while (source_.memory != nullptr && done < size) {
    const auto n = source_.memory->read_some(address + done, std::span(bytes).subspan(done));
    if (!n || *n == 0) break;
    done += *n;
  }
  return helper_.channel().send(MessageType::memory, std::span(bytes).first(done), next_deadline());
}

Result<void> DacClient::serve_context(const DacMessage& message) {
  base::ByteCursor in(message.payload);
  const std::uint32_t thread = in.u32();
  const std::uint32_t flags = in.u32();
  const std::uint32_t size = in.u32();
  if (!in.ok() || !in.at_end() || size > kMaxRead) return fail(nonsense());
  const Registers* registers = source_.registers ? source_.registers(thread) : nullptr;
  std::vector<std::byte> context;
  if (const auto* layout = arch::context_layout(setup_.facts.arch); registers != nullptr && layout != nullptr) {
    context.resize(layout->size);
    if (!arch::encode_context(*registers, context, flags)) context.clear();
  }
  return helper_.channel().send(MessageType::context, context, next_deadline());
}

Result<void> DacClient::serve_metadata(const DacMessage& message) {
  const auto request = decode_metadata_request(message.payload);
  if (!request || request->size > kMaxRead) return fail(nonsense());
  if (!assembly_.is(request->path) && setup_.open_path) assembly_ = AssemblyFile::open(setup_.open_path, request->path);
  return helper_.channel().send(MessageType::memory, assembly_.metadata(*request), next_deadline());
}

mixstack::Diagnosis DacClient::lost(const Error& error) {
  const std::string how = helper_.end();
  is_open_ = false;
  if (bytes_held_ > setup_.limits.storage)
    return *(refusal_ = used_up(setup_.subject, std::to_string(setup_.limits.storage >> 20) + " MB of answers"));
  if (error.os_error == ETIMEDOUT && MessageChannel::Clock::now() >= budget_end_)
    return *(refusal_ = used_up(setup_.subject, seconds(setup_.limits.total) + " s"));
  has_crashed_ = error.os_error == EPIPE;
  if (has_crashed_) return {error, setup_.subject, "the DAC crashed: mixstack-helper " + how};
  if (error.os_error == ETIMEDOUT)
    return {error, setup_.subject, "the DAC did not answer in time; its helper was ended"};
  if (error.code == ErrorCode::io_error) return {error, setup_.subject, "mixstack-helper cannot be reached"};
  return {error, setup_.subject, "mixstack-helper talks nonsense and was ended"};
}

mixstack::Diagnosis DacClient::refused(const DacMessage& message) {
  const auto refusal = decode_refusal(message.payload);
  if (!refusal) return lost(nonsense());
  std::string text = refusal->text;
  if (refusal->result != 0) text += " (" + hex(refusal->result) + ")";
  switch (refusal->stage) {
    case Stage::load:
      return {{ErrorCode::unsupported, 0, 0}, setup_.subject, "cannot be loaded: " + text};
    case Stage::start:
    case Stage::interface:
      return {{ErrorCode::unsupported, 0, 0}, setup_.subject, "is no DAC: " + text};
    case Stage::create:
      return {{ErrorCode::runtime_not_found, 0, static_cast<std::uint32_t>(refusal->result)},
              setup_.subject,
              "does not accept the runtime: " + text};
    case Stage::request:
    case Stage::query:
      break;
  }
  return {{ErrorCode::not_found, 0, static_cast<std::uint32_t>(refusal->result)}, setup_.subject, text};
}

/// DACs crash over structures that the running process changes while they read. A moment later these may be sound
/// again.
template <class Ask>
auto DacClient::again_after_crash(Ask ask) -> decltype(ask()) {
  auto answer = ask();
  for (int tries = 0; tries < kTriesAfterCrash && !answer && has_crashed_ && !refusal_; tries++) answer = ask();
  return answer;
}

Outcome<std::vector<ThreadRecord>> DacClient::threads_once() {
  std::vector<ThreadRecord> list;
  bool sane = true;
  const auto done = ask(MessageType::threads, {}, MessageType::thread_list, [&](const DacMessage& m) {
    const std::size_t before = list.size();
    sane = sane && decode_threads(m.payload, list) && list.size() <= setup_.limits.max_threads &&
           charge((list.size() - before) * sizeof(ThreadRecord));
    return m.payload.empty() || !sane;
  });
  if (!done) return tl::unexpected(done.error());
  if (!sane) return tl::unexpected(lost(nonsense()));
  return list;
}

Outcome<DacClient::Walk> DacClient::walk_once(const WalkRequest& request) {
  WalkRequest bounded = request;
  if (bounded.max_frames == 0 || bounded.max_frames > setup_.limits.max_frames)
    bounded.max_frames = setup_.limits.max_frames;
  Walk walk;
  bool sane = true;
  const auto done = ask(MessageType::walk, encode(bounded), MessageType::walk_end, [&](const DacMessage& m) {
    if (m.type == MessageType::frames) {
      const std::size_t before = walk.elements.size();
      sane = sane && decode_elements(m.payload, walk.elements) && walk.elements.size() <= bounded.max_frames &&
             charge((walk.elements.size() - before) * sizeof(Element));
      return !sane;
    }
    base::ByteCursor in(m.payload);
    walk.result = in.read<std::int32_t>();
    const std::uint8_t end = in.u8();
    sane = sane && in.ok() && in.at_end() && end <= static_cast<std::uint8_t>(WalkEnd::stopped_at_native);
    walk.end = static_cast<WalkEnd>(end);
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  if (!sane) return tl::unexpected(lost(nonsense()));
  return walk;
}

Outcome<Description> DacClient::describe_once(Address code) {
  std::optional<Description> answer;
  const auto done =
      ask(MessageType::describe, address_payload(code), MessageType::description, [&](const DacMessage& m) {
        if (auto d = decode_description(m.payload)) answer = std::move(*d);
        return true;
      });
  if (!done) return tl::unexpected(done.error());
  if (!answer) return tl::unexpected(lost(nonsense()));
  return std::move(*answer);
}

Outcome<Description> DacClient::describe_method_once(Address method) {
  std::optional<Description> answer;
  const auto done =
      ask(MessageType::describe_method, address_payload(method), MessageType::description, [&](const DacMessage& m) {
        if (auto d = decode_description(m.payload)) answer = std::move(*d);
        return true;
      });
  if (!done) return tl::unexpected(done.error());
  if (!answer) return tl::unexpected(lost(nonsense()));
  return std::move(*answer);
}

Outcome<std::vector<ThreadRecord>> DacClient::threads() {
  return again_after_crash([&] { return threads_once(); });
}

Outcome<DacClient::Walk> DacClient::walk(const WalkRequest& request) {
  return again_after_crash([&] { return walk_once(request); });
}

Outcome<Description> DacClient::describe(Address code) {
  return again_after_crash([&] { return describe_once(code); });
}

Outcome<Description> DacClient::describe_method(Address method) {
  return again_after_crash([&] { return describe_method_once(method); });
}

}  // namespace mixstack::dotnet::dac
