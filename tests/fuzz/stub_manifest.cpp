// The member that makes a wheel a stub: what is read is written and read again as the same.
#include "input/stub_manifest.h"

#include "require.h"

using namespace wheelvet;
using namespace wheelvet::fuzz;

namespace {

std::string written(Input stub) {
  stub.label = stub.origin->file;
  stub.size = stub.origin->size;
  return write_stub_manifest(stub, stub.faults, stub.problems);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse([&] {
    Input stub, again;
    read_stub_manifest(text_of(data, size), stub);
    require(stub.origin.has_value(), "a manifest names an origin");
    std::string once = written(stub);
    read_stub_manifest(once, again);
    require(
        again.faults.size() == stub.faults.size() && again.problems.size() == stub.problems.size(),
        "as many faults and problems as written");
  });
  return 0;
}
