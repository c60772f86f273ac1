#include "dotnet/code/aot_crash.h"

#include <gtest/gtest.h>

namespace mixstack::dotnet {
namespace {

// As NativeAOT of .NET 10.0.12 wrote it, with an inner exception.
constexpr std::string_view kRecord = R"j({"version":"1.0.0","runtime_base":"0x55B8","runtime_type":"4",
"runtime_version":"10.0.12","reason":"1","thread":"0x1FC3","message":"order 4711","exception":{"address":"0x7F24",
"hr":"0x80131509","message":"order 4711","type":"System.InvalidOperationException","stack":[
{"ip":"0x1","name":"P.C(Int32)"},{"ip":"0x2"}],"inner":[{"message":"m","type":"T"}]}})j";

TEST(AotCrash, RecordIsRead) {
  AotCrash crash;
  ASSERT_TRUE(parse_aot_crash(kRecord, crash));
  EXPECT_EQ(crash.reason, AotCrash::Reason::unhandled_exception);
  EXPECT_EQ(crash.thread, 0x1fc3u);
  ASSERT_EQ(crash.exceptions.size(), 2u);
  EXPECT_EQ(crash.exceptions[0].type, "System.InvalidOperationException");
  EXPECT_EQ(crash.exceptions[0].message, "order 4711");
  EXPECT_EQ(crash.exceptions[0].stack, (std::vector<std::string>{"P.C(Int32)", "0x2"}));
  EXPECT_EQ(crash.exceptions[1].type, "T");
}

TEST(AotCrash, OtherTextIsNone) {
  AotCrash crash;
  for (const char* text : {"", "{", "[]", "{}", R"j({"reason":1})j", R"j({"reason":"1","exception":3)j"})
    EXPECT_FALSE(parse_aot_crash(text, crash)) << text;
  EXPECT_TRUE(parse_aot_crash(R"j({"reason":"9","runtime_type":"4","exception":[]})j", crash));
  EXPECT_TRUE(crash.exceptions.empty());
}

}  // namespace
}  // namespace mixstack::dotnet
