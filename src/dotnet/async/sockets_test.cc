#include "dotnet/async/sockets.h"

#include <gtest/gtest.h>

#include "support/fake_libraries.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeLibraries;

class SocketsTest : public ::testing::Test {
 protected:
  enum Type : std::size_t { engine, context, operation, args, socket, handle };
  enum NetType : std::size_t { ip_end, dns_end, ip };

  SocketsTest() {
    using F = FakeLibraries;
    types_ = heap_.load(
        "System.Net.Sockets",
        {{"System.Net.Sockets", "SocketAsyncEngine", 0, 0, {{"s_registeredContexts", 0, F::kReference, true}}},
         {"System.Net.Sockets", "SocketAsyncContext", 0, 0, {}},
         {"", "AsyncOperation", 2, 0, {{"Next", 0}}},
         {"System.Net.Sockets", "SocketAsyncEventArgs", 0, 0, {{"_currentSocket", 0}}},
         {"System.Net.Sockets", "Socket", 0, 0, {{"_handle", 0}, {"_remoteEndPoint", 8}}},
         {"System.Runtime.InteropServices", "SafeHandle", 0, 0, {{"handle", 0, F::kLong}}}});
    net_ = heap_.load("System.Net.Primitives",
                      {{"System.Net", "IPEndPoint", 0, 0, {{"_address", 0}, {"_port", 8, F::kInt}}},
                       {"System.Net", "DnsEndPoint", 0, 0, {{"_host", 0}, {"_port", 8, F::kInt}}},
                       {"System.Net", "IPAddress", 0, 0, {{"_numbers", 0}, {"_addressOrScopeId", 8, F::kUnsigned}}}});
    contexts_ = heap_.statics_of(types_[engine]);
  }

  /// An operation whose callback leads to `of`.
  Address operation_of(Address of) {
    const Address call = heap_.object(heap_.delegate, 8), at = heap_.make(types_[operation]);
    heap_.memory.put_u64(call + FakeLibraries::kTarget, of);
    heap_.memory.put_u64(at + 8, at);  // a ring of one
    heap_.memory.put_u64(at + 8 + 8, call);
    return at;
  }
  /// A socket of the program with this descriptor and remote end; its SocketAsyncEventArgs.
  Address args_of(std::int64_t descriptor, Address remote) {
    const Address number = heap_.make(types_[handle]), of = heap_.make(types_[socket]), at = heap_.make(types_[args]);
    heap_.memory.put_u64(number + 8, static_cast<std::uint64_t>(descriptor));
    heap_.memory.put_u64(of + 8, number);
    heap_.memory.put_u64(of + 16, remote);
    heap_.memory.put_u64(at + 8, of);
    return at;
  }
  Address remote(std::uint32_t ipv4, std::uint32_t port) {
    const Address address = heap_.make(net_[ip]), at = heap_.make(net_[ip_end]);
    heap_.memory.put_u32(address + 16, ipv4);
    heap_.memory.put_u64(at + 8, address);
    heap_.memory.put_u32(at + 16, port);
    return at;
  }
  /// A watched socket; `queue` is the last of its operations.
  Address context_of(Address queue) {
    const Address at = heap_.make(types_[context]);
    heap_.memory.put_u64(at + 8 + 16, queue);
    return at;
  }
  void watch(const std::vector<Address>& contexts) { heap_.memory.put_u64(contexts_, heap_.references(contexts)); }
  std::vector<Address> waits(std::size_t most = 100) { return read_socket_waits(objects_, delegates_, most); }

  FakeLibraries heap_;
  std::vector<Address> types_, net_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes loaded_{heap_.runtime(), names_};
  ManagedObjects objects_{loaded_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
  Address contexts_ = 0;
};

TEST_F(SocketsTest, NobodyWaitsWhereNothingIsWatched) { EXPECT_TRUE(waits().empty()); }

TEST_F(SocketsTest, EachOperationOfEachSocketOnce) {
  const Address a = args_of(5, remote(0x0100007f, 80)), b = args_of(6, remote(0x0100007f, 81)),
                c = args_of(7, remote(0x0100007f, 82));
  const Address one = operation_of(a), two = operation_of(b);
  heap_.memory.put_u64(one + 8, two);  // a ring of two
  heap_.memory.put_u64(two + 8, one);
  watch({0, context_of(one), context_of(operation_of(c)), context_of(0)});
  EXPECT_EQ(waits(), (std::vector{a, b, c}));
  EXPECT_EQ(waits(2).size(), 2u);
}

TEST_F(SocketsTest, ARingThatIsTornEnds) {
  const Address a = args_of(5, 0), one = operation_of(a), other = operation_of(a);
  heap_.memory.put_u64(one + 8, other);  // never comes back to `one`
  watch({context_of(one)});
  EXPECT_EQ(waits(), std::vector{a});
  heap_.memory.put_u64(one + 8, 0x1234);
  EXPECT_EQ(waits(), std::vector{a});
}

TEST_F(SocketsTest, TheRemoteEndAsTheProgramKnowsIt) {
  const SocketEnd end = end_of_socket(objects_, args_of(42, remote(0x0200000a, 443)));
  EXPECT_EQ(end.peer, "10.0.0.2:443");
  EXPECT_EQ(end.descriptor, 42);
}

TEST_F(SocketsTest, AnAddressOfIPv6AndOneOfIPv4InIt) {
  const Address at = remote(0, 8080);
  const auto address = heap_.memory.read<std::uint64_t>(at + 8);
  const Address numbers = heap_.structs(heap_.object_type, 2, 8);
  heap_.memory.put_u64(*address + 8, numbers);
  const std::array<std::uint16_t, 8> local{0xfe80, 0, 0, 0, 0, 0, 0, 1}, mapped{0, 0, 0, 0, 0, 0xffff, 0x0a00, 0x0003};
  for (std::size_t i = 0; i < 8; i++) heap_.memory.put_u16(heap_.element(numbers, i, 2), local[i]);
  EXPECT_EQ(end_of_socket(objects_, args_of(1, at)).peer, "[fe80::1]:8080");
  for (std::size_t i = 0; i < 8; i++) heap_.memory.put_u16(heap_.element(numbers, i, 2), mapped[i]);
  EXPECT_EQ(end_of_socket(objects_, args_of(1, at)).peer, "10.0.0.3:8080");
}

TEST_F(SocketsTest, NothingIsSaidOfWhatIsNotKnown) {
  EXPECT_EQ(end_of_socket(objects_, heap_.make(types_[context])).descriptor, -1) << "no SocketAsyncEventArgs";
  const SocketEnd closed = end_of_socket(objects_, args_of(-1, remote(0x0200000a, 70000)));
  EXPECT_EQ(closed.descriptor, -1);
  EXPECT_EQ(closed.peer, "") << "no port";
  EXPECT_EQ(end_of_socket(objects_, args_of(std::int64_t{1} << 40, 0)).descriptor, -1);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
