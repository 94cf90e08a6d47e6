#include "report/html_page.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "input/hash.h"
#include "report/escape.h"

namespace wheelvet {
namespace {

constexpr const char* styles = R"(
:root { color-scheme: light dark; --text: #1c2128; --faint: #57606a; --page: #ffffff;
  --panel: #f6f8fa; --line: #d0d7de; --bad: #b3261e; --warn: #8a5a00; --good: #1a7f37;
  --mark: #ffd8a8; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --faint: #9aa4af; --page: #0d1117;
  --panel: #161b22; --line: #30363d; --bad: #ff8a80; --warn: #e3b341; --good: #56d364;
  --mark: #7a4a00; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; line-height: 1.3; } h2 { font-size: 1.15rem; margin-top: 2rem; }
h1, h2, h3, p, td, dd, li, summary { overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
code { font: .875em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
mark { background: var(--mark); color: inherit; border-radius: 3px; padding: 0 .15em; }
.fails, .error { color: var(--bad); } .undecided, .warning { color: var(--warn); }
.loads { color: var(--good); } .note, .faint { color: var(--faint); }
.status { font-weight: 600; text-transform: uppercase; white-space: nowrap; }
article { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .8rem 1rem; margin: .8rem 0; }
dl { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .2rem .8rem; margin: 0; }
dt { color: var(--faint); } dd { margin: 0; min-width: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left;
  vertical-align: top; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button::after { content: " \2195"; color: var(--faint); font-weight: 400; }
th button:focus-visible { outline: 2px solid currentColor; }
th[aria-sort=ascending] button::after { content: " \2191"; color: inherit; }
th[aria-sort=descending] button::after { content: " \2193"; color: inherit; }
.cells th { min-width: 9rem; max-width: 14rem; overflow-wrap: anywhere; }
.cells a { white-space: nowrap; }
.cells td:first-child, .cells th:first-child { position: sticky; left: 0; min-width: 8rem;
  background: var(--page); }
.cell { border-top: 1px solid var(--line); padding: .35rem 0; }
.tree ul { margin: 0; padding-left: 1rem; border-left: 1px solid var(--line); list-style: none; }
.tree > ul { border: 0; }
summary { cursor: pointer; }
@media (max-width: 40rem) { body { padding: .6rem; } dl { grid-template-columns: minmax(0, 1fr); }
  dd { margin-bottom: .4rem; } .tree ul { padding-left: .6rem; }
  th, td { padding: .35rem .3rem; } }
)";

constexpr const char* script = R"(
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.cells[column].textContent;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => key(a).localeCompare(key(b), undefined, {numeric: true}));
    if (down) rows.reverse();
    table.tBodies[0].append(...rows);
  }));
}
for (const link of document.querySelectorAll("a[href^='#']")) {
  link.addEventListener("click", () => { document.getElementById(link.hash.slice(1)).open = true; });
}
)";

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr const char* letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < have ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= have ? letters[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

// What a content security policy calls a text by (CSP Level 3, 2.3.1).
std::string source_of(const std::string& text) {
  Hasher hash;
  hash.add(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  return "'sha256-" + base64(hash.digest()) + "'";
}

}  // namespace

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src {}; script-src {}; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}<script>{}</script>\n"
      "</body>\n</html>\n",
      source_of(styles), source_of(script), escape_markup(title), styles, body, script);
}

}  // namespace wheelvet
