// fmt's functions that are not templates, and the instances of its templates that it promises to
// provide, compiled once: Debian has no archive of them, and as headers they would be compiled
// again in every file, which takes more than the rest of the file.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template auto dragonbox::to_decimal(float) -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
