// RECORD: a strict reader, and what it says compared with what the archive holds.
#include "facts/record.h"

#include <doctest/doctest.h>

#include <vector>

#include "facts/read_facts.h"
#include "input/archive.h"
#include "input/hash.h"
#include "support/temporary_file.h"
#include "support/zip_writer.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Parsed {
  Rows rows;
  std::string wrong;
};

Parsed parse(std::string_view text) {
  Parsed out;
  out.wrong = read_record(text, [&](const RecordRow& row) {
    out.rows.push_back({std::string(row.path), std::string(row.hash), std::string(row.size)});
  });
  return out;
}

const std::string name = "a-1.dist-info/RECORD";
const std::string digest = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";  // of nothing

Input holding(std::initializer_list<const char*> names) {
  Input input;
  for (const char* each : names) {
    Member member;
    member.name = each;
    input.members.push_back(member);
  }
  return input;
}

// "rule member" of every fault.
std::vector<std::string> faults(const std::string& text, const Input& input) {
  std::vector<std::string> out;
  RecordCheck check = check_record(text, name, input);
  for (const ArchiveFault& fault : check.faults) {
    out.push_back(fault.rule + " " + fault.member);
  }
  return out;
}

using Lines = std::vector<std::string>;

std::string digest_of(const std::string& text, const std::string& algorithm = "sha256") {
  Hasher hash(*hash_algorithm(algorithm));
  hash.add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return algorithm + "=" + record_digest(hash.digest());
}

// A wheel of one library (no ELF), one other file and its RECORD, as read with and without --hash.
Lines faults_of_wheel(const std::string& record, bool hash) {
  Zip zip;
  zip.entries = {entry("m.so", "not an object"), entry("m.py", "x = 1\n"), entry(name, record)};
  TemporaryFile file(zip.bytes());
  std::vector<Input> inputs(1);
  inputs[0].kind = InputKind::wheel;
  inputs[0].path = file.path();
  inputs[0].archive = std::make_shared<RandomFile>(file.path());
  read_archive(*inputs[0].archive, inputs[0]);
  Lines out;
  Facts facts = read_facts(inputs, {1, hash, {}});
  for (const ArchiveFault& fault : facts.inputs[0].faults) {
    out.push_back(fault.rule + " " + fault.member);
  }
  return out;
}

std::string record_of_wheel() {
  return "m.so," + digest_of("not an object") + ",13\nm.py," + digest_of("x = 1\n") + ",6\n" +
         name + ",,\n";
}

}  // namespace

TEST_CASE("rows are read as RFC 4180 has them") {
  CHECK(parse("").rows.empty());
  CHECK(parse("a,b,1\n").rows == Rows{{"a", "b", "1"}});
  CHECK(parse("a,b,1").rows == Rows{{"a", "b", "1"}});
  CHECK(parse("a,b,1\r\nc,,\r\n").rows == Rows{{"a", "b", "1"}, {"c", "", ""}});
  CHECK(parse("\"a,b\",c,1\n").rows == Rows{{"a,b", "c", "1"}});
  CHECK(parse("\"a\"\"b\",c,1\n").rows == Rows{{"a\"b", "c", "1"}});
  CHECK(parse("\"a\nb\",c,1\n").rows == Rows{{"a\nb", "c", "1"}});
  CHECK(parse("\"\",\"\",\"\"\n").rows == Rows{{"", "", ""}});
  CHECK(parse("a\n").rows == Rows{{"a", "", ""}});
  CHECK(parse("a,b,1,extra,\"more\"\n").rows == Rows{{"a", "b", "1"}});
  for (const char* good : {"", "a,b,1\n", "a,b,1\r\nc,,", "\"a\"\"b\",c,1\n", "a,b,1,2\n"}) {
    CAPTURE(good);
    CHECK(parse(good).wrong == "");
  }
}

TEST_CASE("what is no such row ends the reading, and the row is told") {
  CHECK(parse("a,b,1\n\nc,,\n").wrong == "row 2: is empty");
  CHECK(parse("a,b,1\n\"c,,\n").wrong == "row 2: a quote that is not closed");
  CHECK(parse("a\"b,c,1\n").wrong == "row 1: a quote inside a field that is not quoted");
  CHECK(parse("\"a\"b,c,1\n").wrong == "row 1: text behind a closing quote");
  CHECK(parse("a,b,1\rc,,\n").wrong == "row 1: a carriage return that ends no line");
  CHECK(parse("a,b,1\n\"c,,\n").rows.size() == 1);
}

TEST_CASE("a RECORD that lists what is there has no fault") {
  Input input = holding({"a/x", "a,b", "a-1.dist-info/RECORD", "a-1.dist-info/RECORD.jws"});
  std::string text = "a/x," + digest + ",0\n\"a,b\"," + digest + ",0\n" + name + ",,\n";
  CHECK(faults(text, input).empty());
  CHECK(faults("a/x," + digest + ",\n\"a,b\"," + digest + ",\n", input).empty());  // sizes may lack
}

TEST_CASE("REC-001: bytes that are not UTF-8, and rows that cannot be read") {
  Input input = holding({"a"});
  CHECK(faults("a," + digest + ",0\n\xff,,\n", input) == Lines{"REC-001 " + name, "REC-003 \xff"});
  // What stands behind the fault is not known: nothing is said of files that are not listed.
  CHECK(faults("\n", input) == Lines{"REC-001 " + name});
}

TEST_CASE("REC-002 and REC-003: files on one side only") {
  Input input = holding({"a", "b"});
  CHECK(faults("a," + digest + ",0\n", input) == Lines{"REC-002 b"});
  CHECK(faults("a," + digest + ",0\nb," + digest + ",0\nc," + digest + ",0\n", input) ==
        Lines{"REC-003 c"});
  CHECK(faults("./a," + digest + ",0\nb," + digest + ",0\n", input) ==
        Lines{"REC-003 ./a", "REC-002 a"});
}

TEST_CASE("REC-004: a size that is another") {
  Input input = holding({"a"});
  input.members[0].size = 5;
  CHECK(faults("a," + digest + ",5\n", input).empty());
  CHECK(faults("a," + digest + ",6\n", input) == Lines{"REC-004 a"});
  CHECK(faults("a," + digest + ",18446744073709551621\n", input) == Lines{"REC-006 a"});
}

TEST_CASE("REC-006: rows that do not follow the format") {
  Input input = holding({"a"});
  for (const std::string& row :
       {std::string("a,,0"), std::string("a,md5=x,0"), std::string("a,sha1=x,0"),
        std::string("a,x,0"), "a," + digest + ",five", "a," + digest + ",-1", "a," + digest,
        "a," + digest + ",0,1", "a," + digest + ",0\na," + digest + ",0"}) {
    CAPTURE(row);
    CHECK(faults(row + "\n", input) == Lines{"REC-006 a"});
  }
  CHECK(faults("a,sha512=x,0\n", input).empty());
}

TEST_CASE("a million rows of nothing are counted, not kept") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x" + std::to_string(i) + ",,\n";
  std::vector<ArchiveFault> found = check_record(text, name, holding({})).faults;
  CHECK(found.size() == 21);
  CHECK(found.back().detail == "and 980 more");
}

TEST_CASE("digests are spelled as RECORD spells them") {
  CHECK(digest_of("") == digest);
  Input input = holding({"a"});
  CHECK(check_record("a," + digest + "==,0\n", name, input).digests[0] == digest);
  CHECK(check_record("a,sha512=x,0\n", name, input).digests[0] == "sha512=x");
  CHECK(check_record("a,sha3_256=x,0\n", name, input).digests[0] == "");
  // hashlib.sha512(b"abc"), hashlib.sha384(b"abc")
  CHECK(
      digest_of("abc", "sha512") ==
      "sha512=3a81oZNherrMQXNJriBBMRLm-k6JqX6iCp7u5ktV05ohkpkqJ0_BqDa6PCOj_uu9RU1EI2Q86A4qmslPpUyk"
      "nw");
  CHECK(digest_of("abc", "sha384") ==
        "sha384=ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP_W-2AhgcroefMI1i67KE0yCWn");
}

TEST_CASE("REC-006: a hash of an algorithm that is not known is told, and not compared") {
  Input input = holding({"a"});
  CHECK(faults("a,sha3_256=x,0\n", input) == Lines{"REC-006 a"});
  CHECK(faults("a,sha384=x,0\n", input).empty());
}

TEST_CASE("REC-005: bytes of another hash, in libraries and in other files, with --hash only") {
  std::string good = record_of_wheel();
  CHECK(faults_of_wheel(good, true).empty());
  for (std::size_t row : {good.find("sha256=") + 9, good.rfind("sha256=") + 9}) {
    std::string bad = good;
    bad[row] = bad[row] == 'x' ? 'y' : 'x';
    CHECK(faults_of_wheel(bad, false).empty());
    std::string member = row < 20 ? "m.so" : "m.py";
    CHECK(faults_of_wheel(bad, true) == Lines{"REC-005 " + member});
  }
  std::string row = "m.so," + digest_of("not an object") + ",13\n";
  for (std::string content : {"not an object", "another object"}) {
    std::string other = "m.so," + digest_of(content, "sha512") + ",13\n";
    bool same = content == "not an object";
    CHECK(faults_of_wheel(other + good.substr(row.size()), true) ==
          (same ? Lines{} : Lines{"REC-005 m.so"}));
  }
}

TEST_CASE("a wheel without RECORD breaks REC-001") {
  Zip zip;
  zip.entries = {entry("a-1.dist-info/METADATA", "Name: a\n")};
  TemporaryFile file(zip.bytes());
  std::vector<Input> inputs(1);
  inputs[0].kind = InputKind::wheel;
  inputs[0].path = file.path();
  inputs[0].archive = std::make_shared<RandomFile>(file.path());
  read_archive(*inputs[0].archive, inputs[0]);
  Facts facts = read_facts(inputs, {1, false, {}});
  REQUIRE(facts.inputs[0].faults.size() == 1);
  CHECK(facts.inputs[0].faults[0].rule == "REC-001");
}
