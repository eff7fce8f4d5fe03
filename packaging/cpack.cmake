# The .deb and the .rpm, of a staged root (scripts/release.sh).
set(CPACK_PACKAGE_NAME gpuready)
set(CPACK_PACKAGE_VERSION $ENV{GPUREADY_VERSION})
set(CPACK_PACKAGE_FILE_NAME gpuready)
set(CPACK_PACKAGE_VENDOR gpuready)
set(CPACK_PACKAGE_CONTACT "The gpuready authors <gpuready@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "checks whether every GPU of this machine is ready for work")
set(CPACK_PACKAGE_DESCRIPTION "Finds the GPUs of a machine, names the root cause when something is
wrong, and tests each GPU's memory, arithmetic and links against expected
results that are known bit for bit. It uses the drivers of NVIDIA, AMD and
Intel that are installed.")
set(CPACK_INSTALLED_DIRECTORIES $ENV{GPUREADY_ROOT} /)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_SET_DESTDIR OFF)

set(machine $ENV{GPUREADY_MACHINE})
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
if(machine STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS libcurl4)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA $ENV{GPUREADY_SOURCE}/packaging/prerm $ENV{GPUREADY_SOURCE}/packaging/postrm)

set(CPACK_RPM_PACKAGE_ARCHITECTURE ${machine})
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_GROUP System)
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE $ENV{GPUREADY_SOURCE}/packaging/prerm)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none
%define __strip /bin/true
%define _buildhost gpuready
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1")
# Folders of the system itself.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr /usr/bin /usr/lib /usr/lib/systemd /usr/lib/systemd/system
  /usr/share /usr/share/man /usr/share/man/man1 /usr/share/doc /usr/share/bash-completion
  /usr/share/bash-completion/completions /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/zsh
  /usr/share/zsh/site-functions /var /var/lib)
