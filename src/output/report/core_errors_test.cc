#include "output/report/core_errors.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace mixstack::report {
namespace {

std::string text_of(ErrorCode code, std::uint64_t value = 0, int os_error = 0) {
  return core_problem_text({code, os_error, value}, "/tmp/core.1");
}

TEST(CoreErrors, SayWhatTheFileIsInstead) {
  EXPECT_EQ(text_of(ErrorCode::unsupported, ET_DYN), "/tmp/core.1 is a program or library, no core file.\n");
  EXPECT_EQ(text_of(ErrorCode::unsupported, ET_REL), "/tmp/core.1 is an object file, no core file.\n");
  EXPECT_NE(text_of(ErrorCode::malformed).find("is no core file"), std::string::npos);
  EXPECT_NE(text_of(ErrorCode::unsupported_cpu, EM_386).find("32-bit"), std::string::npos);
  EXPECT_NE(text_of(ErrorCode::unsupported_cpu, EM_S390).find("e_machine 22"), std::string::npos);
  EXPECT_NE(text_of(ErrorCode::truncated).find("ulimit -c"), std::string::npos);
}

TEST(CoreErrors, PassOnTheSystemsWords) {
  EXPECT_EQ(text_of(ErrorCode::not_found, 0, ENOENT), "/tmp/core.1 cannot be read: No such file or directory.\n");
  EXPECT_EQ(text_of(ErrorCode::permission_denied, 0, EACCES), "/tmp/core.1 cannot be read: Permission denied.\n");
}

TEST(CoreErrors, TellUnpackingFromReading) {
  EXPECT_NE(text_of(ErrorCode::limit_exceeded, 0, ENOSPC).find("TMPDIR"), std::string::npos);
  EXPECT_NE(text_of(ErrorCode::limit_exceeded).find("Unpack it yourself"), std::string::npos);
  EXPECT_NE(text_of(ErrorCode::io_error, 0, EBADMSG).find("damaged"), std::string::npos);
}

TEST(CoreErrors, EscapeNamesAndKnowStandardInput) {
  EXPECT_EQ(core_problem_text({ErrorCode::malformed, 0, 0}, "-").rfind("standard input is no core file", 0), 0U);
  EXPECT_EQ(core_problem_text({ErrorCode::malformed, 0, 0}, "a\x1b[2J").find('\x1b'), std::string::npos);
}

TEST(CoreErrors, HaveNamesForPrograms) {
  EXPECT_EQ(core_problem_name({ErrorCode::malformed, 0, 0}), "no_core");
  EXPECT_EQ(core_problem_name({ErrorCode::unsupported, 0, 2}), "other_elf");
  EXPECT_EQ(core_problem_name({ErrorCode::io_error, ETIMEDOUT, 0}), "no_writer");
  EXPECT_EQ(core_problem_name({ErrorCode::not_found, ENOENT, 0}), "not_found");
}

}  // namespace
}  // namespace mixstack::report
