#include "dotnet/waits/requests.h"

#include <gtest/gtest.h>

#include "support/fake_libraries.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeLibraries;

constexpr Address kStack = 0x7d0000000000;
constexpr std::string_view kServes =
    "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequests()";
constexpr std::string_view kSends = "System.Net.Http.HttpClient.Send(HttpRequestMessage)";
constexpr std::string_view kExecutes = "Npgsql.NpgsqlCommand.ExecuteReader()";

class RequestsTest : public ::testing::Test {
 protected:
  enum Type : std::size_t { string, protocol, connection, context, message, verb, uri, command, own_command };
  // Offsets of fields in objects.
  static constexpr std::uint32_t kStatus = 8, kMethod = 9, kText = 16, kTarget = 24, kPath = 32, kContext = 40;

  RequestsTest() {
    using F = FakeLibraries;
    types_ = heap_.load(
        "Libraries",
        {{"System", "String"},
         {"Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http",
          "HttpProtocol",
          0,
          0,
          {{"_requestProcessingStatus", kStatus - 8, F::kByte},
           {"<Method>k__BackingField", kMethod - 8, F::kByte},
           {"_methodText", kText - 8},
           {"<RawTarget>k__BackingField", kTarget - 8},
           {"<Path>k__BackingField", kPath - 8}}},
         {"Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http",
          "Http1Connection`1",
          0,
          2,
          {{"<IHostContextContainer<TContext>.HostContext>k__BackingField", kContext - 8}}},
         {"Microsoft.AspNetCore.Hosting", "Context", 0, 0, {{"<StartTimestamp>k__BackingField", 0, F::kLong}}},
         {"System.Net.Http", "HttpRequestMessage", 0, 0, {{"_method", 0}, {"_requestUri", 8}}},
         {"System.Net.Http", "HttpMethod", 0, 0, {{"_method", 0}}},
         {"System", "Uri", 0, 0, {{"_string", 0}}},
         {"System.Data.Common", "DbCommand"},
         {"Npgsql", "NpgsqlCommand", 0, 8, {{"_commandText", 0}}}});
    heap_.memory.map(kStack, 0x1000);
    thread_.os_id = 77;
    thread_.stack = {kStack, kStack + 0x1000};
  }

  Address text_of(const std::u16string& text) {
    const Address at = heap_.make(types_[string]);
    heap_.memory.put_u32(at + heap_.layouts.string.length.offset, static_cast<std::uint32_t>(text.size()));
    for (std::size_t i = 0; i < text.size(); i++)
      heap_.memory.put_u16(at + heap_.layouts.string.first_char.offset + 2 * i, static_cast<std::uint16_t>(text[i]));
    return at;
  }
  /// A request that Kestrel serves; 4: the program has begun to answer.
  Address served(std::uint8_t status = 4, std::uint8_t method = 3) {
    const Address at = heap_.make(types_[connection]);
    heap_.memory.put_u8(at + kStatus, status);
    heap_.memory.put_u8(at + kMethod, method);
    heap_.memory.put_u64(at + kTarget, text_of(u"/cart?id=7"));
    return at;
  }
  Address sent() {
    const Address at = heap_.make(types_[message]), post = heap_.make(types_[verb]), to = heap_.make(types_[uri]);
    heap_.memory.put_u64(post + 8, text_of(u"POST"));
    heap_.memory.put_u64(to + 8, text_of(u"http://prices/1"));
    heap_.memory.put_u64(at + 8, post);
    heap_.memory.put_u64(at + 16, to);
    return at;
  }
  /// One frame of the thread, with these words in it.
  void frame(std::string_view method, const std::vector<Address>& words) {
    const Address begin = kStack + 0x100 * frames_.size();
    for (std::size_t i = 0; i < words.size(); i++) heap_.memory.put_u64(begin + 8 * i, words[i]);
    frames_.push_back({begin, begin + 0x100, true, method});
  }
  std::vector<Request> found(bool data = false, std::optional<std::int64_t> now = std::nullopt) {
    AsyncChains chains(objects_, delegates_, machines_, now);
    Requests requests(objects_, machines_, chains, data, now);
    requests.look_at({&thread_, nullptr, frames_});
    EXPECT_FALSE(requests.has_more());
    return requests.take();
  }

  FakeLibraries heap_;
  std::vector<Address> types_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes loaded_{heap_.runtime(), names_};
  ManagedObjects objects_{loaded_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
  StateMachines machines_{objects_, delegates_};
  ManagedThread thread_;
  std::vector<WaitFrame> frames_;
};

TEST_F(RequestsTest, ARequestThatAThreadServes) {
  const Address request = served();
  frame(kServes, {0, request, 0x1234, request});
  const auto all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, RequestKind::incoming);
  EXPECT_EQ(all[0].object, request);
  EXPECT_EQ(all[0].method, "POST");
  EXPECT_EQ(all[0].thread, 77u);
  EXPECT_EQ(all[0].chain, 0u);
  EXPECT_EQ(all[0].what, "") << "a path is the user's data";
  EXPECT_FALSE(all[0].age);
  EXPECT_EQ(found(true).at(0).what, "/cart?id=7");
}

TEST_F(RequestsTest, AConnectionThatIsKeptAliveServesNothing) {
  for (const unsigned status : {0u, 2u, 6u, 255u}) {
    frames_.clear();
    frame(kServes, {served(static_cast<std::uint8_t>(status))});
    EXPECT_TRUE(found().empty()) << status;
  }
}

TEST_F(RequestsTest, OnlyFramesOfCodeThatWorksOnThemHaveRequests) {
  frame("Shop.Cart.Add()", {served(), sent()});
  frame(kSends, {served()});
  frame(kServes, {sent()});
  EXPECT_TRUE(found().empty());
}

TEST_F(RequestsTest, WordsOfEarlierRequestsAreFewer) {
  const Address now = served(), before = served();
  frame(kServes, {before, now});
  frame(kServes, {now, now});
  const auto all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].object, now);
}

TEST_F(RequestsTest, TheMethodOfARequestWithoutANameInTheTable) {
  const Address request = served(4, 200);
  frame(kServes, {request});
  EXPECT_EQ(found().at(0).method, "");
  heap_.memory.put_u64(request + kText, text_of(u"PROPFIND"));
  EXPECT_EQ(found().at(0).method, "PROPFIND");
}

TEST_F(RequestsTest, HowLongItHasTaken) {
  const Address request = served(), of = heap_.make(types_[context]);
  heap_.memory.put_u64(request + kContext, of);
  heap_.memory.put_u64(of + 8, 9'000'000'000);  // of Stopwatch: nanoseconds of the same clock
  frame(kServes, {request});
  EXPECT_EQ(found(false, 9'250).at(0).age, std::chrono::milliseconds(250));
  EXPECT_FALSE(found(false, 8'000).at(0).age) << "it began later than now";
  EXPECT_FALSE(found().at(0).age) << "a core has no clock";
}

TEST_F(RequestsTest, ARequestThatAThreadSent) {
  frame(kSends, {sent()});
  const auto all = found(true);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, RequestKind::outgoing);
  EXPECT_EQ(all[0].method, "POST");
  EXPECT_EQ(all[0].what, "http://prices/1");
}

TEST_F(RequestsTest, ACommandOfADatabase) {
  const Address query = heap_.make(types_[own_command]);
  heap_.memory.put_u64(query + 8, text_of(u"select 1"));
  frame(kExecutes, {query});
  const auto all = found(true);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, RequestKind::database);
  EXPECT_EQ(all[0].method, "Npgsql.NpgsqlCommand");
  EXPECT_EQ(all[0].what, "select 1");
  heap_.memory.put_u64(query + 8, sent());  // no string
  EXPECT_EQ(found(true).at(0).what, "");
}

TEST_F(RequestsTest, AThreadInsideOfSeveralKinds) {
  frame(kExecutes, {heap_.make(types_[own_command])});
  frame(kServes, {served()});
  EXPECT_EQ(found().size(), 2u);
}

TEST_F(RequestsTest, AStackThatCannotBeReadHasNone) {
  frames_.push_back({0x10, 0x1000, true, kServes});
  frames_.push_back({kStack + 0x200, kStack + 0x100, true, kServes});
  EXPECT_TRUE(found().empty());
}

}  // namespace
}  // namespace mixstack::dotnet::objects
