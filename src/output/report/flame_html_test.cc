#include "output/report/flame_html.h"

#include <gtest/gtest.h>

#include "output/report/page_template.h"

namespace mixstack::report {
namespace {

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) count++;
  return count;
}

std::string page(const Recording* before, const std::string& title) {
  FlameOptions options;
  options.title = title;
  return collect([&](Writer& out) { write_flame_html(out, Recording(), before, options); });
}

TEST(FlameHtml, OneFileThatNeedsNothingElse) {
  const std::string html = page(nullptr, "a picture");
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_NE(html.find("<title>a picture</title>"), std::string::npos);
  EXPECT_NE(html.find("content=\"default-src 'none'; "), std::string::npos);
  EXPECT_EQ(html.find("connect-src"), std::string::npos);
  for (const char* const foreign : {"src=\"", "href=", "@import", "url(", "http://", "https://"})
    EXPECT_EQ(html.find(foreign), std::string::npos) << foreign;
  for (const char* const mark : {"@POLICY@", "@TITLE@", "@STYLE@", "@MODE@", "@DATA@", "@SCRIPT@"})
    EXPECT_EQ(html.find(mark), std::string::npos) << mark;
}

TEST(FlameHtml, TwoRecordingsForADifference) {
  const Recording before;
  EXPECT_EQ(count_of(page(nullptr, "x"), "<script type=\"application/octet-stream\""), 1u);
  EXPECT_EQ(count_of(page(&before, "x"), "<script type=\"application/octet-stream\""), 2u);
  EXPECT_NE(page(&before, "x").find("id=\"data-before\""), std::string::npos);
}

TEST(FlameHtml, TitlesAreText) {
  const std::string html = page(nullptr, "</title><script>@SCRIPT@ \x1b\xff\xe2\x80\xae");
  EXPECT_NE(html.find("<title>&lt;/title&gt;&lt;script&gt;@SCRIPT@ \\x1b\\xff\\u{202e}</title>"), std::string::npos);
  EXPECT_EQ(count_of(html, "</script>"), 2u);
}

TEST(FlameHtml, ScriptAndStyleAreWhole) {
  const PageTemplate parts = page_template();
  EXPECT_EQ(parts.script.find("</script"), std::string_view::npos);
  EXPECT_EQ(parts.style.find("</style"), std::string_view::npos);
  EXPECT_EQ(parts.script_hash.size(), 44u);
  const std::string html = page(nullptr, "x");
  EXPECT_NE(html.find("<script>" + std::string(parts.script) + "</script>"), std::string::npos);
  EXPECT_NE(html.find("<style>" + std::string(parts.style) + "</style>"), std::string::npos);
}

TEST(FlameHtml, TheServedPageMayAskItsServer) {
  const std::string html = collect([](Writer& out) { write_live_page(out, "x"); });
  EXPECT_NE(html.find("data-mode=\"live\""), std::string::npos);
  EXPECT_NE(html.find("connect-src 'self'"), std::string::npos);
  EXPECT_EQ(html.find("octet-stream\" id="), std::string::npos);
}

}  // namespace
}  // namespace mixstack::report
