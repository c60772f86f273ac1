#include "frontends/cli/arguments.h"

#include <gtest/gtest.h>
#include <chrono>

#include "base/words/recording_view.h"
#include "frontends/cli/arguments.h"

namespace mixstack::cli {
namespace {

RecordArguments record(std::vector<std::string> more) {
  more.insert(more.begin(), {"record", "7"});
  const Invocation invocation = parse_arguments(more);
  EXPECT_EQ(invocation.action, Invocation::Action::record) << invocation.text;
  return invocation.record;
}

TEST(RecordArgumentsTest, OptionsOfPushAreRead) {
  const RecordArguments all =
      record({"--push", "otlp+http://h", "--push-interval", "2m", "--push-name", "shop", "--push-label", "a=1",
              "--push-label", "b=2", "--push-header-file", "/x", "--push-spool", "/y"});
  EXPECT_EQ(all.push.url, "otlp+http://h");
  EXPECT_EQ(all.push.interval, std::chrono::minutes(2));
  EXPECT_EQ(all.push.name, "shop");
  EXPECT_EQ(all.push.labels, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(all.push.header_file, "/x");
  EXPECT_EQ(all.push.spool, "/y");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"record", "7", "--push-name", "shop"},
                                                {"record", "7", "--push", "http://h", "--push-interval", "999ms"},
                                                {"record", "7", "--push", "http://h", "--push-interval", "2h"},
                                                {"record", "7", "--push", "http://h", "--push-interval", "x"}})
    EXPECT_EQ(parse_arguments(wrong).action, Invocation::Action::usage_error) << wrong.back();
}

TEST(RecordArgumentsTest, AProcessIsRecordedOnceAndEmptyWordsAreNoNumbers) {
  EXPECT_EQ(record({"-p", "7,8,7", "8"}).pids, (std::vector<std::uint32_t>{7, 8}));
  for (const char* option : {"-r", "-d"})
    EXPECT_EQ(parse_arguments({"record", "7", option, ""}).action, Invocation::Action::usage_error) << option;
}

TEST(RecordArgumentsTest, RatesAndTimesSayWhatTheyTake) {
  const auto said = [](const char* option, const char* value) {
    const Invocation invocation = parse_arguments({"record", "7", option, value});
    EXPECT_EQ(invocation.action, Invocation::Action::usage_error) << option << " " << value;
    return invocation.text;
  };
  EXPECT_EQ(said("-r", "1000000"), "--rate: '1000000' is not a number of 1 to 20000");
  EXPECT_EQ(said("-r", "0"), "--rate: '0' is not a number of 1 to 20000");
  for (const char* value : {"0", "abc", "2.5", "169h", "-1"})
    EXPECT_EQ(said("-d", value), std::string("--duration: '") + value +
                                     "' is not a time like 10 or 10s (seconds), 500ms, 5m or 1h: a whole number from 1 "
                                     "on, at most 168h");
  EXPECT_EQ(record({"-d", "168h"}).options.duration, std::chrono::hours(168));
}

TEST(RecordArgumentsTest, States) {
  EXPECT_EQ(record({}).shown.activities, 0);
  EXPECT_EQ(record({"--state", "running,waiting"}).shown.activities,
            activity_bit(Activity::running) | activity_bit(Activity::waiting));
  const RecordArguments gc = record({"--state", "gc"});
  EXPECT_TRUE(gc.shown.gc_only && gc.shown.idle);
  EXPECT_NE(parse_arguments({"record", "7", "--state", "x"}).text.find("runnable"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::cli
