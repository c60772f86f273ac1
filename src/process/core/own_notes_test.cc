#include "process/core/own_notes.h"

#include <gtest/gtest.h>

namespace mixstack::process {
namespace {

Region region(Address begin, Address end, const std::string& path) {
  Region r;
  r.range = {begin, end};
  r.file_offset = 0x3000;
  r.device_major = 8;
  r.device_minor = 1;
  r.readable = r.executable = r.deleted = true;
  r.path = path;
  return r;
}

TEST(OwnNotes, MappingsComeBackAsTheyWere) {
  const std::vector<Region> before{region(0x1000, 0x2000, "/lib/a.so"), region(0x2000, 0x5000, "")};
  const auto after = decode_mappings(encode_mappings(before));
  ASSERT_TRUE(after);
  ASSERT_EQ(after->size(), 2u);
  EXPECT_EQ((*after)[0].range, before[0].range);
  EXPECT_EQ((*after)[0].path, "/lib/a.so");
  EXPECT_EQ((*after)[0].file_offset, 0x3000u);
  EXPECT_TRUE((*after)[0].readable && (*after)[0].executable && (*after)[0].deleted);
  EXPECT_FALSE((*after)[0].writable || (*after)[0].shared);
  EXPECT_EQ((*after)[1].path, "");
}

TEST(OwnNotes, AThreadComesBackAsItWas) {
  ThreadNote before{12, 'S', 202, "pool (1)", {}};
  before.facts.cpu = std::chrono::milliseconds(5);
  before.facts.fd = 3;
  before.facts.object = "tcp 1.2.3.4:80";
  before.facts.off_cpu = std::chrono::seconds(42);
  before.facts.wait_channel = "inet_csk_accept";
  const auto after = decode_thread(encode_thread(before));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->ns_tid, 12u);
  EXPECT_EQ(after->state, 'S');
  EXPECT_EQ(after->syscall, 202);
  EXPECT_EQ(after->comm, "pool (1)");
  EXPECT_EQ(after->facts.cpu, before.facts.cpu);
  EXPECT_FALSE(after->facts.queued);
  EXPECT_FALSE(after->facts.arguments);
  EXPECT_EQ(after->facts.fd, 3);
  EXPECT_EQ(after->facts.object, before.facts.object);
  EXPECT_EQ(after->facts.off_cpu, before.facts.off_cpu);
  EXPECT_EQ(after->facts.wait_channel, before.facts.wait_channel);
}

TEST(OwnNotes, HowLateAThreadWasComesBack) {
  for (const LateNote before :
       {LateNote{std::chrono::milliseconds(31), false}, LateNote{std::chrono::seconds(2), true}})
    EXPECT_EQ(decode_late(encode_late(before)), before);
  const auto note = encode_late({std::chrono::milliseconds(31), true});
  for (std::size_t size = 0; size < note.size(); size++) EXPECT_FALSE(decode_late(std::span(note).first(size))) << size;
  EXPECT_FALSE(decode_late(encode_late({})));
  EXPECT_FALSE(decode_late(encode_late({std::chrono::nanoseconds(-1), false})));
}

TEST(OwnNotes, NotesThatContradictThemselvesAreNone) {
  auto mappings = encode_mappings(std::vector<Region>{region(0x1000, 0x2000, "/lib/a.so")});
  for (std::size_t size = 0; size < mappings.size(); size++)
    EXPECT_FALSE(decode_mappings(std::span(mappings).first(size))) << size;
  mappings[0] = std::byte{200};  // more than there are
  EXPECT_FALSE(decode_mappings(mappings));
  EXPECT_FALSE(decode_mappings(encode_mappings(std::vector<Region>{region(0x2000, 0x2000, "")})));
  const auto thread = encode_thread({1, 'R', -1, "x", {}});
  for (std::size_t size = 0; size < thread.size(); size++)
    EXPECT_FALSE(decode_thread(std::span(thread).first(size))) << size;
}

}  // namespace
}  // namespace mixstack::process
