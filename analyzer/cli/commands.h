// One function per command. Each returns its exit code.
#pragma once

#include <string>

#include "cli/options.h"
#include "run.h"
#include "wheelvet/report.h"

namespace wheelvet::cli {

int run_check(const Options& options);
int run_compat(const Options& options);
int run_explain(const Options& options);
int run_inspect(const Options& options);
int run_diff(const Options& options);
int run_stub(const Options& options);
int run_doctor(const Options& options);
int run_probe(const Options& options);
int run_rules(const Options& options);
int run_schema(const Options& options);
int run_config(const Options& options);
int run_matrix(const Options& options);
int run_merge(const Options& options);
int run_completion(const Options& options);
int run_manual(const Options& options);

/// True when a verdict rests on assumptions or stubs, which --strict does not accept.
bool rests_on_trust(const Report& report);

/// GPUs and driver that a probe saw, perhaps on another machine, in place of --gpu and --driver
/// and of what the configuration says of them.
void ask_as_probed(const Options& typed, Request& request);

/// What the report says of it.
std::string scope_of_probe(const std::string& file);

/// The severity that a name on the command line stands for.
Severity threshold_of(const std::string& name);

/// Writes to the file of -o, or to standard output. Unreadable (exit 3) when it cannot all be
/// written.
void write_output(const Options& options, const std::string& text);

/// The same, for text made safe for a log.
void write_report(const Options& options, const std::string& text);

/// True when the output may be coloured.
bool use_color(const Options& options);

}  // namespace wheelvet::cli
