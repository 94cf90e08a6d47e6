// The releases of torch: made tables, good and damaged, and the table that is shipped.
#include "history/history.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "history/name_forms.h"
#include "support/made_history.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

Bytes view(const Buffer& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Five names in three blocks.
MadeHistory five_names() {
  MadeHistory made;
  made.names = {{"_ZN3c101aEi", {{0, 0}, {1, 0}}},
                {"_ZN3c101aEl", {{2, 0}}},
                {"_ZN3c101bEv", {{0, 0}, {0, 1}, {3, 1}}},
                {"_ZN3c102bcEv", {{3, 0}}},
                {"torch_x", {{2, 1}}}};
  return made;
}

// Everything that can be asked of a table, asked.
void use(const Buffer& bytes) {
  History history = read_history(view(bytes));
  each_name(history, "", [&](std::string_view name, const std::vector<Export>&) {
    covers(history, name);
    exports_of(history, name);
  });
  for (std::string_view name : {"", "_ZN3c101aEl", "~"}) exports_of(history, name);
  for (const BuildFacts& facts : read_build_facts(history)) version_floor(facts, "GLIBC");
}

Problem problem_of(const Buffer& bytes) {
  try {
    use(bytes);
  } catch (const Unreadable& error) {
    return error.problem();
  }
  FAIL("nothing was thrown");
  return {};
}

std::uint32_t build_of(const History& history, std::string_view version,
                       std::string_view machine = "x86_64") {
  for (std::uint32_t i = 0; i < history.builds.size(); ++i) {
    const HistoryBuild& build = history.builds[i];
    if (build.version == version && build.machine == machine) return i;
  }
  FAIL("the table has no build of " << version);
  return 0;
}

// "libc10.so: 2.1.0 to 2.9.1"
std::string told(History& history, std::string_view name, std::string_view machine = "x86_64") {
  std::string libraries;
  std::vector<std::uint32_t> builds;
  std::set<std::uint32_t> seen;
  for (const Export& each : exports_of(history, name)) {
    if (history.builds[each.build].machine != machine) continue;
    builds.push_back(each.build);
    const std::string& path = history.libraries[each.library];
    if (seen.insert(each.library).second) libraries += path.substr(path.rfind('/') + 1);
  }
  return libraries + ": " + release_range(history, builds);
}

}  // namespace

TEST_CASE("a name is found with every library of every build that exports it") {
  Buffer bytes = five_names().bytes();
  History history = read_history(view(bytes));
  REQUIRE(history.blocks.size() == 3);
  CHECK(exports_of(history, "_ZN3c101aEi") == std::vector<Export>{{0, 0}, {1, 0}});
  CHECK(exports_of(history, "_ZN3c101aEl") == std::vector<Export>{{2, 0}});
  CHECK(exports_of(history, "_ZN3c101bEv") == std::vector<Export>{{0, 0}, {0, 1}, {3, 1}});
  CHECK(exports_of(history, "_ZN3c102bcEv") == std::vector<Export>{{3, 0}});
  CHECK(exports_of(history, "torch_x") == std::vector<Export>{{2, 1}});
  for (const char* absent : {"", "_ZN", "_ZN3c101aEj", "_ZN3c101b", "_ZN3c102b", "torch_y", "~"}) {
    CHECK(exports_of(history, absent).empty());
  }
}

TEST_CASE("a table without names answers") {
  MadeHistory made;
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  CHECK(exports_of(history, "_ZN3c101aEi").empty());
  CHECK(story_of(history, "_ZN3c101aEi", 0).forms.empty());
}

TEST_CASE("asking for one name unpacks one block") {
  Buffer bytes = five_names().bytes();
  History history = read_history(view(bytes));
  exports_of(history, "_ZN3c101bEv");
  CHECK(history.blocks[0].ends.empty());
  CHECK(history.blocks[1].ends.size() == 2);
  CHECK(history.blocks[2].ends.empty());
}

TEST_CASE("names that begin alike are visited in order and across blocks") {
  Buffer bytes = five_names().bytes();
  auto beginning = [&](std::string_view start) {
    History history = read_history(view(bytes));
    std::vector<std::string> names;
    each_name(history, start,
              [&](std::string_view name, const auto&) { names.emplace_back(name); });
    return names;
  };
  CHECK(beginning("_ZN3c101").size() == 3);
  CHECK(beginning("").size() == 5);
  CHECK(beginning("_ZN3c101b") == std::vector<std::string>{"_ZN3c101bEv"});
  CHECK(beginning("_ZN3c102") == std::vector<std::string>{"_ZN3c102bcEv"});
  CHECK(beginning("a").empty());
  CHECK(beginning("~").empty());
}

TEST_CASE("a name outside of what is kept is not covered, which is not missing") {
  Buffer bytes = five_names().bytes();
  History history = read_history(view(bytes));
  for (const char* kept : {"_ZN3c101xEv", "_ZNK3c101xEv", "torch_y", "_Z8THPThingv"}) {
    CHECK(covers(history, kept));
  }
  for (const char* other :
       {"", "_Z", "_Z1", "_Z12", "printf", "_ZN3c11x", "_ZSt3c10", "_ZN2at1xEv", "_Z1fv", "xtorch_",
        "_Z7torch_xv", "THP", "_ZN3c1012_GLOBAL__N_11xEv", "_ZTVN3c101xE"}) {
    CHECK_FALSE(covers(history, other));
  }
}

TEST_CASE("what is known of a build is read line by line") {
  MadeHistory made = five_names();
  made.facts =
      "build 0\nrequires numpy>=1; extra == \"x\"\nobject lib/a.so\nsize 9000000000\nexports 7\n"
      "soname a.so.1\nneeded libc.so.6\nneeded libm.so.6\nrpath $ORIGIN:$ORIGIN/../x y\n"
      "versions libc.so.6 GLIBC_2.4 GLIBC_2.17\nobject lib/b.so\nrunpath $ORIGIN\n"
      "versions libm.so.6 GLIBC_2.9 GLIBCXX_3.4.30\nbuild 1\nbuild 2\nbuild 3\n";
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  std::vector<BuildFacts> facts = read_build_facts(history);
  REQUIRE(facts.size() == 4);
  CHECK(facts[0].requires_dist == std::vector<std::string>{"numpy>=1; extra == \"x\""});
  REQUIRE(facts[0].objects.size() == 2);
  const HistoryObject& a = facts[0].objects[0];
  CHECK(a.path == "lib/a.so");
  CHECK(a.size == 9000000000);
  CHECK(a.exports == 7);
  CHECK(a.soname == "a.so.1");
  CHECK(a.needed == std::vector<std::string>{"libc.so.6", "libm.so.6"});
  CHECK(a.rpath == std::vector<std::string>{"$ORIGIN:$ORIGIN/../x y"});
  CHECK(facts[0].objects[1].runpath == std::vector<std::string>{"$ORIGIN"});
  CHECK(facts[1].objects.empty());
  CHECK(version_floor(facts[0], "GLIBC") == "2.17");  // by number: 2.9 is older
  CHECK(version_floor(facts[0], "GLIBCXX") == "3.4.30");
  CHECK(version_floor(facts[0], "CXXABI").empty());

  CHECK(history.builds[0].version == "2.1.0");
  CHECK(history.builds[0].label == "2.1.0+cu121");
  CHECK(history.builds[0].cuda == "12.1");
  CHECK_FALSE(history.builds[0].cxx11_strings);
  CHECK(history.builds[1].cxx11_strings);
  CHECK(history.builds[1].python == ">=3.8");
  CHECK(history.builds[2].cuda.empty());
  CHECK(history.builds[3].machine == "aarch64");
}

TEST_CASE("a damaged table is unreadable, and the field says where") {
  CHECK_NOTHROW(use(five_names().bytes()));
  auto field_of = [](auto&& damage) {
    MadeHistory made = five_names();
    damage(made);
    return problem_of(made.bytes()).field;
  };
  CHECK(field_of([](auto& made) { made.format = 2; }) == "history format");
  CHECK(field_of([](auto& made) { made.builds = 3; }) == "history head");
  CHECK(field_of([](auto& made) { made.head += "word\n"; }) == "history text");
  CHECK(field_of([](auto& made) { made.head += "unknown word\n"; }) == "history text");
  CHECK(field_of([](auto& made) { made.facts += "build 5\n"; }) == "history text");
  CHECK(field_of([](auto& made) { made.facts = "object x\n" + made.facts; }) == "history text");
  CHECK(field_of([](auto& made) { made.facts += "object x\nsize 1x\n"; }) == "history text");
  CHECK(field_of([](auto& made) { made.facts_size = 17u << 20; }) == "history facts");
  CHECK(field_of([](auto& made) { made.facts_size = 1u << 20; }) == "history facts");
  CHECK(field_of([](auto& made) { made.facts_size = 1; }) == "history facts");
  CHECK(field_of([](auto& made) { made.name_count_off_by = 1; }) == "history index");
  CHECK(field_of([](auto& made) { std::swap(made.names[0], made.names[4]); }) == "history index");
  CHECK(field_of([](auto& made) { std::swap(made.names[0], made.names[1]); }) == "history names");
  CHECK(field_of([](auto& made) { made.library_off_by = 1; }) == "history pattern");
  CHECK(field_of([](auto& made) { made.pattern_off_by = 1; }) == "history names");
  CHECK(field_of([](auto& made) { made.shared_off_by = 1; }) == "history names");
  CHECK(field_of([](auto& made) { made.block_size_off_by = 1; }) == "history names");
  CHECK(field_of([](auto& made) { made.block_crc_off_by = 1; }) == "history names");
  CHECK(field_of([](auto& made) { made.block_size_off_by = 2u << 20; }) == "history names");
  CHECK(problem_of("WVHISTORY and more than enough").field == "history");
}

TEST_CASE("no part of a table and no changed byte in it does harm") {
  Buffer good = five_names().bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(problem_of(good.substr(0, size)).field.empty());
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Buffer bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
      try {
        use(bytes);
      } catch (const Unreadable&) {
      }
    }
  }
}

TEST_CASE("a form that no build has beside the wanted one took its place; others are overloads") {
  MadeHistory made;
  made.names = {{"_ZN3c101fEb", {{0, 0}, {1, 0}, {2, 0}}},  // beside both
                {"_ZN3c101fEi", {{0, 0}, {1, 0}}},
                {"_ZN3c101fEij", {{2, 0}}},
                {"_ZN3c101fEl", {{2, 0}}},
                {"_ZN3c102fgEi", {{2, 0}}}};
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  NameStory story = story_of(history, "_ZN3c101fEi", 2);
  CHECK(story.covered);
  CHECK(release_range(history, story.builds) == "2.1.0 to 2.2.0");
  REQUIRE(story.forms.size() == 3);
  CHECK(story.forms[0].symbol == "_ZN3c101fEij");
  CHECK(story.forms[0].instead);
  CHECK(story.forms[1].symbol == "_ZN3c101fEl");
  CHECK(story.forms[1].instead);
  CHECK(story.forms[2].symbol == "_ZN3c101fEb");
  CHECK_FALSE(story.forms[2].instead);
  CHECK(story.forms[0].differences == 1);
  CHECK_FALSE(story.forms[0].only_strings);
}

TEST_CASE("of the forms that took a name's place, the one that is installed goes first") {
  MadeHistory made;
  made.names = {{"_ZN3c101fEi", {{0, 0}}}, {"_ZN3c101fEl", {{1, 0}}}, {"_ZN3c101fEmmm", {{2, 0}}}};
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  CHECK(story_of(history, "_ZN3c101fEi", 1).forms[0].symbol == "_ZN3c101fEl");
  CHECK(story_of(history, "_ZN3c101fEi", 2).forms[0].symbol == "_ZN3c101fEmmm");
}

TEST_CASE("builds of another machine take no part in a story") {
  MadeHistory made;
  made.names = {{"_ZN3c101fEi", {{0, 0}, {3, 0}}}, {"_ZN3c101fEl", {{3, 0}}}};
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  NameStory story = story_of(history, "_ZN3c101fEi", 2);
  CHECK(story.builds == std::vector<std::uint32_t>{0});
  CHECK(story.forms.empty());
  CHECK(story_of(history, "_ZN3c101fEi", 3).forms.size() == 1);
}

TEST_CASE("a name that no release has explains nothing") {
  MadeHistory made;
  made.names = {{"_ZN3c101fEl", {{0, 0}}}};
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  NameStory story = story_of(history, "_ZN3c101fEi", 0);
  CHECK(story.builds.empty());
  REQUIRE(story.forms.size() == 1);
  CHECK_FALSE(story.forms[0].instead);
}

TEST_CASE("the other spelling of std::string is no difference of parameters") {
  MadeHistory made;
  const std::string cxx11 = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
  made.names = {{"_ZN3c101fB5cxx11Ei", {{1, 0}}},
                {"_ZN3c101fEi", {{0, 0}}},
                {"_ZN3c101gERK" + cxx11, {{1, 0}}},
                {"_ZN3c101gERKSs", {{0, 0}}}};
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  for (const char* name : {"_ZN3c101fEi", "_ZN3c101gERKSs"}) {
    NameStory story = story_of(history, name, 1);
    REQUIRE(story.forms.size() == 1);
    CHECK(story.forms[0].only_strings);
    CHECK(story.forms[0].instead);
    CHECK(story.forms[0].differences == 0);
  }
}

TEST_CASE("an instance for another type and another operand of an operator are other functions") {
  MadeHistory made;
  made.names = {{"_ZN3c101AplERKS0_", {{1, 0}}},     {"_ZN3c101fIiLi0EEEvv", {{0, 0}}},
                {"_ZN3c101fIiEEvv", {{1, 0}}},       {"_ZN3c101fIlEEvv", {{1, 0}}},
                {"_ZN3c10lsERSoRKNS_1AE", {{0, 0}}}, {"_ZN3c10lsERSoRKNS_1BE", {{1, 0}}}};
  std::sort(made.names.begin(), made.names.end(),
            [](const MadeName& a, const MadeName& b) { return a.name < b.name; });
  Buffer bytes = made.bytes();
  History history = read_history(view(bytes));
  NameStory instance = story_of(history, "_ZN3c101fIiLi0EEEvv", 1);
  REQUIRE(instance.forms.size() == 1);
  CHECK(instance.forms[0].symbol == "_ZN3c101fIiEEvv");
  CHECK(story_of(history, "_ZN3c10lsERSoRKNS_1AE", 1).forms.empty());
}

TEST_CASE("releases are told as runs of neighbours") {
  Buffer bytes = MadeHistory().bytes();
  History history = read_history(view(bytes));
  CHECK(release_range(history, {}).empty());
  CHECK(release_range(history, {1}) == "2.2.0");
  CHECK(release_range(history, {0, 1, 2}) == "2.1.0 to 2.3.0");
  CHECK(release_range(history, {0, 2}) == "2.1.0, 2.3.0");
}

TEST_CASE("all forms of a function begin alike") {
  CHECK(shared_beginning("_ZN3c104cuda9SetDeviceEi") == "_ZN3c104cuda9SetDevice");
  CHECK(shared_beginning("_ZN3c105ErrorC2ENS_14SourceLocationESs") == "_ZN3c105ErrorC2");
  CHECK(shared_beginning("_ZN3c104impl12PyObjectSlotD1Ev") == "_ZN3c104impl12PyObjectSlotD1");
  CHECK(shared_beginning("_ZNK3c106SymInt6sym_eqERKS0_") == "_ZNK3c106SymInt6sym_eq");
  CHECK(shared_beginning("_ZN3c106SymIntpLERKS0_") == "_ZN3c106SymIntpL");
  CHECK(shared_beginning("_ZN3c1015SmallVectorBaseIjE8grow_podEPvmm") ==
        "_ZN3c1015SmallVectorBaseIjE8grow_pod");
  CHECK(shared_beginning("_ZNK5torch8autograd4Node4nameB5cxx11Ev") ==
        "_ZNK5torch8autograd4Node4name");
  CHECK(shared_beginning("_Z16THPVariable_WrapRKN2at10TensorBaseE") == "_Z16THPVariable_Wrap");
  for (const char* none : {"", "_Z", "torch_x", "_ZTVN3c101AE", "_ZN3c101AE"}) {
    CHECK(shared_beginning(none).empty());
  }
}

TEST_CASE("the shipped table holds only names that it covers, in libraries and builds that exist") {
  History history = load_history();
  std::size_t names = 0, wrong = 0;
  each_name(history, "", [&](std::string_view name, const std::vector<Export>& exports) {
    ++names;
    wrong += !covers(history, name) || exports.empty();
  });
  CHECK(names > 50000);
  CHECK(wrong == 0);
  CHECK(read_build_facts(history).size() == history.builds.size());
}

TEST_CASE("the shipped table knows what changed between torch releases") {
  History history = load_history();
  CHECK(told(history, "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib") ==
        "libc10_cuda.so: 2.1.0 to 2.9.1");
  CHECK(told(history, "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb") ==
        "libc10_cuda.so: 2.10.0 to 2.13.0");
  CHECK(told(history, "_ZN3c104cuda9SetDeviceEa") == "libc10_cuda.so: 2.3.0 to 2.7.1");
  NameStory story = story_of(history, "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",
                             build_of(history, "2.10.0"));
  REQUIRE_FALSE(story.forms.empty());
  CHECK(story.forms[0].symbol == "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb");
  CHECK(story.forms[0].instead);
  CHECK_FALSE(history.builds[build_of(history, "2.6.0")].cxx11_strings);
  CHECK(history.builds[build_of(history, "2.7.0")].cxx11_strings);
  CHECK(history.builds[build_of(history, "2.10.0")].cuda == "12.8");
  std::vector<BuildFacts> facts = read_build_facts(history);
  CHECK(version_floor(facts[build_of(history, "2.6.0")], "GLIBC") == "2.17");
  CHECK(version_floor(facts[build_of(history, "2.9.1")], "GLIBC") == "2.28");
}
