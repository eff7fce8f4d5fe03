// NVLink of each GPU, and what NVML says about pairs of GPUs.
#include <array>

#include "probe/nvml_adapters.h"
#include "probe/nvml_session.h"

namespace gpuready::nvml {
namespace {

constexpr unsigned kMaxLinks = 36;  // 18 on Hopper and Blackwell

struct Counter {
  const char* name;
  int number;  // nvmlNvLinkErrorCounter_t
};
constexpr Counter kCounters[] = {{"replay", 0}, {"recovery", 1}, {"crc_flit", 2}};

class Links {
 public:
  Links(Session& session, const Target& target) : session_(session), target_(target) {}

  // The state of a link; nothing when there is no such link.
  std::optional<bool> state(unsigned link) {
    unsigned active = 0;
    const int code = number("nvmlDeviceGetNvLinkState", link, active);
    if (code != kSuccess) return std::nullopt;
    return active != 0;
  }

  int number(const char* symbol, unsigned link, unsigned& answer) {
    auto* function = find<int(Device, unsigned, unsigned*)>(symbol, link);
    if (function == nullptr) return kFunctionNotFound;
    return ask(session_.writer, key(symbol, link), [&](Json& value) {
      const int code = function(target_.handle, link, &answer);
      value = answer;
      return code;
    });
  }

  void remote(unsigned link) {
    for (const char* symbol :
         {"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo"}) {
      auto* function = find<int(Device, unsigned, PciInfo*)>(symbol, link);
      if (function == nullptr) continue;
      ask(session_.writer, key(symbol, link), [&](Json& value) {
        PciInfo info{};
        const int code = function(target_.handle, link, &info);
        value = render(info);
        return code;
      });
      return;
    }
  }

  void errors(unsigned link) {
    constexpr const char* kSymbol = "nvmlDeviceGetNvLinkErrorCounter";
    auto* function =
        session_.library.function<int(Device, unsigned, int, unsigned long long*)>(kSymbol);
    if (function == nullptr) return;
    for (const auto& counter : kCounters) {
      const auto name = call_key(kSymbol, target_.id, std::to_string(link) + "," + counter.name);
      const int code = ask(session_.writer, name, [&](Json& value) {
        unsigned long long answer = 0;
        const int result = function(target_.handle, link, counter.number, &answer);
        value = answer;
        return result;
      });
      if (code == kNotSupported) return;  // newer NVLinks count by other means
    }
  }

 private:
  std::string key(const char* symbol, unsigned link) const {
    return call_key(symbol, target_.id, std::to_string(link));
  }
  // Told as missing once a GPU, not once a link.
  template <class Function>
  Function* find(const char* symbol, unsigned link) {
    auto* function = session_.library.function<Function>(symbol);
    if (function == nullptr && link == 0) session_.writer.missing(key(symbol, link));
    return function;
  }

  Session& session_;
  const Target& target_;
};

void ask_pair(Session& session, const Target& a, const Target& b, const char* symbol,
              std::optional<int> parameter, const char* name) {
  void* function = session.library.symbol(symbol);
  if (function == nullptr) return;
  const std::string pair = b.id + (*name != 0 ? std::string(",") + name : std::string());
  ask(session.writer, call_key(symbol, a.id, pair), [&](Json& value) {
    int answer = 0;
    const int code = parameter ? reinterpret_cast<int (*)(Device, Device, int, int*)>(function)(
                                     a.handle, b.handle, *parameter, &answer)
                               : reinterpret_cast<int (*)(Device, Device, int*)>(function)(
                                     a.handle, b.handle, &answer);
    value = answer;
    return code;
  });
}

}  // namespace

void ask_links(Session& session, const Target& target) {
  Links links(session, target);
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    const auto up = links.state(link);
    if (!up) return;  // no NVLink here, or past the last one
    if (*up) links.remote(link);
    if (!session.full) continue;
    unsigned answer = 0;
    if (*up) {
      links.number("nvmlDeviceGetNvLinkVersion", link, answer);
      links.number("nvmlDeviceGetNvLinkRemoteDeviceType", link, answer);
    }
    links.errors(link);
  }
}

void ask_pairs(Session& session, const std::vector<Target>& targets) {
  constexpr int kRead = 0;  // nvmlGpuP2PCapsIndex_t
  for (std::size_t a = 0; a < targets.size(); ++a)
    for (std::size_t b = a + 1; b < targets.size(); ++b) {
      ask_pair(session, targets[a], targets[b], "nvmlDeviceGetTopologyCommonAncestor", std::nullopt,
               "");
      ask_pair(session, targets[a], targets[b], "nvmlDeviceGetP2PStatus", kRead, "read");
    }
}

}  // namespace gpuready::nvml
