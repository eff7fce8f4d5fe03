# A stub of NVIDIA's driver for tests: libraries with the real names, a program, firmware.
# make_stub_driver FOLDER VERSION [CC]
make_stub_driver() {
  local folder=$1 version=$2 cc=${3:-cc}
  mkdir -p "$folder/lib64" "$folder/bin" "$folder/firmware/nvidia/$version"
  local name soname
  while read -r name soname; do
    printf 'const char* stub_%s(void) { return "%s %s"; }\n' "${name//[^a-zA-Z]/_}" "$name" "$version" |
      "$cc" -shared -fPIC -nostdlib -x c - -Wl,-soname,"$soname" -o "$folder/lib64/$name.so.$version"
  done <<LIBRARIES
libcuda libcuda.so.1
libnvidia-ml libnvidia-ml.so.1
libnvidia-ptxjitcompiler libnvidia-ptxjitcompiler.so.1
libnvidia-encode libnvidia-encode.so.1
libnvidia-glcore libnvidia-glcore.so.$version
LIBRARIES
  printf 'int main(void) { return 0; }\n' | "$cc" -x c - -o "$folder/bin/nvidia-smi"
  echo "firmware of $version" >"$folder/firmware/nvidia/$version/gsp_ga10x.bin"
}
