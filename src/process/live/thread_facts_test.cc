#include "process/live/thread_facts.h"

#include <gtest/gtest.h>

namespace mixstack::process {
namespace {

TEST(BlockedCallTest, AsTheKernelWritesIt) {
  const auto call = parse_blocked_call("0 0x3 0x7ffd10 0x400 0x0 0x1 0xffffffffffffffff 0x7ffd00 0x7f1234\n");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->number, 0);
  EXPECT_EQ(call->arguments, (std::array<std::uint64_t, 6>{3, 0x7ffd10, 0x400, 0, 1, ~std::uint64_t{0}}));
  EXPECT_EQ(call->sp, 0x7ffd00u);
  for (const char* text : {"running\n", "-1 0x7ffd00 0x7f1234\n", "", "0", "0 0x3 0x1", "0 3 4 5 6 7 8 9 10",
                           "0 0x3 0x7ffd10 0x400 0x0 0x1 0x2", "999999999999999999999 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1"})
    EXPECT_FALSE(parse_blocked_call(text)) << text;
}

TEST(SocketNamesTest, InetSockets) {
  SocketNames names;
  parse_inet_sockets(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:13D5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0000 100 0 0 "
      "10 0\n"
      "   1: 0100007F:13D5 0200007F:C544 01 00000000:00000000 00:00000000 00000000  1000        0 222 1 0000 20 4 30 "
      "10 -1\n",
      "tcp", names);
  parse_inet_sockets(
      "head\n"
      "   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 333 1\n"
      "   1: 0000000000000000FFFF00000100007F:0050 0000000000000000FFFF00000200007F:1000 01 0:0 00:0 0 0 0 444 1\n",
      "tcp", names);
  parse_inet_sockets("head\n   0: 00000000:0044 00000000:0000 07 0:0 00:0 0 0 0 555 2\n", "udp", names);
  EXPECT_EQ(names, (SocketNames{{111, "tcp listening on 127.0.0.1:5077"},
                                {222, "tcp 127.0.0.1:5077 -> 127.0.0.2:50500"},
                                {333, "tcp listening on [::]:80"},
                                {444, "tcp 127.0.0.1:80 -> 127.0.0.2:4096"},
                                {555, "udp 0.0.0.0:68"}}));
}

TEST(SocketNamesTest, UnixSockets) {
  SocketNames names;
  parse_unix_sockets(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 77 /run/x.sock\n"
      "0000000000000000: 00000003 00000000 00000000 0001 03 78\n",
      names);
  EXPECT_EQ(names, (SocketNames{{77, "unix socket /run/x.sock"}, {78, "unix socket"}}));
}

TEST(SocketNamesTest, NonsenseIsLeftOut) {
  SocketNames names;
  for (const char* text :
       {"", "\n\n\n", "x", "0: zz:zz 0:0 0A 0 0 0 0 0 1", "0: 0100007F:13D5",
        "0: 0100007F:99999 00000000:0000 01 0 0 0 0 0 5", "0: 010000:13D5 00000000:0000 0A 0 0 0 0 0 5",
        "0: 0100007F:13D5 00000000:0000 0A 0 0 0 0 0 -5",
        "0: 0100007F:13D5 00000000:0000 0A 0 0 0 0 0 99999999999999999999999"}) {
    parse_inet_sockets(text, "tcp", names);
    parse_unix_sockets(text, names);
  }
  EXPECT_TRUE(names.empty());
}

TEST(SocketTablesTest, ATableIsReadWhenASocketIsInNoneBeforeIt) {
  std::vector<std::string> read;
  SocketTables tables([&read](const std::string& file) -> std::string {
    read.push_back(file);
    if (file == "net/unix") return "head\n0: 00000002 00000000 00010000 0001 01 77 /run/x.sock\n";
    if (file == "net/tcp6") return "   0: 00000000:0044 00000000:0000 01 0:0 00:0 0 0 0 555 2\n";
    return {};
  });
  ASSERT_NE(tables.name(77), nullptr);
  EXPECT_EQ(*tables.name(77), "unix socket /run/x.sock");
  EXPECT_EQ(read, (std::vector<std::string>{"net/unix"}));
  ASSERT_NE(tables.name(555), nullptr);
  EXPECT_EQ(*tables.name(555), "tcp 0.0.0.0:68");
  EXPECT_EQ(read.size(), 3u);
  EXPECT_EQ(tables.name(1), nullptr);
  EXPECT_EQ(tables.name(2), nullptr);
  EXPECT_EQ(read, (std::vector<std::string>{"net/unix", "net/tcp", "net/tcp6", "net/udp", "net/udp6"}));
  EXPECT_EQ(tables.all().size(), 2u);
}

}  // namespace
}  // namespace mixstack::process
