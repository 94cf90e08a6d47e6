#pragma once

#include <string>

namespace wheelvet {

/// The page around a body that is HTML already: styles for light, dark and narrow screens, and the
/// script that sorts tables of class "sortable" by the column whose heading is pressed. It refers
/// to nothing outside itself, and its policy forbids a browser to load or run anything else.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace wheelvet
