# Writes a stand-in for one of glibc's libraries, as assembly: what the real one exports, each name at its
# newest version that is not newer than `floor`. Programs linked to it start on any glibc from there on.
# Names that are newer altogether keep their version (scripts/check_binary.sh finds them), so that a link
# never fails for this.
# Usage: readelf -W --dyn-syms LIBRARY | awk -v floor=2.28 -v home=libc -v script=FILE -f stubs.awk
# home: the library that had the name at the floor. glibc 2.34 took libpthread, libdl and librt into libc.
function number(version,   part) { split(version, part, "."); return part[1] * 10000 + part[2] * 100 + part[3] }
function home_of(name) {  # of one that moved into libc after the floor
  if (name ~ /^dl/) return "libdl"
  if (name ~ /^(__)?(aio|lio|mq|shm|timer)_/) return "librt"
  if (name ~ /^_*pthread_|^(sem|thrd|mtx|cnd|tss)_|^call_once$/) return "libpthread"
  return "libc"
}
$1 !~ /^[0-9]+:$/ || $7 == "UND" || $7 == "ABS" || $4 == "TLS" { next }
$8 ~ /@GLIBC_[0-9.]+$/ {
  name = $8; sub(/@.*/, "", name)
  version = $8; sub(/.*@GLIBC_/, "", version)
  if ($8 ~ /@@/) linkable[name] = 1
  value = number(version)
  if (value <= number(floor)) {
    if (value <= best[name]) next
    best[name] = value
  } else {
    if (value <= 23400) moved[name] = 1
    if (name in chosen) next
  }
  chosen[name] = version; kind[name] = $4; bind[name] = $5; bytes[name] = $3; address[name] = $2
}
END {
  for (name in chosen) {
    if (!(name in linkable) || ((name in moved) && (name in best) ? home_of(name) : "libc") != (home == "libm" ? "libc" : home)) continue
    # Names of one address stay names of one address: a program's copy of `environ` is libc's.
    if (kind[name] == "OBJECT" && address[name] in objects) objects[address[name]] = objects[address[name]] " " name
    else if (kind[name] == "OBJECT") objects[address[name]] = name
    else functions[name] = 1
    versions[chosen[name]] = 1
  }
  print ".text"
  for (name in functions) put(name, "%function")
  print ".data"
  for (at in objects) {
    print ".balign 32"
    most = split(objects[at], names, " ")
    size = 0
    for (i = 1; i <= most; ++i) { put(names[i], "%object"); if (bytes[names[i]] + 0 > size) size = bytes[names[i]] + 0 }
    print ".skip " size
  }
  print ".section .note.GNU-stack,\"\",%progbits"
  printf "" > script
  for (version in versions) print "GLIBC_" version " { };" > script
  print "GPUREADY { local: *; };" > script
}
function put(name, type,   label) {
  label = "at_floor_" name
  print (bind[name] == "WEAK" ? ".weak " : ".globl ") label
  print ".type " label ", " type
  if (type == "%object") print ".size " label ", " bytes[name]
  print label ":"
  print ".symver " label ", " name "@@GLIBC_" chosen[name]
}
