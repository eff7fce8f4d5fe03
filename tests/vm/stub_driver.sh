# A stub of NVIDIA's driver for tests: libraries with the real names, a program, firmware.
# make_stub_driver FOLDER VERSION
make_stub_driver() {
  local folder=$1 version=$2 name soname
  mkdir -p "$folder/lib64" "$folder/bin" "$folder/firmware/nvidia/$version"
  for name in libcuda libnvidia-ml libnvidia-ptxjitcompiler libnvidia-encode libnvidia-glcore; do
    soname=$name.so.1
    [ $name != libnvidia-glcore ] || soname=$name.so.$version
    printf 'const char* stub_%s(void) { return "%s %s"; }\n' "${name//[^a-zA-Z]/_}" $name "$version" \
      >"$folder/stub.c"
    cc -shared -fPIC -nostdlib "$folder/stub.c" -Wl,-soname,"$soname" \
      -o "$folder/lib64/$name.so.$version" </dev/null
  done
  echo 'int main(void) { return 0; }' >"$folder/stub.c"
  cc "$folder/stub.c" -o "$folder/bin/nvidia-smi" </dev/null
  rm "$folder/stub.c"
  echo "firmware of $version" >"$folder/firmware/nvidia/$version/gsp_ga10x.bin"
}

# The stub's modules as source, in the layout of NVIDIA's open one: make_stub_source FOLDER VERSION
make_stub_source() {
  local folder=$1 version=$2 here
  here=$SOURCE/tests/vm
  mkdir -p "$folder/nvidia" "$folder/nvidia-uvm"
  cp "$here/stub_nvidia.c" "$folder/nvidia.c"
  cp "$here/stub_uvm.c" "$folder/nvidia-uvm.c"
  printf 'obj-m += nvidia.o\n' >"$folder/nvidia/nvidia.Kbuild"
  printf 'obj-m += nvidia-uvm.o\n' >"$folder/nvidia-uvm/nvidia-uvm.Kbuild"
  cat >"$folder/Kbuild" <<KBUILD
ccflags-y += -DNV_VERSION_STRING=\\"$version\\"
include \$(src)/nvidia/nvidia.Kbuild
include \$(src)/nvidia-uvm/nvidia-uvm.Kbuild
KBUILD
  cat >"$folder/Makefile" <<'MAKEFILE'
modules:
	$(MAKE) -C $(SYSSRC) O=$(SYSOUT) M=$(CURDIR) modules
MAKEFILE
}
