#include "explain/answer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/progress.h"
#include "report/explanation.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {
namespace {

// An open text: a file or standard input.
class Reader {
 public:
  Reader(int file, std::string name) : file_(file), name_(std::move(name)) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (file_ > STDERR_FILENO) ::close(file_);
  }
  std::string_view next() {
    ssize_t size;
    do {
      size = ::read(file_, bytes_.data(), bytes_.size());
    } while (size < 0 && errno == EINTR);
    if (size < 0) throw Unreadable({name_, {}, {}, std::nullopt, std::strerror(errno)});
    return {bytes_.data(), static_cast<std::size_t>(size)};
  }

 private:
  int file_;
  std::string name_;
  std::array<char, 1 << 16> bytes_;
};

bool is_elf(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  std::array<char, 4> magic{};
  bool whole = ::read(file, magic.data(), magic.size()) == 4;
  ::close(file);
  return whole && std::memcmp(magic.data(), "\177ELF", 4) == 0;
}

// A wheel, folder or shared object is what the message is about; anything else is the message.
bool is_target(const std::string& argument) {
  std::error_code error;
  if (std::filesystem::is_directory(argument, error)) return true;
  if (!std::filesystem::is_regular_file(argument, error)) return false;
  return argument.ends_with(".whl") || is_elf(argument);
}

std::function<std::string_view()> reader_of(int file, const std::string& name) {
  auto reader = std::make_shared<Reader>(file, name);
  return [reader] { return reader->next(); };
}

// The text: standard input, a file, or the argument itself.
std::function<std::string_view()> open_text(const std::vector<std::string>& words) {
  bool from_stdin = words.empty() || (words.size() == 1 && words.front() == "-");
  if (from_stdin && words.empty() && ::isatty(STDIN_FILENO)) {
    throw WrongUsage("explain: no text: give the error line, a file or -, or pipe a log into it");
  }
  if (from_stdin) return reader_of(STDIN_FILENO, "standard input");
  std::error_code error;
  if (words.size() == 1 && std::filesystem::is_regular_file(words.front(), error)) {
    int file = ::open(words.front().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw Unreadable({words.front(), {}, {}, std::nullopt, std::strerror(errno)});
    return reader_of(file, words.front());
  }
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  auto rest = std::make_shared<std::string>(std::move(text));
  auto given = std::make_shared<bool>(false);
  return [rest, given]() -> std::string_view {
    if (*given) return {};
    *given = true;
    return *rest;
  };
}

}  // namespace

int run_explain(const Options& options) {
  Question question;
  std::vector<std::string> words;
  for (const std::string& argument : options.targets) {
    (is_target(argument) ? question.targets : words).push_back(argument);
  }
  question.next = open_text(words);
  question.providers = options.providers;
  question.environment = options.environment;
  question.python = options.python;
  question.jobs = options.jobs;
  Progress progress(!options.quiet);
  question.progress = progress.callback();
  if (!question.providers.empty() && question.targets.empty() && question.environment.empty()) {
    std::swap(question.targets, question.providers);
  }
  Answer found = answer(question);
  progress.end();
  TextOptions text{use_color(options), options.quiet ? -1 : options.verbose, false};
  write_report(options, options.format == "json" ? render_explanation_json(found)
                                                 : render_explanation_text(found, text));
  return found.explanations.empty() ? 3 : 0;
}

}  // namespace wheelvet::cli
