// Large files of a server: fetched in pieces, each of which outlives the process.
#include "pack/store/fetch.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "pack/store/update.h"

#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

// A folder as a server that breaks off for good after some bytes.
class Far final : public Origin {
 public:
  explicit Far(std::unique_ptr<Origin> folder) : folder_(std::move(folder)) {}
  std::string where() const override { return folder_->where(); }
  unsigned parallel() const override { return 4; }
  Result<std::string> file(const std::string& name, std::size_t limit_bytes) override {
    return folder_->file(name, limit_bytes);
  }
  Result<void> whole(const std::string& name, const ByteSink& sink) override {
    return folder_->whole(name, sink);
  }
  Result<void> range(const std::string& name, std::uint64_t size_bytes, ByteRange range,
                     const ByteSink& sink) override {
    const Entered entered(*this);
    return folder_->range(name, size_bytes, range, [&](std::string_view bytes) -> Result<void> {
      for (; !bytes.empty(); bytes.remove_prefix(std::min(kWrite, bytes.size()))) {
        const auto now = bytes.substr(0, kWrite);
        if (served + now.size() > budget) return fail(ErrorKind::io, "the line is cut");
        served += now.size();
        if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        TRY(sink(now));
      }
      return {};
    });
  }

  static constexpr std::size_t kWrite = 64 << 10;
  std::atomic<std::uint64_t> served = 0;
  std::uint64_t budget = UINT64_MAX;
  bool is_slow = false;  // so that all connections come equally far
  // The first ranges wait until this many are read at once, or for long.
  unsigned meeting = 0;
  unsigned most_at_once = 0;

 private:
  struct Entered {
    explicit Entered(Far& far) : far_(far) {
      std::unique_lock lock(far_.mutex_);
      far_.most_at_once = std::max(far_.most_at_once, ++far_.at_once_);
      far_.changed_.notify_all();
      if (!far_.changed_.wait_for(lock, std::chrono::seconds(60),
                                  [&] { return far_.most_at_once >= far_.meeting; }))
        far_.meeting = 0;
    }
    ~Entered() {
      const std::lock_guard lock(far_.mutex_);
      --far_.at_once_;
    }
    Far& far_;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned at_once_ = 0;
  std::unique_ptr<Origin> folder_;
};

class Pieces : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(error_text(shop_.publish("1.0", {{"cpu", kFiles}})), "");
    open_far();
    manifest_ = read_release(*shop_.host, *far_, shop_.trusted, "")->manifest;
    ASSERT_TRUE(store_.open());
  }
  void open_far() { far_.emplace(open_origin(*shop_.host, shop_.root + "/release").value()); }
  Result<FetchOutcome> fetch(const FetchOptions& options = {}) {
    std::vector<const PackedFile*> missing;
    for (const auto& file : variant().files)
      if (!store_.has(file)) missing.push_back(&file);
    return fetch_files(*far_, variant(), missing, store_, options);
  }
  const Variant& variant() const { return manifest_.variants[0]; }
  std::uint64_t all_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& file : variant().files) sum += file.frame_bytes;
    for (const auto& pieces : variant().pieces) sum += pieces.index_bytes;
    return sum;
  }
  std::vector<std::string> kept() const {
    return shop_.host->list_directory(shop_.root + "/store/partial")
        .value_or(std::vector<std::string>());
  }
  void expect_all() const {
    for (const auto& file : variant().files)
      EXPECT_TRUE(read_text(store_.object_path(file)) == kFiles.at(file.path)) << file.path;
    EXPECT_EQ(kept(), std::vector<std::string>());
  }

  const Workshop::Files kFiles = {
      {"large", noise(10'000'000, 1)}, {"other", noise(5'000'000, 2)}, {"small", "hello"}};
  Workshop shop_;
  std::optional<Far> far_;
  Manifest manifest_;
  Store store_{*shop_.host, live_storage(), shop_.root + "/store"};
};

TEST_F(Pieces, NothingIsFetchedTwice) {
  for (const unsigned at_once : {1u, 4u}) {
    SCOPED_TRACE(at_once);
    std::filesystem::remove_all(shop_.root + "/store");
    ASSERT_TRUE(store_.open());
    far_->served = 0;
    for (const double part : {0.2, 0.5, 0.7}) {
      far_->budget = static_cast<std::uint64_t>(part * static_cast<double>(all_bytes()));
      EXPECT_NE(error_text(fetch({.at_once = at_once})), "");
      EXPECT_FALSE(kept().empty());
    }
    far_->budget = UINT64_MAX;
    ASSERT_EQ(error_text(fetch({.at_once = at_once})), "");
    // What a thread had in hand when another one failed.
    EXPECT_LE(far_->served, all_bytes() + (at_once - 1) * 3 * Far::kWrite);
    EXPECT_GE(far_->served, all_bytes());
    expect_all();
  }
}

TEST_F(Pieces, AKillCostsAtMost4MiB) {
  Workshop::Files files;
  for (unsigned i = 0; i < 8; ++i) files[fmt::format("medium{}", i)] = noise(4'000'000, i);
  for (unsigned i = 0; i < 30; ++i) files[fmt::format("small{:02}", i)] = noise(350'000, 100 + i);
  ASSERT_EQ(error_text(shop_.publish("1.1", {{"cpu", files}})), "");
  open_far();
  far_->is_slow = true;
  manifest_ = read_release(*shop_.host, *far_, shop_.trusted, "")->manifest;
  constexpr std::uint64_t kMost = 4u << 20;
  for (const double part : {0.3, 0.85}) {
    SCOPED_TRACE(part);
    std::filesystem::remove_all(shop_.root + "/store");
    ASSERT_TRUE(store_.open());
    far_->served = 0;
    far_->budget = static_cast<std::uint64_t>(part * static_cast<double>(all_bytes()));
    EXPECT_NE(error_text(fetch({.at_once = 8})), "");
    far_->budget = UINT64_MAX;
    ASSERT_EQ(error_text(fetch({.at_once = 8})), "");
    EXPECT_LE(far_->served, all_bytes() + kMost);
  }
}

// A loss of power may leave a piece of the right size with other bytes.
TEST_F(Pieces, APieceThatIsWrongIsFetchedAgain) {
  far_->budget = 9'000'000;
  EXPECT_NE(error_text(fetch({.at_once = 1})), "");
  ASSERT_FALSE(kept().empty());
  const auto path = shop_.root + "/store/partial/" + kept().front();
  auto bytes = read_text(path);
  bytes.at(bytes.size() / 2) ^= 1;
  write_text(path, bytes);
  far_->budget = UINT64_MAX;
  ASSERT_EQ(error_text(fetch()), "");
  expect_all();
}

TEST_F(Pieces, AsManyRangesAreReadAtOnceAsWanted) {
  for (const unsigned at_once : {1u, 2u, 3u, 0u}) {  // 0: as many as the origin says
    SCOPED_TRACE(at_once);
    std::filesystem::remove_all(shop_.root + "/store");
    ASSERT_TRUE(store_.open());
    const auto wanted = at_once > 0 ? at_once : far_->parallel();
    far_->meeting = wanted;
    far_->most_at_once = 0;
    ASSERT_EQ(error_text(fetch({.at_once = at_once})), "");
    EXPECT_EQ(far_->most_at_once, wanted);
    expect_all();
  }
}

TEST_F(Pieces, TheWholeDownloadHasALimit) {
  const auto late = fetch({.limit = std::chrono::seconds(0)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::timed_out);
  EXPECT_NE(late.error().message.find("did not end in 0 s"), std::string::npos);
}

// No later installation wants the pieces of a release that was given up.
TEST_F(Pieces, GarbageIsCollected) {
  far_->budget = 9'000'000;
  EXPECT_NE(error_text(fetch()), "");
  ASSERT_FALSE(kept().empty());
  ASSERT_TRUE(store_.remove_unused_objects());
  EXPECT_TRUE(kept().empty());
}

// Version 1.0 is installed; releases follow in the same folder, with their files of pieces.
class Updates : public Pieces {
 protected:
  void SetUp() override {
    Pieces::SetUp();
    ASSERT_EQ(error_text(fetch()), "");
    options_.old = variant();
  }
  // kPlaces insertions of kInserted bytes, and as many places where something was removed.
  std::string changed(std::string text, unsigned seed) {
    for (std::size_t i = 1; i <= kPlaces; ++i) {
      text.insert(i * 2'000'000, noise(kInserted, seed + i));
      text.erase(i * 2'000'000 + 1'000'000, 777);
    }
    return text;
  }
  void publish(const std::string& version, Workshop::Files files) {
    ASSERT_EQ(error_text(shop_.publish(version, {{"cpu", std::move(files)}})), "");
    open_far();
    manifest_ = read_release(*shop_.host, *far_, shop_.trusted, "")->manifest;
  }
  std::string pieces_path(const std::string& version) const {
    return shop_.root + "/release/libs-" + version + "-cpu.pieces";
  }
  void expect_object(const std::string& path, const std::string& text) const {
    EXPECT_TRUE(read_text(store_.object_path(*variant().find(path))) == text);
    EXPECT_EQ(kept(), std::vector<std::string>());
  }

  static constexpr std::size_t kPlaces = 4, kInserted = 500'000;
  static constexpr auto kChangedBytes = kPlaces * kInserted;
  const std::string kNew = changed(kFiles.at("large"), 100);
  FetchOptions options_{.at_once = 1};
};

TEST_F(Updates, FetchOnlyWhatChanged) {
  publish("1.1", {{"large.2", kNew}, {"other", kFiles.at("other")}});
  auto plan = options_;
  plan.only_plan = true;
  const auto planned = fetch(plan);
  ASSERT_TRUE(planned) << error_text(planned);
  far_->served = 0;
  const auto done = fetch(options_);
  ASSERT_TRUE(done) << error_text(done);
  expect_object("large.2", kNew);
  EXPECT_LE(done->fetched_bytes, kChangedBytes * 12 / 10);
  EXPECT_GE(done->fetched_bytes, kChangedBytes);
  EXPECT_EQ(done->fetched_bytes, far_->served);
  EXPECT_EQ(planned->to_fetch_bytes, done->to_fetch_bytes);
  EXPECT_LE(done->to_fetch_bytes, done->fetched_bytes);
}

TEST_F(Updates, GoOnAfterAKill) {
  publish("1.1", {{"large", kNew}});
  far_->budget = kChangedBytes * 6 / 10;
  EXPECT_NE(error_text(fetch(options_)), "");
  EXPECT_FALSE(kept().empty());
  far_->budget = UINT64_MAX;
  ASSERT_EQ(error_text(fetch(options_)), "");
  expect_object("large", kNew);
  EXPECT_LE(far_->served, kChangedBytes * 12 / 10);  // of both
}

TEST_F(Updates, ReachBackOverReleases) {
  const auto second = changed(kNew, 200);
  publish("1.1", {{"large", kNew}});
  publish("1.2", {{"large", second}});
  ASSERT_EQ(error_text(fetch(options_)), "");
  expect_object("large", second);
  EXPECT_LE(far_->served, 2 * kChangedBytes * 12 / 10);
  // A file that stayed costs the release nothing.
  publish("1.3", {{"large", second}});
  publish("1.4", {{"large", second}});
  publish("1.5", {{"large", second}});
  EXPECT_LT(std::filesystem::file_size(pieces_path("1.5")), 20'000u);
}

TEST_F(Updates, NeedNoFileOfPieces) {
  publish("1.1", {{"large", kNew}});
  const auto path = pieces_path("1.1");
  const auto whole = read_text(path);
  auto wrong_frame = whole, wrong_index = whole;
  wrong_frame.at(1'000'000) ^= 1;
  wrong_index.at(whole.size() - 100) ^= 1;
  for (const auto& text : {wrong_frame, wrong_index, std::string()}) {
    std::filesystem::remove(store_.object_path(*variant().find("large")));
    write_text(path, text);
    open_far();
    ASSERT_EQ(error_text(fetch(options_)), "");
    expect_object("large", kNew);
  }
  // A release of an older gpuready, or a store whose old file was damaged.
  std::filesystem::remove(store_.object_path(*variant().find("large")));
  write_text(path, whole);
  open_far();
  const auto old = store_.object_path(*options_.old->find("large"));
  std::filesystem::permissions(old, std::filesystem::perms::owner_all);
  write_text(old, std::string(read_text(old).size(), 'x'));
  ASSERT_EQ(error_text(fetch(options_)), "");
  expect_object("large", kNew);
}

// How installed files are cut is kept beside them. Without that, and where it is wrong or a file
// was changed since, they are cut again; if it lies, the whole file is fetched.
TEST_F(Updates, TrustNoKeptIndex) {
  const auto old = *options_.old->find("large");
  publish("1.1", {{"large", kNew}});
  const auto fetched = [&](PieceFile pieces) -> std::uint64_t {
    (void)std::filesystem::remove(store_.object_path(*variant().find("large")));
    options_.old->pieces = {std::move(pieces)};
    far_->served = 0;
    EXPECT_EQ(error_text(fetch(options_)), "");
    expect_object("large", kNew);
    return far_->served;
  };
  const auto keep = [&](const std::string& text) {
    const PieceFile pieces{"kept", text.size(), text.size(), to_hex(sha256(text))};
    write_text(store_.object_path(pieces.index()), text);
    return pieces;
  };
  const auto pieces = options_.old->pieces.front();
  const auto path = store_.object_path(pieces.index()), text = read_text(path);
  ASSERT_EQ(to_hex(sha256(text)), pieces.index_sha256);
  const auto usual = fetched(pieces);
  EXPECT_LE(usual, kChangedBytes * 12 / 10);
  for (const auto& other : {std::string(), text.substr(1), text + "x"}) {
    std::filesystem::remove(path);
    write_text(path, other);
    EXPECT_EQ(fetched(pieces), usual);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(fetched(pieces), usual);

  auto lies = parse_cut_index(text, pieces.size_bytes - pieces.index_bytes, "index").value();
  auto& runs = lies.at(*old.sha256);
  runs.front().cuts.front().bytes += 1;  // of more than the file
  EXPECT_EQ(fetched(keep(cut_index_text(lies))), usual);
  runs.front().cuts.front().bytes -= 1;
  std::ranges::reverse(runs.front().cuts);
  const auto lie = keep(cut_index_text(lies));
  EXPECT_GE(fetched(lie), variant().find("large")->frame_bytes);
  std::filesystem::last_write_time(store_.object_path(old),
                                   std::filesystem::file_time_type::clock::now());
  EXPECT_EQ(fetched(lie), usual);
}

// What the cuts are is part of the format: others would find no piece of an earlier release.
TEST(Cuts, AreThoseOfEveryRelease) {
  const auto text = noise(1'000'000, 7);
  std::vector<std::size_t> lengths;
  for (std::string_view rest = text; lengths.size() < 6; rest.remove_prefix(lengths.back()))
    lengths.push_back(cut_length(rest));
  EXPECT_EQ(lengths, (std::vector<std::size_t>{60171, 33919, 37374, 37914, 43437, 40070}));
  // Few end before the usual length.
  lengths.clear();
  for (const unsigned seed : {5u, 16u, 22u, 27u})
    lengths.push_back(cut_length(noise(140'000, seed)));
  EXPECT_EQ(lengths, (std::vector<std::size_t>{24506, 13133, 32025, 15111}));
}

TEST(Cuts, ATextWithoutAnIndexHasNoBytesOfOne) {
  const auto index = cut_index_text({});
  EXPECT_EQ(cut_index_bytes(index), index.size());
  EXPECT_EQ(cut_index_bytes("frames" + index), index.size());
  EXPECT_EQ(cut_index_bytes(""), 0u);
  EXPECT_EQ(cut_index_bytes("frames"), 0u);
  EXPECT_EQ(cut_index_bytes(index.substr(0, index.size() - 1)), 0u);
  EXPECT_EQ(cut_index_bytes(index.substr(1)), 0u) << "its length is more than the file's";
}

// SHA-256 of "hello": 2cf24dba5fb0a30e26e83b2ac5b9e29e...; numbers are little-endian.
TEST(Cuts, AnIndexHasTheSameBytesInEveryRelease) {
  using namespace std::string_literals;
  const auto zeros = [](std::size_t count) { return std::string(count, '\0'); };
  const std::string file(64, 'a'),
      digest = "\x2c\xf2\x4d\xba\x5f\xb0\xa3\x0e\x26\xe8\x3b\x2a\xc5\xb9\xe2\x9e"s;
  const auto text = file + "\1" + zeros(3) +             // one run:
                    "\7" + zeros(7) + "\3" + zeros(7) +  // a frame of 3 bytes at byte 7
                    "\1" + zeros(3) + digest + "\5" + zeros(3) + "\x84" + zeros(7) +
                    "gpuready pieces1";  // and its own length
  const CutIndex index = {{file, {{{cut_of("hello")}, 7, 3}}}};
  EXPECT_EQ(cut_index_text(index), text);
  const auto read = parse_cut_index(text, 10, "x");
  ASSERT_TRUE(read) << error_text(read);
  EXPECT_EQ(cut_index_text(*read), text);
  // Frames end before the index, in whole.
  EXPECT_FALSE(parse_cut_index(text, 9, "x"));
  EXPECT_FALSE(parse_cut_index(text, 6, "x"));
  for (const std::size_t at : {std::size_t{0}, text.size() - 1, text.size() - 24}) {
    auto wrong = text;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x20);
    const auto refused = parse_cut_index(wrong, 10, "x");
    EXPECT_EQ(error_text(refused), "x: not an index of pieces") << at;
  }
}

TEST(Cuts, AFrameHoldsAtMostOneMebibyteOfContent) {
  const auto reads = [](std::uint32_t bytes, std::uint64_t frame_bytes) {
    const CutRun run{{{std::string(16, 'd'), bytes}, {std::string(16, 'e'), 1}}, 0, frame_bytes};
    const auto text = cut_index_text({{std::string(64, 'a'), {run}}});
    return parse_cut_index(text, 10, "x").has_value();
  };
  EXPECT_TRUE(reads((1u << 20) - 1, 10));
  EXPECT_FALSE(reads(1u << 20, 10));
  EXPECT_TRUE(reads(1u << 30, 0)) << "pieces in no frame";
}

TEST(LocalPieces, AreThoseOfTheWholeFile) {
  const Workshop shop;
  const auto text = noise(68u << 20, 8);
  write_text(shop.root + "/large", text);
  const LocalPieces local({{shop.root + "/large"}, {shop.root + "/missing"}});
  for (std::string_view rest = text; !rest.empty();) {
    const auto piece = rest.substr(0, cut_length(rest));
    ASSERT_EQ(local.find(cut_of(piece)), piece) << text.size() - rest.size();
    rest.remove_prefix(piece.size());
  }
  EXPECT_EQ(local.find(cut_of("what is not there")), std::nullopt);
}

}  // namespace
}  // namespace gpuready::pack
