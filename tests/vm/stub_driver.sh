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
