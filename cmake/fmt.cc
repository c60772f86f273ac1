// What {fmt} 9 keeps out of its headers, and the templates that it declares there and defines here (cmake/fmt.cmake).
#include <fmt/format-inl.h>

namespace fmt {
inline namespace mixstack {
namespace detail {

template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal<double>(double) noexcept -> dragonbox::decimal_fp<double>;

}  // namespace detail
}  // namespace mixstack
}  // namespace fmt
