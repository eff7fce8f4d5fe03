#include "vm/guest_args.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready::vm {
namespace {

Device device(const char* address, std::uint32_t class_code, std::uint64_t bar_bytes) {
  Device out;
  out.function.address = *parse_pci_address(address);
  out.function.vendor_id = 0x10de;
  out.function.class_code = class_code;
  if (bar_bytes > 0)
    out.function.bars = {
        {.index = 1, .bytes = bar_bytes, .prefetchable = true, .wide = true, .assigned = true}};
  return out;
}

TEST(VmGuestArgs, OneSlotStaysOneSlot) {
  const Device audio = device("0000:17:00.1", 0x040300, 0),
               gpu = device("0000:17:00.0", 0x030000, 1ull << 35);
  const auto args = guest_args(Hypervisor::qemu, {&audio, &gpu}, false);
  EXPECT_EQ(join(args.arguments, " "),
            "-device pcie-root-port,id=gpuready1,chassis=1,slot=1 "
            "-device vfio-pci,host=0000:17:00.0,bus=gpuready1,addr=00.0,multifunction=on "
            "-device vfio-pci,host=0000:17:00.1,bus=gpuready1,addr=00.1 "
            "-fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=65536");
}

TEST(VmGuestArgs, SeveralGpusAreOneClique) {
  const Device a = device("0000:17:00.0", 0x030200, 1ull << 37),
               b = device("0000:65:00.0", 0x030200, 1ull << 37);
  const auto args = guest_args(Hypervisor::qemu, {&a, &b}, false);
  EXPECT_EQ(args.arguments.at(3),
            "vfio-pci,host=0000:17:00.0,bus=gpuready1,addr=00.0,x-nv-gpudirect-clique=0");
  EXPECT_EQ(window_mib({&a, &b}), 524288u);  // 2 * 256 GiB
  const auto cloud = guest_args(Hypervisor::cloud_hypervisor, {&a, &b}, false);
  EXPECT_EQ(cloud.arguments.at(1),
            "path=/sys/bus/pci/devices/0000:17:00.0/,x_nv_gpudirect_clique=0");
  EXPECT_NE(join(cloud.notes, " ").find("unproven"), std::string::npos);
}

TEST(VmGuestArgs, ACliqueIsOfOneNumaNode) {
  std::vector<Device> gpus;
  for (const char* address : {"0000:17:00.0", "0000:65:00.0", "0000:97:00.0", "0000:e5:00.0"}) {
    gpus.push_back(device(address, 0x030200, 0));
    gpus.back().function.numa_node = gpus.size() == 2 ? 1 : gpus.size() == 4 ? 2 : 0;
  }
  const auto text = [&](std::vector<const Device*> devices) {
    const auto args = guest_args(Hypervisor::qemu, devices, false);
    return join(args.arguments, " ") + join(args.notes, " ");
  };
  const auto apart = text({&gpus[0], &gpus[1]});  // nodes 0 and 1
  EXPECT_EQ(apart.find("clique="), apart.npos) << apart;
  EXPECT_NE(apart.find("several NUMA nodes"), apart.npos);
  const auto beside = text({&gpus[0], &gpus[2]});
  EXPECT_NE(beside.find("97:00.0,bus=gpuready2,addr=00.0,x-nv-gpudirect-clique=0"), beside.npos);
  EXPECT_EQ(beside.find("several NUMA nodes"), beside.npos);
  // Node 1 comes first, and a second pair has another clique.
  gpus[3].function.numa_node = 1;
  const auto pairs = text({&gpus[1], &gpus[0], &gpus[2], &gpus[3]});
  for (const char* clique : {"65:00.0,bus=gpuready1,addr=00.0,x-nv-gpudirect-clique=0",
                             "17:00.0,bus=gpuready2,addr=00.0,x-nv-gpudirect-clique=1",
                             "97:00.0,bus=gpuready3,addr=00.0,x-nv-gpudirect-clique=1",
                             "e5:00.0,bus=gpuready4,addr=00.0,x-nv-gpudirect-clique=0"})
    EXPECT_NE(pairs.find(clique), pairs.npos) << clique << " in " << pairs;
}

TEST(VmGuestArgs, TheWindowIsRoundedUpTwice) {
  const Device a = device("0000:17:00.0", 0x030200, 3ull << 30),
               b = device("0000:65:00.0", 0x030200, 1ull << 30),
               c = device("0000:97:00.0", 0x030200, 1ull << 30);
  EXPECT_EQ(window_mib({&a}), 8192u);           // 3 -> 4 GiB, doubled
  EXPECT_EQ(window_mib({&a, &b, &c}), 16384u);  // 2 * (4 + 1 + 1) -> 16 GiB
}

TEST(VmGuestArgs, LibvirtBindsWhatIsManaged) {
  const Device gpu = device("0000:17:00.0", 0x030200, 0);
  const auto args = guest_args(Hypervisor::libvirt, {&gpu}, true);
  EXPECT_NE(args.xml.find("managed='yes'"), std::string::npos);
  EXPECT_NE(args.xml.find("<address domain='0x0000' bus='0x17' slot='0x00' function='0x0'/>"),
            std::string::npos);
}

// A vGPU's own driver hands it to the guest: it is never bound to another.
TEST(VmGuestArgs, LibvirtBindsNoVgpu) {
  Device part = device("0000:17:00.4", 0x030200, 0);
  const auto is_managed = [&](const char* type, bool managed) {
    part.function.vgpu_type = type;
    const auto xml = guest_args(Hypervisor::libvirt, {&part}, managed).xml;
    EXPECT_NE(contains(xml, "managed='yes'"), contains(xml, "managed='no'")) << xml;
    return contains(xml, "managed='yes'");
  };
  EXPECT_FALSE(is_managed("558", true));
  EXPECT_FALSE(is_managed("558", false));
  EXPECT_TRUE(is_managed("0", true));  // it has none
  EXPECT_FALSE(is_managed("0", false));
}

TEST(VmGuestArgs, HostileSizesDoNotOverflow) {
  const Device gpu = device("0000:17:00.0", 0x030200, UINT64_MAX);
  EXPECT_GT(window_mib({&gpu, &gpu}), 0u);
}

}  // namespace
}  // namespace gpuready::vm
