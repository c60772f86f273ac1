#include "frontends/cli/terminal_type.h"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace mixstack::cli {
namespace {

/// A description as ncurses takes it from the environment (terminfo(5), "Storage format"): `infocmp -Q2 -q` of
///   mixstack-ansi|what terminals of today understand,
///   am, bce, km, mir, msgr, xenl,
///   cols#80, it#8, lines#24,
///   bold=\E[1m, civis=\E[?25l, clear=\E[H\E[2J, cnorm=\E[?25h,
///   cr=\r, cub1=^H, cud1=\n, cuf1=\E[C, cup=\E[%i%p1%d;%p2%dH, cuu1=\E[A,
///   ed=\E[J, el=\E[K, home=\E[H, ind=\n,
///   kbs=^?, kcub1=\EOD, kcud1=\EOB, kcuf1=\EOC, kcuu1=\EOA, kend=\EOF, kent=\EOM,
///   khome=\EOH, knp=\E[6~, kpp=\E[5~,
///   rev=\E[7m, rmcup=\E[?1049l, rmkx=\E[?1l\E>, rmso=\E[27m,
///   sgr0=\E[m, smcup=\E[?1049h, smkx=\E[?1h\E=, smso=\E[7m,
constexpr const char* kOwnDescription =
    "b64:GgExAB0AAwCmAKYAbWl4c3RhY2stYW5zaXx3aGF0IHRlcm1pbmFscyBvZiB0b2RheSB1bmRlcnN0YW5kAAABAAABAAAAAQAA"
    "AAABAQAAAAAAAAAAAAAAAAABUAAIABgA_____wAA_____wIACgAOAP____8SACMAJQApADAA__8yADkA__89AP______________"
    "____QQBGAP____________9PAFQA________WQBdAP____9mAP____________________________9sAP____________9uAP__"
    "__________________________________9yAP____92AP__egB_AIQA________iACMAJQA____________________________"
    "____________________________________________________________________________nAD_____________________"
    "_____________________________________________________________________54AogANABtbSBtbMkoAG1tLABtbSgAb"
    "WyVpJXAxJWQ7JXAyJWRIAAoAG1tIABtbPzI1bAAIABtbPzI1aAAbW0MAG1tBABtbMW0AG1s_MTA0OWgAG1s3bQAbWzdtABtbbQAb"
    "Wz8xMDQ5bAAbWzI3bQB_ABtPQgAbT0gAG09EABtbNn4AG1s1fgAbT0MAG09BABtbPzFsGz4AG1s_MWgbPQAKABtPRgAbT00A";
constexpr const char* kOwnType = "mixstack-ansi";

bool is_known(const char* type, int out) {
  int why = 0;
  if (::setupterm(type, out, &why) != OK) return false;
  (void)::del_curterm(cur_term);
  return true;
}

bool is_like_xterm(std::string_view type) {
  constexpr std::string_view kFamily[] = {"xterm", "screen",  "tmux",    "rxvt",    "linux", "alacritty", "foot",
                                          "kitty", "wezterm", "ghostty", "konsole", "vte",   "contour",   "st-"};
  return std::any_of(std::begin(kFamily), std::end(kFamily),
                     [type](std::string_view name) { return type.starts_with(name); });
}

}  // namespace

std::string usable_terminal_type(int out) {
  const char* type = std::getenv("TERM");
  if (type == nullptr || *type == 0) return {};
  if (is_known(type, out)) return type;
  if (!is_like_xterm(type)) return {};
  if (is_known("xterm-256color", out)) return "xterm-256color";
  // ncurses ignores it if we have more privileges than our caller.
  (void)::setenv("TERMINFO", kOwnDescription, 1);
  return is_known(kOwnType, out) ? kOwnType : "";
}

}  // namespace mixstack::cli
