// What an error message means here: who wanted what of whom, and what to change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wheelvet {

/// Who brings a file. `kind`: pip package, NVIDIA driver, CUDA toolkit, system, conda, interpreter,
/// build cache; empty when it cannot be told.
struct FileOwner {
  std::string kind;
  std::string name;     ///< "nvidia-cuda-runtime-cu12", "libstdc++6"
  std::string version;  ///< installed one, when the environment or the text tells
};

/// One of the two sides that do not fit each other.
struct Side {
  std::string role;  ///< wants, has
  std::string what;  ///< the file, library or program
  FileOwner owner;
  std::string built_for;  ///< "torch 2.1.0 to 2.9.1", "CUDA 12.5 or newer"
};

/// A spelling of one function, and the releases that export it.
struct SymbolForm {
  std::string symbol;      ///< mangled, as people search for it
  std::string readable;    ///< demangled
  std::string releases;    ///< "2.10.0 to 2.13.0"; empty when none that is known
  std::string difference;  ///< against the wanted one; empty for the wanted one itself
  bool wanted = false;
};

struct Repair {
  std::string side;                    ///< what it changes: "torch", "sgl-kernel", "NVIDIA driver"
  std::string sentence;                ///< what to do
  std::string command;                 ///< the same as a command line; empty when there is none
  std::string provider = {};           ///< what stands for it in a simulation: "torch==2.9.1"
  bool verified = false;               ///< the load was simulated with it in place
  std::vector<std::string> next = {};  ///< what would fail then, as far as it was simulated
};

/// The answer to one error of the text.
struct Explanation {
  std::string kind;      ///< "cxx-symbol/torch-version"; docs/explain.md lists them
  std::string sentence;  ///< what happened
  std::string text;      ///< the line it is about
  std::size_t line = 0;  ///< its number, from 1
  std::size_t times = 1;
  bool hidden = false;             ///< the message hides its cause
  std::vector<std::string> shows;  ///< commands that show the cause
  std::vector<Side> sides;
  std::vector<SymbolForm> forms;
  std::vector<Repair> repairs;
  std::vector<std::string> confirmed;  ///< what the simulation of the given files says of it
  std::vector<std::string> next;       ///< what else the same load lacks
  std::vector<std::string> unknown;    ///< what would have to be known for more
};

/// The answer to a whole text, its root cause first.
struct Answer {
  std::vector<Explanation> explanations;
  std::uint64_t bytes = 0, lines = 0;
  bool cut = false;     ///< more different errors than are kept
  bool binary = false;  ///< the text is mostly no text
};

}  // namespace wheelvet
