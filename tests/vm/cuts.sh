# What the tests of power cuts share.
. "$SOURCE/tests/vm/machine.sh"
prepare
make_disk
extra=$PWD/extra
rm -rf "$extra" && mkdir -p "$extra"
"${CC:-cc}" -O1 -shared -fPIC -o "$extra/cut.so" "$SOURCE/tests/vm/cut.c" -ldl || skip "no C compiler"
cat >"$extra/cuts.sh" <<END
modprobe e1000e; modprobe vfio-pci; mkdir -p -m 700 /var/lib/gpuready/vm  # every attach has the same steps
card=0000:$card
whole_again() {  # all is as it was before the first attach
  gpuready vm recover >/tmp/out 2>&1 || { cat /tmp/out; exit 1; }
  [ "\$(ls /var/lib/gpuready/vm)" = lock ] || gpuready vm detach --for guest >/tmp/out 2>&1 || { cat /tmp/out; exit 1; }
  expect "the driver" "\$(driver $card)" e1000e
  expect "the override" "\$(override $card)" "(null)"
  expect "the journal" "\$(ls /var/lib/gpuready/vm)" lock
}
count_fsyncs() {  # OPERATION: of the process that has most
  CUT_COUNT=1 operate \$1 2>&1 | sed -n 's/^fsyncs: //p' | sort -n | tail -1
}
operate() {  # OPERATION, with the variables of cut.so
  case \$1 in
  attach) LD_PRELOAD=/cut.so gpuready vm attach \$card --for guest ;;
  detach) LD_PRELOAD=/cut.so gpuready vm detach --for guest ;;
  esac
}
END
