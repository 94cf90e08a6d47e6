#include "device/device_note.h"

#include <algorithm>
#include <cstring>

namespace wheelvet {
namespace {

constexpr const char* field = "device code note";
constexpr char magic[8] = {'W', 'V', 'D', 'E', 'V', 'I', 'C', '1'};
constexpr std::uint64_t most_problems = 1000;

template <class T>
void put(std::vector<std::uint8_t>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

void put_text(std::vector<std::uint8_t>& out, const std::string& text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}

void put_image(std::vector<std::uint8_t>& out, const DeviceImage& image) {
  put(out, image.offset);
  put(out, image.size);
  put(out, image.unpacked);
  put(out, image.arch);
  put(out, image.suffix);
  put(out, image.kind);
  put(out, image.packing);
  put(out, image.isa_major);
  put(out, image.isa_minor);
  put(out, static_cast<std::uint8_t>(image.relocatable | image.debug << 1));
}

void put_container(std::vector<std::uint8_t>& out, const DeviceContainer& container) {
  put(out, container.offset);
  put(out, container.size);
  put(out, container.images);
  put(out, container.kernels);
  put(out, container.carrier);
  put(out, static_cast<std::uint8_t>(container.kernels_read));
}

class NoteReader {
 public:
  explicit NoteReader(Bytes bytes) : bytes_(bytes) {}

  template <class T>
  T take() {
    T value = load<T>(bytes_, at_, field);
    at_ += sizeof value;
    return value;
  }

  // A count of things that take `each` bytes or more: they must be there.
  std::uint64_t count(std::uint64_t each) {
    std::uint64_t n = take<std::uint32_t>();
    if (n > (bytes_.size() - at_) / each) throw Unreadable(field, at_, "counts more than it has");
    return n;
  }

  // A byte that stands for one of the first values of an enumeration.
  template <class T>
  T choice(T last) {
    auto value = take<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) throw Unreadable(field, at_, "makes no sense");
    return static_cast<T>(value);
  }

  std::string text() {
    auto size = take<std::uint32_t>();
    Bytes bytes = slice(bytes_, at_, size, field);
    at_ += bytes.size();
    return {bytes.begin(), bytes.end()};
  }

 private:
  Bytes bytes_;
  std::uint64_t at_ = 0;
};

DeviceImage take_image(NoteReader& in) {
  DeviceImage image;
  image.offset = in.take<std::uint64_t>();
  image.size = in.take<std::uint64_t>();
  image.unpacked = in.take<std::uint64_t>();
  image.arch = in.take<std::uint16_t>();
  image.suffix = in.take<char>();
  bool known =
      image.suffix == 0 || image.suffix == 'a' || image.suffix == 'f' || image.suffix == '?';
  if (!known) throw Unreadable(field, std::nullopt, "has an unknown suffix of an architecture");
  image.kind = in.choice(ImageKind::other);
  image.packing = in.choice(Packing::zstd);
  image.isa_major = in.take<std::uint8_t>();
  image.isa_minor = in.take<std::uint8_t>();
  auto flags = in.take<std::uint8_t>();
  image.relocatable = flags & 1;
  image.debug = flags & 2;
  return image;
}

// Containers own runs of images and of kernels, one after the other.
void take_containers(NoteReader& in, DeviceCode& code) {
  std::uint64_t count = in.count(26), images = 0, kernels = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    DeviceContainer& container = code.containers.emplace_back();
    container.offset = in.take<std::uint64_t>();
    container.size = in.take<std::uint64_t>();
    container.images = in.take<std::uint32_t>();
    container.kernels = in.take<std::uint32_t>();
    container.carrier = in.choice(Carrier::frame);
    container.kernels_read = in.take<std::uint8_t>() != 0;
    container.first_image = static_cast<std::uint32_t>(images);
    container.first_kernel = static_cast<std::uint32_t>(kernels);
    images += container.images;
    kernels += container.kernels;
    if (images > code.images.size() || kernels > code.kernels.size()) {
      throw Unreadable(field, std::nullopt, "has containers of more images than it has");
    }
  }
}

}  // namespace

std::vector<std::uint8_t> write_device_note(const DeviceCode& code) {
  std::vector<std::uint8_t> out(std::begin(magic), std::end(magic));
  put(out, static_cast<std::uint32_t>(code.names.size()));
  for (const std::string& name : code.names) put_text(out, name);
  // Only what containers own: a container that lies outside of what is loaded has left its images.
  std::vector<DeviceImage> images;
  std::vector<std::uint32_t> kernels;
  for (const DeviceContainer& container : code.containers) {
    std::span<const DeviceImage> own = code.images_of(container);
    images.insert(images.end(), own.begin(), own.end());
    std::span<const std::uint32_t> names = code.kernels_of(container);
    kernels.insert(kernels.end(), names.begin(), names.end());
  }
  put(out, static_cast<std::uint32_t>(images.size()));
  for (const DeviceImage& image : images) put_image(out, image);
  put(out, static_cast<std::uint32_t>(kernels.size()));
  for (std::uint32_t kernel : kernels) put(out, kernel);
  put(out, static_cast<std::uint32_t>(code.containers.size()));
  for (const DeviceContainer& container : code.containers) put_container(out, container);
  put(out, static_cast<std::uint32_t>(code.problems.size()));
  for (const Problem& problem : code.problems) {
    put(out, static_cast<std::uint8_t>(problem.offset.has_value()));
    put(out, problem.offset.value_or(0));
    put_text(out, problem.field);
    put_text(out, problem.reason);
  }
  return out;
}

DeviceCode read_device_note(Bytes note) {
  if (note.size() < sizeof magic || std::memcmp(note.data(), magic, sizeof magic) != 0) {
    throw Unreadable(field, std::nullopt, "was written by another version of this program");
  }
  NoteReader in(note.subspan(sizeof magic));
  DeviceCode code;
  code.read = true;
  std::uint64_t names = in.count(4);
  for (std::uint64_t i = 0; i < names; ++i) code.names.push_back(in.text());
  std::uint64_t images = in.count(32);
  for (std::uint64_t i = 0; i < images; ++i) code.images.push_back(take_image(in));
  std::uint64_t kernels = in.count(4);
  for (std::uint64_t i = 0; i < kernels; ++i) {
    code.kernels.push_back(in.take<std::uint32_t>());
    if (code.kernels.back() >= names) throw Unreadable(field, std::nullopt, "names no kernel");
  }
  take_containers(in, code);
  std::uint64_t problems = std::min(in.count(17), most_problems);
  for (std::uint64_t i = 0; i < problems; ++i) {
    Problem& problem = code.problems.emplace_back();
    bool placed = in.take<std::uint8_t>() != 0;
    auto offset = in.take<std::uint64_t>();
    if (placed) problem.offset = offset;
    problem.field = in.text();
    problem.reason = in.text();
  }
  return code;
}

}  // namespace wheelvet
