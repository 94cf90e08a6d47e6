// The last gate before each format. All of them go through printable() first, so that controls,
// bidirectional and other unseen characters are visible in every format alike.
#pragma once

#include <string>
#include <string_view>

namespace wheelvet {

/// For element content and quoted attribute values of XML and HTML.
std::string escape_markup(std::string_view text);

/// For running text of GitHub's Markdown: punctuation loses its meaning, and words that would
/// notify a person, name an issue or become a link are shown as code.
std::string escape_markdown(std::string_view text);

/// A code span; `table` for inside a table, where a bar ends the cell even there.
std::string markdown_code(std::string_view text, bool table);

/// For the message of a workflow command: "%", and the line ends that the caller puts in.
std::string escape_command(std::string_view text);

/// For a log: a reader of a CI service takes "::" at the start of a line, behind blanks too, and
/// "##[" anywhere for a command (the runner's ActionCommand); a name from a file must not be one.
std::string escape_log(std::string_view text);

/// For a property of a workflow command: ":" and "," as well.
std::string escape_command_property(std::string_view text);

/// A path as a relative URI reference (RFC 3986): everything but unreserved characters and "/".
std::string escape_uri(std::string_view text);

}  // namespace wheelvet
