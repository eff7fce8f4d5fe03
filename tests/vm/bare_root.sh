# A bare Debian root for tests: libc6 alone, merged /usr, with a loader cache.
# make_bare_root FOLDER LIBC6.deb
make_bare_root() {
  local root=$1 folder
  mkdir -p "$root"
  dpkg-deb -x "$2" "$root"
  for folder in lib lib64; do # merged, as every Debian since 12 is
    [ -d "$root/$folder" ] && [ ! -L "$root/$folder" ] || continue
    mkdir -p "$root/usr/$folder"
    cp -a "$root/$folder/." "$root/usr/$folder/"
    rm -rf "${root:?}/$folder"
    ln -s "usr/$folder" "$root/$folder"
  done
  rm -rf "$root"/usr/share/{doc,lintian,locale} "$root"/usr/lib/x86_64-linux-gnu/gconv
  mkdir -p "$root"/{etc,proc,sys,dev,run,tmp,usr/bin,usr/sbin}
  ln -sfn usr/bin "$root/bin"
  ln -sfn usr/sbin "$root/sbin"
  echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
  echo 'include /etc/ld.so.conf.d/*.conf' >"$root/etc/ld.so.conf"
  /sbin/ldconfig -r "$root"
}
