#include "dotnet/dac/protocol.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <thread>

#include "dotnet/dac/dac_checkpoints.h"
#include "dotnet/dac/dac_file.h"
#include "dotnet/dac/message_channel.h"

namespace mixstack::dotnet::dac {
namespace {

Element element(ElementKind kind, Address pc, Address sp) {
  Element e;
  e.kind = kind;
  e.registers = Registers(Arch::x86_64);
  e.registers.set_pc(pc);
  e.registers.set_sp(sp);
  e.registers.set(x86_64_reg::rbx, 0xb);
  return e;
}

Element record(Address at, std::string name, Address pc, Address sp) {
  Element e = element(ElementKind::record, pc, sp);
  e.record = at;
  e.record_name = std::move(name);
  return e;
}

TEST(DacProtocol, ElementsComeBackWhole) {
  Writer out;
  Element e = record(0x7000, "InlinedCallFrame", 0x1234, 0x6ff0);
  e.method = 0x99;
  e.record_type = 3;
  encode(e, out);
  encode(element(ElementKind::method, 0x5678, 0x7010), out);
  std::vector<Element> list;
  ASSERT_TRUE(decode_elements(out.bytes(), list));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].record_name, "InlinedCallFrame");
  EXPECT_EQ(list[0].registers, e.registers);
  EXPECT_EQ(list[0].record, 0x7000u);
  EXPECT_EQ(list[0].method, 0x99u);
  EXPECT_EQ(list[1].kind, ElementKind::method);
  EXPECT_EQ(list[1].registers.pc(), 0x5678u);
}

TEST(DacProtocol, EveryCutAndEveryExcessIsRefused) {
  Description d;
  d.kind = CodeClass::method;
  d.name = "A.B(Int32)";
  d.module_path = "/app/A.dll";
  auto bytes = encode(d);
  ASSERT_TRUE(decode_description(bytes));
  for (std::size_t n = 0; n < bytes.size(); n++) EXPECT_FALSE(decode_description(std::span(bytes).first(n))) << n;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_description(bytes));
  Writer one;
  encode(element(ElementKind::method, 1, 2), one);
  std::vector<Element> list;
  for (std::size_t n = 1; n < one.size(); n++)
    EXPECT_FALSE(decode_elements(std::span(one.bytes()).first(n), list)) << n;
}

TEST(DacProtocol, ValuesOutsideTheirRangesAreRefused) {
  Writer out;
  encode(element(ElementKind::method, 1, 2), out);
  auto bytes = out.bytes();
  bytes[0] = std::byte{9};  // kind
  std::vector<Element> list;
  EXPECT_FALSE(decode_elements(bytes, list));
  bytes = out.bytes();
  bytes[1] = std::byte{77};  // CPU
  EXPECT_FALSE(decode_elements(bytes, list));
  bytes = out.bytes();
  bytes[2 + 7] = std::byte{0xff};  // registers that no CPU has
  EXPECT_FALSE(decode_elements(bytes, list));
}

TEST(DacProtocol, TextsLoseControlCharactersAndLength) {
  DacRefusal refusal{Stage::load, -1, "a\x1b[31m\nb" + std::string(kMaxText * 2, 'x')};
  const auto back = decode_refusal(encode(refusal));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->text.substr(0, 9), "a?[31m?bx");
  EXPECT_EQ(back->text.size(), kMaxText);
}

struct Pair {
  MessageChannel ours;
  base::ScopedFd theirs;
};

Pair make_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {MessageChannel(base::ScopedFd(ends[0])), base::ScopedFd(ends[1])};
}

MessageChannel::Deadline soon() { return MessageChannel::Clock::now() + std::chrono::milliseconds(30); }

TEST(DacChannel, LargeMessagesArriveWhole) {
  auto [ours, theirs] = make_pair();
  MessageChannel other(std::move(theirs));
  std::vector<std::byte> payload(kMaxPayload, std::byte{7});
  std::thread sender([&] { EXPECT_TRUE(other.send(MessageType::memory, payload)); });
  const auto message = ours.receive();
  sender.join();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, MessageType::memory);
  EXPECT_EQ(message->payload, payload);
  payload.push_back({});
  EXPECT_EQ(ours.send(MessageType::memory, payload).error().code, ErrorCode::limit_exceeded);
}

TEST(DacChannel, SilenceAndHalfAMessageEndAtTheDeadline) {
  auto [ours, theirs] = make_pair();
  EXPECT_EQ(ours.receive(soon()).error().os_error, ETIMEDOUT);
  const MessageHeader header{100, MessageType::memory, kProtocolVersion};
  ASSERT_EQ(::write(theirs.get(), &header, sizeof header), static_cast<ssize_t>(sizeof header));
  EXPECT_EQ(ours.receive(soon()).error().os_error, ETIMEDOUT);
}

TEST(DacChannel, AGonePeerIsAnErrorAndNoSignal) {
  auto pair = make_pair();
  { const base::ScopedFd closed = std::move(pair.theirs); }
  EXPECT_EQ(pair.ours.receive(soon()).error().os_error, EPIPE);
  EXPECT_EQ(pair.ours.send(MessageType::flush, {}, soon()).error().os_error, EPIPE);
}

TEST(DacChannel, HugeAndForeignMessagesAreRefusedBeforeTheyAreRead) {
  auto [ours, theirs] = make_pair();
  MessageHeader header{kMaxPayload + 1, MessageType::memory, kProtocolVersion};
  ASSERT_EQ(::write(theirs.get(), &header, sizeof header), static_cast<ssize_t>(sizeof header));
  EXPECT_EQ(ours.receive(soon()).error().code, ErrorCode::limit_exceeded);
  header = {0, MessageType::memory, kProtocolVersion + 1};
  ASSERT_EQ(::write(theirs.get(), &header, sizeof header), static_cast<ssize_t>(sizeof header));
  EXPECT_EQ(ours.receive(soon()).error().code, ErrorCode::malformed);
}

TEST(DacCheckpoints, ARecordResumesWhereTheWalkGoesOnWithOtherRegisters) {
  const std::vector<Element> walk{
      record(0x7000, "InlinedCallFrame", 0x111, 0x6f00),  // native code below it
      record(0x7000, "InlinedCallFrame", 0x222, 0x6ff0),  // seen again inside the method
      element(ElementKind::method, 0x222, 0x6ff0),
      element(ElementKind::method, 0x333, 0x7040),
      record(0x7100, "DebuggerU2MCatchHandlerFrame", 0x444, 0x7080),
  };
  const auto list = checkpoints_of(walk);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].resumes);
  EXPECT_EQ(list[0].address, 0x7000u);
  EXPECT_EQ(list[0].context.pc(), 0x222u);
  EXPECT_EQ(list[0].context.sp(), 0x6ff0u);
  EXPECT_FALSE(list[0].context.is_known(x86_64_reg::rbx)) << "an InlinedCallFrame does not restore it";
  EXPECT_FALSE(list[1].resumes) << "nothing follows";
}

TEST(DacCheckpoints, FaultsRestoreEverythingAndAreExact) {
  const std::vector<Element> walk{record(0x7000, "FaultingExceptionFrame", 0x111, 0x6f00),
                                  element(ElementKind::method, 0x222, 0x7200)};
  const auto list = checkpoints_of(walk);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_TRUE(list[0].resumes && list[0].interrupted);
  EXPECT_EQ(list[0].context.get(x86_64_reg::rbx), 0xbu);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(DacFile, TheVersionDecides) {
  using namespace std::string_view_literals;
  const auto dac = dac_version(bytes_of("..\0@(#)Version 8.0.2926.32403 @Commit: 18fd75c\0.."sv));
  EXPECT_EQ(dac.version, "8.0.2926.32403");
  EXPECT_EQ(dac.commit, "18fd75c");
  RuntimeImage runtime;
  runtime.version = "8.0.2926.32403";
  runtime.commit = "18fd75c";
  EXPECT_TRUE(check_version(dac, runtime, "dac"));
  runtime.commit = "95017c7";
  runtime.version = "10.0.1226.42308";
  const auto refused = check_version(dac, runtime, "dac");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, ErrorCode::mismatch);
  EXPECT_EQ(refused.error().text, "this DAC is of 8.0.2926.32403, the runtime is 10.0.1226.42308");
  EXPECT_FALSE(check_version(dac_version(bytes_of("no mark")), runtime, "dac"));
}

TEST(DacFile, TheCopyCannotBeChanged) {
  const auto copy = sealed_copy(bytes_of("bytes of a library"), "dac");
  ASSERT_TRUE(copy);
  EXPECT_EQ(::pwrite(copy->get(), "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_FALSE(sealed_copy({}, "dac"));
}

TEST(DacFile, LiesBesideTheRuntime) {
  RuntimeImage runtime;
  runtime.path = "/usr/share/dotnet/libcoreclr.so";
  EXPECT_EQ(dac_path_beside(runtime), "/usr/share/dotnet/libmscordaccore.so");
}

}  // namespace
}  // namespace mixstack::dotnet::dac
