#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "mixstack/machine.h"

namespace mixstack {
namespace {

template <class Answer>
nlohmann::json json_of(const Answer& answer) {
  std::string text;
  write_json(answer, [&text](std::string_view piece) { text += piece; });
  return nlohmann::json::parse(text);
}

TEST(MachineReport, AListHasUnknownVersionsAsNull) {
  RunningPrograms found;
  found.programs.resize(2);
  found.programs[0].version = "10.0.12";
  found.programs[0].hosting = Hosting::single_file;
  found.programs[0].comm = "a\xff";
  found.not_readable.push_back({14, "other", 13});
  const auto document = json_of(found);
  EXPECT_EQ(document["format"], "mixstack-ps");
  EXPECT_EQ(document["processes"][0]["runtime"], "10.0.12");
  EXPECT_EQ(document["processes"][0]["hosting"], "single-file");
  EXPECT_EQ(document["processes"][0]["name"], "a\xef\xbf\xbd") << "no other bytes than UTF-8";
  EXPECT_TRUE(document["processes"][1]["runtime"].is_null());
  EXPECT_EQ(document["not_readable"], 1);
}

TEST(MachineReport, AnExaminationHasARemedyOrNull) {
  Examination examination;
  examination.dump = true;
  examination.findings.push_back({Finding::Verdict::ok, "ptrace", "works", ""});
  examination.findings.push_back({Finding::Verdict::bad, "perf events", "refused", "sudo"});
  const auto document = json_of(examination);
  EXPECT_EQ(document["dump"], true);
  EXPECT_TRUE(document["problem"].is_null());
  EXPECT_EQ(document["without_stop"], false);
  EXPECT_TRUE(document["findings"][0]["remedy"].is_null());
  EXPECT_EQ(document["findings"][1]["verdict"], "bad");
  EXPECT_EQ(document["findings"][1]["remedy"], "sudo");
}

TEST(MachineReport, AProblemHasAStableName) {
  Examination examination;
  examination.problem = Problem::already_traced;
  EXPECT_EQ(json_of(examination)["problem"], "already_traced");
}

TEST(Machine, OurselvesAreExaminedAndRefused) {
  const Examination own = examine(static_cast<std::uint32_t>(::getpid()));
  EXPECT_FALSE(own.dump);
  EXPECT_EQ(own.problem, Problem::is_self);
  ASSERT_FALSE(own.findings.empty());
  EXPECT_EQ(own.findings.back().verdict, Finding::Verdict::bad);
}

TEST(Machine, AProcessThatIsNotThereIsNoMatterOfRights) {
  const Examination none = examine(4194304 + 7);  // above the largest pid there can be
  EXPECT_FALSE(none.dump);
  EXPECT_EQ(none.problem, Problem::no_such_process);
}

}  // namespace
}  // namespace mixstack
