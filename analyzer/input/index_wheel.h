// Wheels of the package index: fetched once through pip, and kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// "sgl-kernel==0.3.21", taken apart.
struct IndexRequirement {
  std::string name;     ///< normalised
  std::string version;  ///< normalised
  std::vector<std::string> extras;
};

/// Nothing when the text is no requirement. WrongUsage when it is one that leaves the version open:
/// what is vetted has to be one wheel.
std::optional<IndexRequirement> read_index_requirement(std::string_view text);

/// What a wheel has to fit.
struct WheelPlatform {
  std::string machine;  ///< "x86_64", "aarch64"
  std::string python;   ///< "3.12", "3.13t"
  std::string glibc;    ///< the newest that a manylinux tag may ask for, "2.43"
};

/// The path of the wheel in the cache ($XDG_CACHE_HOME or ~/.cache, wheelvet/wheels); when it is
/// not there, pip is run to download it with whatever index it is configured for. Several runs wait
/// for each other; what was cut off is never taken for a wheel. `show`: pip's progress goes to
/// standard error. WrongUsage when the index has no such wheel, Unreadable when pip or the index is
/// not there.
std::string fetch_wheel(const IndexRequirement& requirement, const WheelPlatform& platform,
                        bool show);

/// pip's arguments for that, without the program.
std::vector<std::string> pip_arguments(const IndexRequirement& requirement,
                                       const WheelPlatform& platform, const std::string& folder);

/// Why pip failed, from what it wrote to standard error, in a sentence for people.
std::string pip_failure(std::string_view written, const IndexRequirement& requirement,
                        const WheelPlatform& platform);

/// True when what pip wrote says that the index was reached and has no such wheel.
bool says_no_such_wheel(std::string_view written);

}  // namespace wheelvet
