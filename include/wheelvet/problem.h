// What could not be read, or could not be done. One noun, one exception.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace wheelvet {

/// Something that could not be read or done. `offset` is in bytes from the start of the member (or,
/// without a member, of the input). Every part but `reason` may be empty.
struct Problem {
  std::string input;   ///< the file or folder named on the command line
  std::string member;  ///< the member inside it
  std::string field;   ///< the structure or field, in the words of the format's own specification
  std::optional<std::uint64_t> offset;
  std::string reason;

  bool operator==(const Problem&) const = default;
};

/// "input: member: field at offset N: reason", on one line, every unprintable byte escaped.
std::string to_line(const Problem& problem);

/// Thrown by readers; caught once per member (kept as a Problem of the run) or in main (a request
/// that cannot be served).
class Unreadable : public std::exception {
 public:
  explicit Unreadable(Problem problem);
  /// The short form for readers that know a field and an offset but not whose file it is.
  Unreadable(std::string_view field, std::optional<std::uint64_t> offset, std::string reason);

  const char* what() const noexcept override { return line_.c_str(); }
  const Problem& problem() const noexcept { return problem_; }
  /// The same problem with the file it belongs to filled in.
  Problem in(std::string_view input, std::string_view member) const;

 private:
  Problem problem_;
  std::string line_;
};

/// A request that makes no sense (exit code 2), said in one line.
class WrongUsage : public std::exception {
 public:
  explicit WrongUsage(std::string reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

}  // namespace wheelvet
