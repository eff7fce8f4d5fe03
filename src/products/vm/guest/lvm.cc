#include "vm/guest/lvm.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/text.h"
#include "base/units.h"

namespace gpuready::vm {
namespace {

constexpr std::size_t kSector = 512, kLabelSectors = 4, kUuidBytes = 32, kMostAreas = 15;
constexpr std::uint64_t kMostMetadata = 16 * MiB;
constexpr std::uint64_t kMostSectors = std::uint64_t{1} << 50;  // of anything: no sum overflows
constexpr int kDeepest = 8;

std::unexpected<Error> damaged(std::string what) {
  return fail(ErrorKind::bad_input, "LVM metadata: " + std::move(what));
}

// CRC-32 with a start of LVM's own and no final inversion.
std::uint32_t checksum(Bytes bytes) {
  std::uint32_t sum = 0xf597a6cf;
  for (const auto byte : bytes) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320 : 0);
  }
  return sum;
}

// A section of the text: values (a single one is a list of one) and sections, in order.
struct Section {
  std::string name;
  std::map<std::string, std::vector<std::string>, std::less<>> values;
  std::vector<Section> sections;

  const Section* section(std::string_view wanted) const {
    const auto found = std::ranges::find(sections, wanted, &Section::name);
    return found == sections.end() ? nullptr : &*found;
  }
  std::string text(std::string_view key) const {
    const auto found = values.find(key);
    return found != values.end() && found->second.size() == 1 ? found->second[0] : std::string();
  }
  bool lists(std::string_view key, std::string_view item) const {
    const auto found = values.find(key);
    return found != values.end() && std::ranges::count(found->second, item) != 0;
  }
  std::optional<std::uint64_t> number(std::string_view key) const {
    const auto value = parse_uint(text(key));
    return value && *value <= kMostSectors ? value : std::nullopt;
  }
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Section> section(int depth) {
    Section out;
    while (true) {
      const auto next = peek();
      if (next == '\0' && depth == 0) return out;
      if (next == '}' && depth > 0) {
        ++at_;
        return out;
      }
      auto name = word();
      if (name.empty()) return damaged(fmt::format("no name at byte {}", at_));
      if (take('=')) {
        out.values[name] = TRY(value());
      } else if (take('{') && depth < kDeepest) {
        out.sections.push_back(TRY(section(depth + 1)));
        out.sections.back().name = std::move(name);
      } else {
        return damaged(fmt::format("neither a value nor a section at byte {}", at_));
      }
    }
  }

 private:
  // The next character that is not white space or in a comment; NUL at the end.
  char peek() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        ++at_;
      else
        return c;
    }
    return '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  // What names, numbers and types consist of.
  std::string word() {
    peek();
    constexpr std::string_view kCharacters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+_.-";
    const auto end = std::min(text_.find_first_not_of(kCharacters, at_), text_.size());
    const auto start = std::exchange(at_, end);
    return std::string(text_.substr(start, end - start));
  }
  Result<std::string> item() {
    if (!take('"')) {
      auto number = word();
      if (number.empty()) return damaged(fmt::format("no value at byte {}", at_));
      return number;
    }
    std::string out;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return out;
      }
      if (text_[at_] == '\\' && ++at_ == text_.size()) break;
      out += text_[at_];
    }
    return damaged("a text without an end");
  }
  Result<std::vector<std::string>> value() {
    std::vector<std::string> items;
    const bool list = take('[');
    if (list && take(']')) return items;
    do items.push_back(TRY(item()));
    while (list && take(','));
    if (list && !take(']')) return damaged(fmt::format("a list without an end at byte {}", at_));
    return items;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// "9LBcEB-7PQT-...", without its hyphens.
Result<std::string> uuid_of(const Section& section) {
  auto id = section.text("id");
  std::erase(id, '-');
  if (id.size() != kUuidBytes) return damaged("an id that is not a UUID");
  return id;
}

struct DiskOfGroup {
  std::string uuid;
  std::uint64_t start_sector, extents;
  bool missing;
};
using Disks = std::map<std::string, DiskOfGroup, std::less<>>;

Result<Disks> disks_of(const Section& group, std::uint64_t extent_sectors) {
  Disks disks;
  const auto* list = group.section("physical_volumes");
  if (list == nullptr) return damaged("no physical volumes");
  for (const auto& disk : list->sections) {
    const auto start = disk.number("pe_start"), extents = disk.number("pe_count");
    if (!start || !extents || *extents > kMostSectors / extent_sectors)
      return damaged(disk.name + " has no pe_start or pe_count");
    disks[disk.name] = {TRY(uuid_of(disk)), *start, *extents, disk.lists("flags", "MISSING")};
  }
  return disks;
}

// Adds the segment to the volume, or says in `refused` why it cannot.
Result<void> add_segment(const Section& segment, const Disks& disks, std::uint64_t extent_sectors,
                         std::uint64_t& next_extent, LvmVolume& volume) {
  const auto start = segment.number("start_extent"), count = segment.number("extent_count");
  if (!start || !count || *start != next_extent || *count == 0)
    return damaged("the segments of " + volume.name + " have gaps");
  next_extent += *count;
  const auto type = segment.text("type");
  const auto stripes = segment.values.find("stripes");
  if (type != "striped" && type != "linear") {
    volume.refused = "is of type " + type;
  } else if (segment.number("stripe_count") != 1) {
    volume.refused = "is striped over several disks";
  } else if (stripes == segment.values.end() || stripes->second.size() != 2) {
    return damaged(volume.name + " has a segment without its place");
  } else if (const auto disk = disks.find(stripes->second[0]); disk == disks.end()) {
    volume.refused = "is partly on " + stripes->second[0] + ", which is not a disk (a pvmove?)";
  } else if (disk->second.missing) {
    volume.refused = "lacks a disk: LVM has marked " + disk->first + " as missing";
  } else {
    const auto first = parse_uint(stripes->second[1]);
    if (!first || *first > disk->second.extents || *count > disk->second.extents - *first)
      return damaged(volume.name + " has a segment behind the end of " + disk->first);
    volume.segments.push_back({disk->second.uuid, *count * extent_sectors,
                               disk->second.start_sector + *first * extent_sectors});
  }
  return {};
}

Result<LvmVolume> volume_of(const Section& section, const Disks& disks,
                            std::uint64_t extent_sectors) {
  const auto& name = section.name;
  LvmVolume volume;
  volume.name = name;
  volume.uuid = TRY(uuid_of(section));
  volume.visible = section.lists("status", "VISIBLE");
  volume.read_only = !section.lists("status", "WRITE");
  std::uint64_t next_extent = 0, number = 0;
  for (const auto& segment : section.sections) {
    if (segment.name != fmt::format("segment{}", ++number))
      return damaged(fmt::format("{} has no segment {}", name, number));
    TRY(add_segment(segment, disks, extent_sectors, next_extent, volume));
    if (next_extent > kMostSectors / extent_sectors) return damaged(name + " is too large");
  }
  if (number == 0 || section.number("segment_count") != number)
    return damaged(name + " does not have segment_count segments");
  return volume;
}

// A write to the origin of a snapshot that does not go through LVM's target would damage the
// snapshot.
void refuse_origins(const Section& volumes, LvmGroup& group) {
  for (const auto& volume : volumes.sections)
    for (const auto& segment : volume.sections)
      if (segment.text("type") == "snapshot")
        for (auto& other : group.volumes)
          if (segment.text("origin") == other.name) other.refused = "has a snapshot";
}

// The text of a metadata area, which is a ring behind a header of one sector.
Result<std::string> read_area(const ReadDisk& read, std::uint64_t start, std::uint64_t size) {
  constexpr std::string_view kMagic = " LVM2 x[5A%r0N*>";
  constexpr std::uint32_t kIgnored = 1;
  const auto header = read(start, kSector);
  const Bytes bytes = header;
  if (bytes.size() != kSector || text_of(slice(bytes, 4, kMagic.size())) != kMagic ||
      load<std::uint32_t>(bytes, 0) != checksum(bytes.subspan(4)) ||
      load<std::uint32_t>(bytes, 20) != 1 || load<std::uint64_t>(bytes, 24) != start)
    return damaged(fmt::format("the header at byte {} is damaged", start));
  size = std::min(size, load<std::uint64_t>(bytes, 32).value_or(0));
  const auto offset = load<std::uint64_t>(bytes, 40).value_or(0);
  const auto length = load<std::uint64_t>(bytes, 48).value_or(0);
  if (offset == 0 || (load<std::uint32_t>(bytes, 60).value_or(0) & kIgnored) != 0)
    return std::string();
  if (size <= kSector || offset < kSector || offset >= size || length == 0 ||
      length > std::min(size - kSector, kMostMetadata))
    return damaged(fmt::format("the header at byte {} leads out of its area", start));
  const auto before_end = std::min(length, size - offset);
  auto text = read(start + offset, before_end);
  const auto rest = read(start + kSector, length - before_end);
  text.insert(text.end(), rest.begin(), rest.end());
  if (text.size() != length || load<std::uint32_t>(bytes, 56) != checksum(text))
    return damaged("its checksum is wrong");
  return std::string(trim(text_of(text)));  // ends with a NUL
}

}  // namespace

Result<LvmGroup> parse_lvm_metadata(std::string_view text) {
  const auto all = TRY(Parser(text).section(0));
  if (all.text("contents") != "Text Format Volume Group" || all.number("version") != 1 ||
      all.sections.size() != 1)
    return damaged("not a volume group of version 1");
  const auto& section = all.sections[0];
  const auto version = section.number("seqno"), extent_sectors = section.number("extent_size");
  if (!version || !extent_sectors || *extent_sectors == 0)
    return damaged("no seqno or extent_size");
  LvmGroup group{section.name, TRY(uuid_of(section)), *version, {}};
  const auto disks = TRY(disks_of(section, *extent_sectors));
  const auto* volumes = section.section("logical_volumes");
  if (volumes == nullptr) return group;
  for (const auto& volume : volumes->sections)
    group.volumes.push_back(TRY(volume_of(volume, disks, *extent_sectors)));
  refuse_origins(*volumes, group);
  if (section.lists("status", "EXPORTED"))
    for (auto& volume : group.volumes) volume.refused = "is in an exported group";
  return group;
}

std::optional<LvmDisk> read_lvm_disk(const ReadDisk& read) {
  const auto start = read(0, kLabelSectors * kSector);
  for (std::size_t sector = 0; sector < kLabelSectors; ++sector) {
    const auto label = whole_slice(start, sector * kSector, kSector);
    if (!starts_with(label, "LABELONE") || text_of(slice(label, 24, 8)) != "LVM2 001") continue;
    if (load<std::uint64_t>(label, 8) != sector ||
        load<std::uint32_t>(label, 16) != checksum(label.subspan(20)))
      continue;
    const auto header = slice(label, load<std::uint32_t>(label, 20).value_or(0), kSector);
    LvmDisk disk;
    disk.uuid = text_of(slice(header, 0, kUuidBytes));
    // Two lists of places, each with an end of zeros: of data, and of metadata.
    std::size_t at = kUuidBytes + 8;
    for (int list = 0; list < 2; ++list)
      for (std::size_t count = 0; count < kMostAreas; ++count, at += 16) {
        const auto offset = load<std::uint64_t>(header, at),
                   size = load<std::uint64_t>(header, at + 8);
        if (!offset || !size || *offset == 0) {
          at += 16;
          break;
        }
        if (list == 0 || *offset > kMostSectors * kSector) continue;
        const auto text = read_area(read, *offset, *size);
        if (text && text->empty()) continue;
        auto group = text ? parse_lvm_metadata(*text) : std::unexpected(text.error());
        if (!group)
          disk.problem = group.error().message;
        else if (!disk.group || disk.group->version < group->version)
          disk.group = std::move(*group);
      }
    return disk;
  }
  return std::nullopt;
}

std::string lvm_map_name(const LvmGroup& group, const LvmVolume& volume) {
  std::string out;
  for (const char c : group.name) out += c == '-' ? "--" : std::string(1, c);
  out += '-';
  for (const char c : volume.name) out += c == '-' ? "--" : std::string(1, c);
  return out;
}

}  // namespace gpuready::vm
