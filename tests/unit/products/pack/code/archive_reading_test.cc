// Archives from front to back: each member with its content, and what is wrong with those that
// cannot be read, without hindering the rest.
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>

#include "host/recording/tar_writer.h"
#include "pack/code/archive.h"
#include "unit/products/pack/code/fixtures.h"

namespace gpuready::pack {
namespace {

using namespace fixture;

// "name size: content", or what it is in place of a file; "! member: fault"; at last why it ended.
// `piece`: bytes that come at a time.
using Reader = Result<void> (*)(Source&, const ArchiveReading&);
std::string heard(Reader reader, const Data& archive, const std::string& name = "x",
                  std::size_t piece = 4096) {
  std::string text;
  StreamSource source(
      [&, at = std::size_t{0}](std::span<std::uint8_t> to) mutable -> Result<std::size_t> {
        const auto size = std::min({to.size(), piece, archive.size() - at});
        std::copy_n(archive.begin() + static_cast<std::ptrdiff_t>(at), size, to.begin());
        at += size;
        return size;
      });
  const ArchiveReading reading{
      .name = name,
      .on_member = [&](const Member& member, const StreamSource::Read& read) -> Result<void> {
        text += member.name + (member.executable ? " executable" : "");
        if (member.kind == Member::Kind::folder) text += " folder";
        if (member.kind == Member::Kind::device) text += " device";
        if (member.kind == Member::Kind::link)
          text += " link [" + member.symbolic_link + "] [" + member.hard_link + "]";
        if (member.kind == Member::Kind::file) {
          text += " " + (member.size ? std::to_string(*member.size) : "?") + ": ";
          std::uint8_t bytes[7];
          for (auto got = read(bytes); !got || *got > 0; got = read(bytes)) {
            if (!got) text += "(" + got.error().message + ")";
            if (!got) break;
            text.append(bytes, bytes + *got);
          }
        }
        text += "\n";
        return {};
      },
      .on_fault = [&](const std::string& member,
                      const std::string& fault) { text += "! " + member + ": " + fault + "\n"; }};
  if (const auto done = reader(source, reading); !done) text += "end: " + done.error().message;
  return text;
}

// ---- zip
constexpr std::uint16_t kStored = 0, kDeflate = 8, kLzma = 14, kZstd = 93, kXz = 95;
constexpr std::uint16_t kEncrypted = 1, kSizesFollow = 8;
constexpr std::uint32_t kAll = UINT32_MAX;

struct ZipMember {
  std::string name;
  std::string content = {};
  std::uint16_t method = kStored, flags = 0;
  std::optional<Data> packed = {};                                       // else the content
  std::optional<std::uint32_t> crc = {}, packed_bytes = {}, bytes = {};  // that are written
  Data extra = {}, descriptor = {};
};
Data local(const ZipMember& member) {
  const Data packed = member.packed.value_or(raw(member.content));
  const auto content = raw(member.content);
  const auto crc = static_cast<std::uint32_t>(crc32_z(0, content.data(), content.size()));
  Data out(30);
  put(out, 0, std::uint32_t{0x04034b50});
  put(out, 6, member.flags);
  put(out, 8, member.method);
  put(out, 14, member.crc.value_or(crc));
  put(out, 18, member.packed_bytes.value_or(static_cast<std::uint32_t>(packed.size())));
  put(out, 22, member.bytes.value_or(static_cast<std::uint32_t>(content.size())));
  put(out, 26, static_cast<std::uint16_t>(member.name.size()));
  put(out, 28, static_cast<std::uint16_t>(member.extra.size()));
  for (const auto& part : {raw(member.name), member.extra, packed, member.descriptor})
    append(out, part);
  return out;
}
Data listed(const std::vector<std::string>& names) {
  Data out;
  for (const auto& name : names) {
    Data one(46);
    put(one, 0, std::uint32_t{0x02014b50});
    put(one, 28, static_cast<std::uint16_t>(name.size()));
    put(one, 30, std::uint16_t{2});
    put(one, 32, std::uint16_t{3});
    append(one, raw(name + "extra"));
    append(out, one);
  }
  Data end(22);
  put(end, 0, std::uint32_t{0x06054b50});
  append(out, end);
  return out;
}
Data joined(const std::vector<Data>& parts) {
  Data out;
  for (const auto& part : parts) append(out, part);
  return out;
}
// This member and a sound one behind it, which is read in any case.
std::string heard_of(const ZipMember& member) {
  const std::string next = "next 4: text\n";
  const auto text = heard(
      read_zip, joined({local(member), local({"next", "text"}), listed({member.name, "next"})}));
  EXPECT_TRUE(text.ends_with(next)) << text;
  return text.substr(0, text.size() - std::min(text.size(), next.size()));
}

Data deflated(std::string_view text) {
  Data out(compressBound(text.size()));
  auto size = static_cast<uLongf>(out.size());
  compress(out.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  return {out.begin() + 2, out.begin() + static_cast<std::ptrdiff_t>(size) - 4};  // without zlib's
}
Data xz(std::string_view text) {
  Data out(lzma_stream_buffer_bound(text.size()));
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    out.data(), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}
// Behind a version, the size of the properties, and these.
Data lzma(std::string_view text) {
  lzma_options_lzma options;
  lzma_lzma_preset(&options, 1);
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA1, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  Data out(9 + 1000 + 2 * text.size());
  put(out, 2, std::uint16_t{5});
  EXPECT_EQ(lzma_properties_encode(filters, out.data() + 4), LZMA_OK);
  std::size_t size = 9;
  EXPECT_EQ(
      lzma_raw_buffer_encode(filters, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                             text.size(), out.data(), &size, out.size()),
      LZMA_OK);
  out.resize(size);
  return out;
}

TEST(ReadZip, UnpacksEachMethodThatItKnows) {
  const std::string text = "a text, a text, and a text once more";
  for (const auto& [method, packed] : {std::pair{kStored, raw(text)},
                                       {kDeflate, deflated(text)},
                                       {kLzma, lzma(text)},
                                       {kZstd, zstd(raw(text))},
                                       {kXz, xz(text)}}) {
    const ZipMember member{"a", text, method, 0, packed};
    EXPECT_EQ(heard_of(member), "a 36: " + text + "\n") << method;
    EXPECT_EQ(heard(read_zip, joined({local(member), listed({"a"})}), "x", 1),
              "a 36: " + text + "\n")
        << method;
    EXPECT_EQ(heard_of({"a", "", method, 0, method == kStored ? Data() : packed, {}, {}, {}}),
              method == kStored ? "a 0: \n" : "a 0: (it holds more bytes than the archive says)\n");
  }
}

TEST(ReadZip, NamesTheMethodsThatItDoesNotRead) {
  for (const auto& [method, name] : {std::pair<std::uint16_t, const char*>{1, "shrink"},
                                     {6, "implode"},
                                     {7, "method 7"},
                                     {9, "Deflate64"},
                                     {12, "bzip2"},
                                     {97, "method 97"},
                                     {98, "PPMd"},
                                     {99, "encryption"}})
    EXPECT_EQ(heard_of({"a", "text", method}),
              fmt::format("! a: it is packed by {}, which is not read\n", name));
  EXPECT_EQ(heard_of({"a", "text", kStored, kEncrypted}), "! a: it is encrypted\n");
  EXPECT_EQ(heard_of({"a", "text", 12, kEncrypted}), "! a: it is encrypted\n");
  // Where it ends is not known either.
  EXPECT_EQ(heard_of({"a", "text", kDeflate, kEncrypted | kSizesFollow}), "! a: it is encrypted\n");
  EXPECT_EQ(heard_of({"a", "text", kStored, kSizesFollow}),
            "! a: the archive does not declare its size before its bytes: pack it again\n");
}

// A checksum and two sizes, of 32 or 64 bits, behind a mark or without one.
TEST(ReadZip, SizesMayFollowTheBytes) {
  const auto follow = [](const std::string& text, int bits, bool mark, bool zip64, int more_crc = 0,
                         int more_bytes = 0) {
    const auto content = raw(text), packed = deflated(text);
    Data sums;
    if (mark) put(sums, 0, std::uint32_t{0x08074b50});
    put(sums, sums.size(),
        static_cast<std::uint32_t>(crc32_z(0, content.data(), content.size())) +
            static_cast<std::uint32_t>(more_crc));
    for (const auto size : {packed.size(), content.size() + static_cast<std::size_t>(more_bytes)})
      if (bits == 32)
        put(sums, sums.size(), static_cast<std::uint32_t>(size));
      else
        put(sums, sums.size(), std::uint64_t{size});
    return ZipMember{.name = "a",
                     .content = text,
                     .method = kDeflate,
                     .flags = kSizesFollow,
                     .packed = packed,
                     .crc = 0,
                     .packed_bytes = 0,
                     .bytes = 0,
                     .extra = zip64 ? Data{1, 0, 0, 0} : Data(),
                     .descriptor = sums};
  };
  for (const bool mark : {true, false}) {
    EXPECT_EQ(heard_of(follow("some text", 32, mark, false)), "a ?: some text\n");
    EXPECT_EQ(heard_of(follow("some text", 64, mark, true)), "a ?: some text\n");
    EXPECT_EQ(heard_of(follow("some text", 64, mark, false)), "a ?: some text\n");
    EXPECT_EQ(heard_of(follow("", 32, mark, false)), "a ?: \n");
    EXPECT_EQ(heard_of(follow("", 64, mark, true)), "a ?: \n");
    const auto wrong_crc = heard_of(follow("text", 64, mark, true, 1));
    EXPECT_TRUE(wrong_crc.ends_with("(its checksum is not the one that the archive says)\n"))
        << wrong_crc;
    const auto wrong_size = heard_of(follow("text", 64, mark, true, 0, 1));
    EXPECT_TRUE(wrong_size.ends_with("(its size is not the one that the archive says)\n"))
        << wrong_size;
  }
  auto cut = local(follow("text", 32, true, false));
  cut.pop_back();
  EXPECT_EQ(heard(read_zip, cut),
            "a ?: (the archive is cut short)\n"
            "end: the archive is cut short: its directory is missing");
  EXPECT_EQ(heard_of({"a", "text", kDeflate, kSizesFollow, Data{0xff, 0xff, 0xff}}),
            "a ?: (its packed bytes are damaged)\n");
}

// Sizes that do not fit 32 bits are in a field of their own, only those that need it.
TEST(ReadZip, LargeSizesAreInTheExtraFields) {
  const auto extra = [](std::uint16_t id, const std::vector<std::uint64_t>& sizes) {
    Data out(4);
    put(out, 0, id);
    put(out, 2, static_cast<std::uint16_t>(8 * sizes.size()));
    for (const auto size : sizes) put(out, out.size(), size);
    return out;
  };
  const auto with = [&](std::optional<std::uint32_t> packed, std::optional<std::uint32_t> bytes,
                        const Data& fields) {
    return heard_of({"a", "text", kDeflate, 0, deflated("text"), {}, packed, bytes, fields});
  };
  const auto size = deflated("text").size();
  EXPECT_EQ(with(kAll, kAll, extra(1, {4, size})), "a 4: text\n");
  EXPECT_EQ(with(kAll, {}, extra(1, {size})), "a 4: text\n");
  EXPECT_EQ(with({}, kAll, extra(1, {4})), "a 4: text\n");
  EXPECT_EQ(with({}, {}, extra(1, {9, 9})), "a 4: text\n");
  EXPECT_EQ(with(kAll, kAll, joined({{2, 0, 3, 0, 7, 7, 7}, extra(1, {4, size})})), "a 4: text\n");
  EXPECT_EQ(with({}, kAll, extra(2, {4})),
            "a 4294967295: (its size is not the one that the archive says)\n");
}

TEST(ReadZip, ASizeOrChecksumThatIsWrongIsSaid) {
  const auto packed = deflated("text");
  const std::string size = "a 5: (its size is not the one that the archive says)\n",
                    early = "(its packed bytes end too early)\n";
  EXPECT_EQ(heard_of({"a", "text", kDeflate, 0, packed, 1}),
            "a 4: (its checksum is not the one that the archive says)\n");
  EXPECT_EQ(heard_of({"a", "text", kStored, 0, {}, 1}),
            "a 4: (its checksum is not the one that the archive says)\n");
  EXPECT_EQ(heard_of({"a", "text", kDeflate, 0, packed, {}, {}, 5}), size);
  EXPECT_EQ(heard_of({"a", "text", kStored, 0, {}, {}, {}, 5}), size);
  for (const auto& [method, bytes] : {std::pair{kDeflate, packed},
                                      {kStored, raw("text")},
                                      {kLzma, lzma("text")},
                                      {kZstd, zstd(raw("text"))}})
    EXPECT_EQ(heard_of({"a", "text", method, 0, bytes, {}, {}, 3}),
              "a 3: (it holds more bytes than the archive says)\n")
        << method;
  EXPECT_EQ(heard_of({"a", "text", kDeflate, 0, Data(packed.begin(), packed.begin() + 1)}),
            "a 4: " + early);
}

// Other writers leave out the mark at its end.
TEST(ReadZip, LzmaMayEndWithoutAMark) {
  const Data packed = {0,    0,    5,    0,    0x5d, 0x00, 0x00, 0x10, 0x00,
                       0x00, 0x3a, 0x19, 0x4b, 0x78, 0x0e, 0xf1, 0xda, 0x00};
  EXPECT_EQ(heard_of({"a", "text", kLzma, 0, packed}), "a 4: text\n");
  EXPECT_EQ(heard_of({"a", "text", kLzma, 0, packed, 1}),
            "a 4: (its checksum is not the one that the archive says)\n");
  EXPECT_EQ(heard_of({"a", "text", kLzma, 0, packed, {}, {}, 5}),
            "a 5: text(its packed bytes end too early)\n");
}

TEST(ReadZip, DamagedBytesOfEachMethodAreSaid) {
  auto properties = lzma("text");
  properties[2] = 4;
  for (const auto& [method, bytes] : {std::pair{kDeflate, Data(9, 0xff)},
                                      {kZstd, Data(9, 0xff)},
                                      {kXz, Data(20, 0xff)},
                                      {kLzma, Data(20, 0xff)},
                                      {kLzma, properties}})
    EXPECT_EQ(heard_of({"a", "text", method, 0, bytes}), "a 4: (its packed bytes are damaged)\n")
        << method;
}

TEST(ReadZip, AFolderIsPassedOver) {
  EXPECT_EQ(heard_of({"d/"}), "d/ folder\n");
  EXPECT_EQ(heard_of({"d/", "text"}), "d/ folder\n");
  auto sums = Data(4);
  put(sums, 4, static_cast<std::uint32_t>(deflated("").size()));
  put(sums, 8, std::uint32_t{0});
  EXPECT_EQ(heard_of({"d/", "", kDeflate, kSizesFollow, deflated(""), {}, 0, 0, {}, sums}),
            "d/ folder\n");
}

TEST(ReadZip, TheDirectoryNamesEveryMemberAndNoOther) {
  const auto a = local({"a", "text"}), b = local({"b", "text"});
  const std::string both = "a 4: text\nb 4: text\n";
  EXPECT_EQ(heard(read_zip, joined({a, b, listed({"b", "a"})})), both);
  EXPECT_EQ(heard(read_zip, joined({a, b, listed({"a"})})),
            both + "! b: the archive's directory does not name it: programs do not see it\n");
  EXPECT_EQ(heard(read_zip, joined({a, b, listed({"a", "b", "c"})})),
            both + "! c: the archive's directory names it, but it is missing\n");
  EXPECT_EQ(heard(read_zip, listed({})), "");
  // Records of large archives before the end.
  Data end64(56), locator(20);
  put(end64, 0, std::uint32_t{0x06064b50});
  put(locator, 0, std::uint32_t{0x07064b50});
  EXPECT_EQ(heard(read_zip, joined({end64, locator, listed({})})), "");
}

// Wherever the next header lies, also across what is read at a time.
TEST(ReadZip, ReadsOnBehindBytesThatBelongToNoMember) {
  const auto a = local({"a", "text"}), b = local({"b", "text"});
  const auto said = fmt::format("a 4: text\n! : bytes from {} on belong to no member\n", a.size());
  for (const std::size_t bytes :
       {1u, 3u, 4u, 5u, 262'140u, 262'141u, 262'142u, 262'143u, 262'144u}) {
    const Data other(bytes, 'P');
    const auto read = [](const Data& archive) { return heard(read_zip, archive, "x", 1); };
    EXPECT_EQ(read(joined({a, other, b, listed({"a", "b"})})), said + "b 4: text\n") << bytes;
    EXPECT_EQ(read(joined({a, other, listed({"a"})})), said) << bytes;
    EXPECT_EQ(read(joined({a, other, listed({})})),
              said + "! a: the archive's directory does not name it: programs do not see it\n")
        << bytes;
    EXPECT_EQ(read(joined({a, Data(bytes + 3, 'P')})),
              said + "end: the archive is cut short: its directory is missing")
        << bytes;
  }
}

TEST(ReadZip, OneThatIsCutAnywhereSaysSo) {
  const auto whole = joined({local({"a", "text", kDeflate, 0, deflated("text")}),
                             local({"b", "text"}), listed({"a", "b"})});
  for (std::size_t size = 0; size < whole.size() - 22 + 4; ++size) {
    const Data cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto text = heard(read_zip, cut);
    EXPECT_TRUE(text.ends_with("end: the archive is cut short: its directory is missing"))
        << size << ": " << text;
  }
}

// ---- tar, and single packed files
Data tar(const std::vector<std::pair<TarEntry, std::string>>& entries) {
  std::string text;
  for (const auto& [entry, content] : entries) {
    auto sized = entry;
    sized.size_bytes = content.size();
    text += tar_header(sized) + content + std::string(tar_padding(content.size()), '\0');
  }
  append_tar_end(text);
  return raw(text);
}
Data gzip(const Data& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Data out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(ReadPacked, MembersOfATarAreFilesLinksFoldersOrDevices) {
  const auto archive = tar({{{.name = "a"}, "text"},
                            {{.name = "./b/c"}, ""},
                            {{.name = "user", .mode = 0744}, "1"},
                            {{.name = "others", .mode = 0645}, "2"},
                            {{.name = "soft", .link = "to/a"}, ""},
                            {{.name = "hard", .link = "a", .type = '1'}, ""},
                            {{.name = "folder", .mode = 0755, .type = '5'}, ""},
                            {{.name = "null", .type = '3'}, ""},
                            {{.name = "disk", .type = '4'}, ""},
                            {{.name = "pipe", .type = '6'}, ""}});
  const std::string all =
      "a 4: text\n"
      "b/c 0: \n"
      "user executable 1: 1\n"
      "others executable 1: 2\n"
      "soft link [to/a] []\n"
      "hard link [] [a]\n"
      "folder executable folder\n"
      "null device\n"
      "disk device\n"
      "pipe device\n";
  EXPECT_EQ(heard(read_packed, archive), all);
  for (const std::size_t piece : {1u, 1000u, 1u << 20})
    for (const auto& packed : {gzip(archive), zstd(archive), xz(text_of(archive))})
      EXPECT_EQ(heard(read_packed, packed, "x", piece), all) << piece;
}

TEST(ReadPacked, ATarThatIsCutSaysSo) {
  const std::string content(100'000, 'x');
  auto archive = tar({{{.name = "a"}, content}});
  archive.resize(50'000);
  const auto text = heard(read_packed, archive);
  EXPECT_TRUE(text.contains("(Truncated tar archive")) << text.substr(text.find_last_of('x'));
  EXPECT_TRUE(text.ends_with("\nend: the rest cannot be read")) << text;
  auto header = tar({{{.name = "a"}, "text"}, {{.name = "b"}, "text"}});
  header.resize(2 * kTarBlock + 300);
  const auto ended = heard(read_packed, header);
  EXPECT_TRUE(ended.starts_with("a 4: text\nend: Truncated tar archive")) << ended;
}

// gzip's sum and size are behind the content, which tar ends before.
TEST(ReadPacked, WhatGzipFindsWrongIsSaid) {
  const auto archive = tar({{{.name = "a"}, "text"}});
  const auto packed = gzip(archive);
  const std::string read = "a 4: text\n";
  for (const auto& [from_end, what] :
       {std::pair{8, "incorrect data check"}, {4, "incorrect length check"}}) {
    auto wrong = packed;
    wrong.at(wrong.size() - static_cast<std::size_t>(from_end)) ^= 1;
    EXPECT_EQ(heard(read_packed, wrong),
              read + fmt::format("end: gzip finds it damaged ({}): fetch it again", what));
  }
  auto cut = packed;
  cut.resize(cut.size() - 1);
  EXPECT_EQ(heard(read_packed, cut), read + "end: it is cut short");
  // Several one after the other are one file; what follows them is not a part of it.
  const auto half = static_cast<std::ptrdiff_t>(archive.size() / 2);
  const auto first = gzip({archive.begin(), archive.begin() + half}),
             second = gzip({archive.begin() + half, archive.end()});
  EXPECT_EQ(heard(read_packed, joined({first, second})), read);
  EXPECT_EQ(heard(read_packed, joined({first, second, Data(100)})), read);
}

TEST(ReadPacked, ASinglePackedFileIsNamedByItsArchive) {
  for (const auto& [archive, member] : {std::pair{"x.fatbin.gz", "x.fatbin"},
                                        {"in/a.b/x.gz", "x"},
                                        {"a.tar!x.y.gz", "x.y"},
                                        {"x", "content"},
                                        {"in.d/x", "content"},
                                        {".gz", "content"}})
    EXPECT_EQ(heard(read_packed, gzip(raw("text")), archive), fmt::format("{} ?: text\n", member))
        << archive;
}

// ---- Debian's packages
std::string ar(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string text = "!<arch>\n";
  for (const auto& [name, content] : members)
    text += fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n{}{}", name, 0, 0, 0, "100644",
                        content.size(), content, content.size() % 2 == 0 ? "" : "\n");
  return text;
}

TEST(ReadDeb, MembersBeginAtEvenBytes) {
  const auto whole = ar({{"debian-binary", "2.0."}, {"odd/", "abc"}, {"last", "12"}});
  const std::string first = "debian-binary 4: 2.0.\n", odd = "odd 3: abc\n";
  EXPECT_EQ(heard(read_deb, raw(whole)), first + odd + "last 2: 12\n");
  EXPECT_EQ(heard(read_deb, raw(whole.substr(0, whole.size() - 1))),
            first + odd + "last 2: 1(the archive is cut short)\n");
  const std::string damaged = "end: it is damaged or cut short";
  const auto last = whole.size() - 62;
  EXPECT_EQ(heard(read_deb, raw(whole.substr(0, last + 59))), first + odd + damaged);
  EXPECT_EQ(heard(read_deb, raw(whole.substr(0, last + 1))), first + odd + damaged);
  EXPECT_EQ(heard(read_deb, raw(whole.substr(0, last))), first + odd);
  for (const auto& [at, byte] : {std::pair{48u, 'x'}, {58u, 'x'}, {59u, 'x'}}) {
    auto wrong = whole;
    wrong.at(last + at) = byte;
    EXPECT_EQ(heard(read_deb, raw(wrong)), first + odd + damaged) << at;
  }
}

// ---- which files are archives
TEST(ArchiveKinds, AreKnownByTheirFirstBytes) {
  using namespace std::string_view_literals;
  const auto kind = [](std::string_view bytes) { return archive_kind(raw(bytes)); };
  for (const auto bytes : {"PK\3\4"sv, "PK\5\6"sv}) EXPECT_EQ(kind(bytes), ArchiveKind::zip);
  for (const auto bytes : {"\x1f\x8b\x08"sv,
                           "\xfd"
                           "7zXZ\0"sv,
                           "\x28\xb5\x2f\xfd"sv, "\xed\xab\xee\xdb"sv, "070701"sv})
    EXPECT_EQ(kind(bytes), ArchiveKind::packed);
  EXPECT_EQ(kind("!<arch>\ndebian-binary   "), ArchiveKind::deb);
  EXPECT_EQ(kind("!<arch>\nx.o/            "), std::nullopt) << "a static library";
  for (const auto bytes : {"BZh"sv, "7z\xbc\xaf\x27\x1c"sv, "Rar!\x1a\x07"sv})
    EXPECT_EQ(kind(bytes), ArchiveKind::unread);
  for (const auto bytes : {""sv, "PK"sv, "PK\1\2"sv, "text"sv})
    EXPECT_EQ(kind(bytes), std::nullopt);

  const auto header = tar_header({.name = "a"});
  EXPECT_EQ(kind(header), ArchiveKind::packed);
  EXPECT_EQ(kind(header.substr(0, 511)), std::nullopt);
  for (const std::size_t at : {0u, 147u, 153u, 156u, 511u}) {
    auto changed = header;
    changed[at] ^= 1;
    EXPECT_EQ(kind(changed), std::nullopt) << at;
  }
  EXPECT_EQ(kind(std::string(512, '\0')), std::nullopt);
}

TEST(ArchiveKinds, NamesOfFoldersFilesThatAreOpened) {
  for (const char* name : {"x.whl", "x.zip", "x.tar.gz", "layer.tar", "in/x.conda", "x.deb",
                           "x.rpm", "blobs/sha256/0123", "a.tar!in.d/0123", "in.d/layer"})
    EXPECT_TRUE(is_archive_name(name)) << name;
  for (const char* name : {"x.so", "x.so.1", "zip.txt", "x.zip/x.so", "a.tar!x.so", "x.tar.txt"})
    EXPECT_FALSE(is_archive_name(name)) << name;
}

TEST(ArchiveKinds, AFileWithTheNameOfAnArchiveAndOtherBytesIsNamed) {
  const auto wrong = [](const char* path, std::string_view head) {
    return not_an_archive(path, raw(head));
  };
  const std::string begins = "it has the name of an archive, and ", again = ": fetch it again";
  EXPECT_EQ(wrong("x.whl", "text"), begins + "it does not begin as one" + again);
  EXPECT_EQ(wrong("x.whl", ""), begins + "it is empty" + again);
  EXPECT_EQ(wrong("x.whl", "<!DOCTYPE html><html>"), begins + "it is a web page" + again);
  EXPECT_EQ(wrong("x.whl", "PK\3\4"), "");
  EXPECT_EQ(wrong("x.so", "text"), "");
  EXPECT_EQ(wrong("layer", "text"), "");
  // An empty tar is nothing but zeros.
  const std::string zeros(512, '\0');
  EXPECT_EQ(wrong("x.tar", zeros), "");
  EXPECT_NE(wrong("x.tar", zeros.substr(1)), "");
  EXPECT_NE(wrong("x.zip", zeros), "");
  EXPECT_NE(wrong("x.tar", zeros.substr(1) + "x"), "");
}

}  // namespace
}  // namespace gpuready::pack
